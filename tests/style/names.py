# SPDX-License-Identifier: Apache-2.0
"""Functions and structs that the pages for developers mention exist."""
import re

import style

CODE = ("src/", "include/", "tests/", "tools/", "bench/")
OURS = re.compile(r"\bch_\w*[a-z0-9]\b(?![*_])")
INDENTED = re.compile(r"\b[a-z]+_[a-z0-9_]*[a-z0-9]\b")
MADE = re.compile(r"ch_k_\w+$")  # kernels, which macros name


def is_page(path):
    return path in ("CONTRIBUTING.md", "docs/design.md", "docs/glossary.md") or path.startswith("docs/design/")


def mentions(path, line):
    if path == "docs/design.md" and line.startswith("    "):
        return set(INDENTED.findall(line))
    return set(OURS.findall(line))


def problems(root, files):
    known = set()
    for path in files:
        if path.startswith(CODE) and not path.startswith("tests/style/"):
            text = style.read(root, path)
            known.update(re.findall(r"\w+", style.blank(text, strings=False) if style.is_c(path) else text))
    for path in filter(is_page, files):
        for number, line in enumerate(style.read(root, path).splitlines(), 1):
            for name in sorted(mentions(path, line) - known):
                if not MADE.match(name):
                    yield f"{path}:{number}: {name} is no name in {', '.join(CODE)}; write its name of today"


style.run(
    problems,
    bad=[
        ("page.md:1: ch_gone", {"docs/design/page.md": "See `ch_gone`.\n", "src/a.c": "int ch_here; /* ch_gone */\n"}),
        ("design.md:1: old_step", {"docs/design.md": "    old_step   a.c\n", "src/a.c": "int new_step;\n"}),
    ],
    good=[
        {"docs/design.md": "    new_step   ch_k_reduce_f32\n\nold_step, `ch_here`, `ch_he*`\n",
         "src/a.c": "int new_step, ch_here;\n"},
        {"README.md": "ch_gone\n"},
    ],
)
