# SPDX-License-Identifier: Apache-2.0
"""One list of types, operators, collectives, codes and protocols: nothing else names most of
the members of one side by side."""
import re

import style

# Where the lists stand; rings, in sync.h, are not protocols but what three of them use.
HOMES = {"include/chorus/lists.h", "include/chorus/status.h", "src/coll/algorithm.h",
         "src/coll/kind.h", "src/team/sync.h"}
WINDOW = 20  # lines that count as side by side


def list_members(root, path, name):
    """First arguments of the rows of an X-list."""
    text = style.blank(style.read(root, path), strings=False)
    start = re.search(rf"#define {name}\((?:X|R, A)\)", text)
    if start is None:
        return []
    body = re.match(r"(?:[^\n]*\\\n)*[^\n]*", text[start.end():]).group(0)
    return re.findall(r"\b(?:X\(|R\(A, )(\w+)", body)


def lists(root, files):
    """Each list's name, prefix in code and members."""
    known = [
        ("include/chorus/lists.h", "CHORUS_TYPE_LIST", "CHORUS_TYPE_"),
        ("include/chorus/lists.h", "CHORUS_OP_LIST", "CHORUS_OP_"),
        ("include/chorus/lists.h", "CHORUS_COLL_ROWS", "CHORUS_COLL_"),
        ("include/chorus/status.h", "CHORUS_STATUS_LIST", "CHORUS_"),
        ("src/coll/kind.h", "CH_PROTO_LIST", "CH_PROTO_"),
        ("src/coll/algorithm.h", "CH_NEED_LIST", "CH_NEED_"),
    ]
    for path, name, prefix in known:
        members = list_members(root, path, name) if path in files else []
        if members:
            yield name, prefix, members


def crowded(places, names):
    """The first line of a window in which more than half of the names occur, or None."""
    least = max(3, len(names) // 2 + 1)
    for i, (first, _) in enumerate(places):
        if len({name for line, name in places[i:] if line < first + WINDOW}) >= least:
            return first
    return None


def listings(text):
    """Where data is listed: braces around no statement, and bodies of macros."""
    yield from re.finditer(r"\{[^{};]*(?:\{[^{};]*\}[^{};]*)*\}", text)
    yield from re.finditer(r"^#define(?:[^\n]*\\\n)*[^\n]*", text, re.M)


def second_list(text, prefix, members, is_test):
    """Names as strings, anywhere side by side; names, bare or as strings, in one listing."""
    strings = {f'"{m}"' for m in members}
    places = [(style.line_of(text, m.start()), m.group(0))
              for m in re.finditer(r'"[^"\n]*"', text) if m.group(0) in strings]
    found = None if is_test else crowded(places, members)
    if found is not None:
        return found
    words = {prefix + m for m in members} | strings
    for listing in listings(text):
        rows = [f"{prefix}{name}" for name in re.findall(r"\bX\((\w+)", listing.group(0))]
        named = re.findall(r'"\w+"|\w+', listing.group(0)) + rows
        at = style.line_of(text, listing.start())
        if crowded([(at, name) for name in named if name in words], members) is not None:
            return at
    return None


def problems(root, files):
    known = list(lists(root, files))
    for path in files:
        if not style.is_c(path) or path in HOMES:
            continue
        text = style.blank(style.read(root, path), strings=False)
        for name, prefix, members in known:
            line = second_list(text, prefix, members, path.startswith("tests/"))
            if line is not None:
                yield f"{path}:{line}: a second list of what {name} lists; expand {name}"


LISTS = {"include/chorus/lists.h":
         "#define CHORUS_OP_LIST(X) X(and) X(or) X(xor) X(min) \\\n    X(max) X(sum)\n"}

style.run(
    problems,
    bad=[
        ("x.c:2: a second", {**LISTS, "src/x.c":
                             '\nconst char *n[] = {"and", "or",\n "xor", "min", "max", "sum"};\n'}),
        ("a second", {**LISTS, "tests/x.c": 'char *n[] = {"and", "or", "xor", "min"};\n'}),
        ("a second", {**LISTS, "src/x.c": 'f("and");\nf("or");\nf("xor");\nf("max");\n'}),
        ("a second", {**LISTS, "tools/x.c": "int n[] = {CHORUS_OP_and, CHORUS_OP_or, CHORUS_OP_xor,"
                                            " CHORUS_OP_max};\n"}),
        ("x.h:1: a second", {**LISTS, "src/x.h": "#define OPS(X) X(and) X(or) X(xor) \\\n X(min)\n"}),
    ],
    good=[
        {**LISTS, "tests/x.c": 'f("and");\nf("or");\nf("xor");\nf("max");\n'},
        {**LISTS, "src/x.c": '#define X(op) #op,\nconst char *n[] = {CHORUS_OP_LIST(X)};\n'},
        {**LISTS, "src/x.c": "switch (op) {\ncase CHORUS_OP_and: f();\ncase CHORUS_OP_or:\n"
                             "case CHORUS_OP_xor: g();\ncase CHORUS_OP_max: h();\n}\n"},
        {**LISTS, "src/x.c": "int n[] = {CHORUS_OP_and, CHORUS_OP_or};\n/* and or xor min */\n"},
    ],
)
