# SPDX-License-Identifier: Apache-2.0
"""No dead files and no dead code: every source is built, no comment holds code."""
import re

import style

# What ends a line of C but no sentence: an assignment, a call, a return.
STATEMENT = re.compile(r"^[\s*/]*(return\b.*|[\w\[\].>-]+ [-+*/|&]?= .*|[\w.>-]+\(.*\));\s*(\*/)?$")


def unnamed(root, files):
    """Sources that this build does not compile and that no meson.build names for another."""
    build = style.BUILD if root == style.ROOT else root
    built = {source for source, _, _ in style.compile_commands(build, root)}
    meson = "\n".join(style.read(root, f) for f in files if f.endswith("meson.build"))
    for path in files:
        named = re.compile(rf"['/]{re.escape(path.split('/')[-1])}'")
        if path.endswith((".c", ".cu")) and path not in built and not named.search(meson):
            yield f"{path}:1: in no meson.build; build it or remove it"


def dead(text):
    """Positions in the text, each with what is wrong there."""
    for match in style.TOKENS.finditer(text):
        token = match.group(0)
        if token.startswith("//"):
            yield match.start(), "a // comment; write /* */"
        if token.startswith("/*"):
            at = match.start()
            for line in token.split("\n"):
                if STATEMENT.match(line):
                    yield at, "code in a comment; remove it, git remembers"
                at += len(line) + 1
            todo = re.search(r"\b(TODO|FIXME|XXX)\b", token)
            if todo:
                yield match.start() + todo.start(), f"{todo.group(0)}; do it or drop it"
    for match in re.finditer(r"^#\s*if\s+0\b", style.blank(text), re.M):
        yield match.start(), "#if 0; remove it, git remembers"


def problems(root, files):
    yield from unnamed(root, files)
    for path in files:
        if style.is_c(path):
            text = style.read(root, path)
            yield from (f"{path}:{style.line_of(text, at)}: {what}" for at, what in dead(text))


NONE = {"compile_commands.json": "[]"}

style.run(
    problems,
    bad=[
        ("in no meson.build", {"src/x.c": "int x;\n", "meson.build": "files('xx.c')\n", **NONE}),
        ("x.h:2: code", {"src/x.h": "/* Was:\n * x = f(1);\n */\n", **NONE}),
        ("x.h:1: code", {"src/x.h": "/* ch_word_store(word, 1); */\n", **NONE}),
        ("x.h:1: a //", {"src/x.h": "int x; // one\n", **NONE}),
        ("x.h:1: TODO", {"src/x.h": "/* TODO: the rest. */\n", **NONE}),
        ("x.h:2: #if 0", {"src/x.h": "int x;\n#if 0\n#endif\n", **NONE}),
    ],
    good=[
        {"src/x.c": 'const char *url = "http://x"; /* waits; then x = 1 */\n',
         "src/meson.build": "files('x.c')\n", **NONE},
        {"src/x.h": "/*\n * one line ends here;\n * x = 1 holds after f(x); then more\n */\n", **NONE},
        {"src/y/x.c": "int x;\n", "src/meson.build": "files('y/x.c')\n", **NONE},
        {"x.c": "int x;\n", "compile_commands.json":
         '[{"directory": ".", "file": "x.c", "command": "cc -c x.c"}]'},
    ],
)
