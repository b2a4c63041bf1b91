# SPDX-License-Identifier: Apache-2.0
"""Plain text: ASCII, no trailing space, a final newline, a licence line, words as spelled."""
import re

import style

LICENCE = "SPDX-License-Identifier: Apache-2.0"
CODE = (".c", ".h", ".cu", ".cuh", ".py", ".sh", ".build", ".gp")
# Misspellings that tests need, a variable, a macro of mandoc, a call of the standard.
WORDS = "iput,maped,nd,rduce,reduse,upto"


def lines_of(path, text):
    for number, line in enumerate(text.split("\n"), 1):
        if line != line.rstrip():
            yield f"{path}:{number}: trailing space"
        if not line.isascii():
            yield f"{path}:{number}: not ASCII"
        if "\t" in line and path != "debian/rules":  # which is a makefile
            yield f"{path}:{number}: a tab; indent with spaces"


def problems(root, files):
    checked = [f for f in files if f != "LICENSE" and not f.endswith((".png", ".svg"))
               and not f.startswith("tests/fuzz/corpus/")]
    for path in checked:
        text = style.read(root, path)
        if path.startswith("tests/golden/") or path.endswith(".csv"):
            if not text.isascii():
                yield f"{path}: not ASCII"
            continue
        yield from lines_of(path, text)
        if text and not text.endswith("\n") or text.endswith("\n\n"):
            yield f"{path}: end with one newline"
        is_script = text.startswith("#!")
        head = "\n".join(text.split("\n")[:2])
        if (path.endswith(CODE) or is_script) and LICENCE not in head:
            yield f"{path}:1: no line '{LICENCE}'"
        if re.search(r"^(<<<<<<<|>>>>>>>) ", text, re.M):
            yield f"{path}: an unresolved merge"
    _, out = style.tool("codespell", "--ignore-words-list", WORDS, *checked, root=root)
    yield from (line for line in out.splitlines() if "==>" in line)


style.run(
    problems,
    bad=[
        ("trailing space", {"x.md": "word \n"}),
        ("x.md:2: not ASCII", {"x.md": "word\ncaf\u00e9\n"}),
        ("one newline", {"x.md": "word"}),
        ("one newline", {"x.md": "word\n\n"}),
        ("a tab", {"x.c": f"/* {LICENCE} */\n\tint x;\n"}),
        ("no line", {"x.c": "int x;\n"}),
        ("no line", {"tool": "#!/bin/sh\ntrue\n"}),
        ("==>", {"x.md": "rec" + "ieve\n"}),
        ("unresolved", {"x.md": "<<<<" + "<<< HEAD\n"}),
    ],
    good=[{"x.c": f"/* {LICENCE} */\nint x;\n", "tool": f"#!/bin/sh\n# {LICENCE}\n", "LICENSE": "\t",
           "tests/fuzz/corpus/x/y": "\x01 \t"}],
    needs=["codespell"],
)
