# SPDX-License-Identifier: Apache-2.0
"""One list of types, operators, collectives, codes and protocols: nothing else names most of
the members of one side by side."""
import re

import style

HOMES = {"include/chorus/lists.h", "include/chorus/status.h", "src/coll/algorithm.h"}
WINDOW = 20  # lines that count as side by side


def list_members(root, path, name):
    """First arguments of the rows of an X-list."""
    text = style.blank(style.read(root, path), strings=False)
    start = re.search(rf"#define {name}\(X\)", text)
    if start is None:
        return []
    body = re.match(r"(?:[^\n]*\\\n)*[^\n]*", text[start.end():]).group(0)
    return re.findall(r"\bX\((\w+)", body)


def lists(root, files):
    """What each list's members look like in code: description -> set of tokens."""
    known = [
        ("include/chorus/lists.h", "CHORUS_TYPE_LIST", "CHORUS_TYPE_"),
        ("include/chorus/lists.h", "CHORUS_OP_LIST", "CHORUS_OP_"),
        ("include/chorus/lists.h", "CHORUS_COLL_LIST", "CHORUS_COLL_"),
        ("include/chorus/status.h", "CHORUS_STATUS_LIST", "CHORUS_"),
        ("src/coll/algorithm.h", "CH_PROTO_LIST", "CH_PROTO_"),
        ("src/coll/algorithm.h", "CH_NEED_LIST", "CH_NEED_"),
    ]
    for path, name, prefix in known:
        members = list_members(root, path, name) if path in files else []
        if members:
            yield name, {prefix + m for m in members}
            yield name, {f'"{m}"' for m in members}


TOKEN = re.compile(r'"[^"\n]*"|\w+')


def crowded(text, tokens):
    """The first line of a window that names more than half of the tokens, or None."""
    places = []
    for match in TOKEN.finditer(text):
        if match.group(0) in tokens:
            places.append((style.line_of(text, match.start()), match.group(0)))
    least = max(3, len(tokens) // 2 + 1)
    for i, (first, _) in enumerate(places):
        if len({t for line, t in places[i:] if line < first + WINDOW}) >= least:
            return first
    return None


def problems(root, files):
    known = list(lists(root, files))
    for path in files:
        if not style.is_c(path) or path in HOMES:
            continue
        text = style.blank(style.read(root, path), strings=False)
        for name, tokens in known:
            line = crowded(text, tokens)
            if line is not None:
                yield f"{path}:{line}: a second list of what {name} lists; expand {name}"


LISTS = {"include/chorus/lists.h":
         "#define CHORUS_OP_LIST(X) X(and) X(or) X(xor) X(min) \\\n    X(max) X(sum)\n"}

style.run(
    problems,
    bad=[
        ("x.c:2: a second", {**LISTS, "src/x.c":
                             '\nconst char *n[] = {"and", "or",\n "xor", "min", "max", "sum"};\n'}),
        ("a second", {**LISTS, "tools/x.c": "int n[] = {CHORUS_OP_and, CHORUS_OP_or, CHORUS_OP_xor,"
                                            " CHORUS_OP_max};\n"}),
    ],
    good=[
        {**LISTS, "src/x.c": '#define X(op) #op,\nconst char *n[] = {CHORUS_OP_LIST(X)};\n'},
        {**LISTS, "src/x.c": "int n[] = {CHORUS_OP_and, CHORUS_OP_or};\n/* and or xor min */\n"},
    ],
)
