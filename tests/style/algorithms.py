# SPDX-License-Identifier: Apache-2.0
"""Every algorithm says what it needs and costs, in the words of CH_ALGO_LIST; bodies keep to
what every machine understands."""
import re

import style

LIST = "src/coll/algorithm.h"
COLUMNS = 9
PARTS = ["needs", "steps", "wire", "scratch", "inplace", "result", "source"]
# What only some machine has, or what no body may do.
FOREIGN = re.compile(r"\b(threadIdx|blockIdx|asm|__asm__|__atomic\w*|malloc|free|CH_LOG)\b"
                     r"|^\s*#\s*(?:if|ifdef|elif|else)\b", re.M)


def split_arguments(text):
    """Arguments of a macro call: split at the commas outside parentheses."""
    parts, depth = [""], 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [" ".join(p.split()) for p in parts]


def rows(root):
    """Function -> (needs, steps, wire) of each row of CH_ALGO_LIST."""
    text = style.blank(style.read(root, LIST)).replace("\\\n", "\n")
    body = text[text.index("#define CH_ALGO_LIST(X)"):]
    for line in body.split("\n")[1:]:
        row = re.match(r"\s*X\((.*)\)\s*$", line)
        if row is None:
            return
        fields = split_arguments(row.group(1))
        if len(fields) == COLUMNS:
            needs = re.sub(r"\s*\|\s*", ", ", fields[4].replace("CH_NEED_", ""))
            yield fields[3], {"needs": needs, "steps": fields[6], "wire": fields[7]}


def head(block):
    """The parts of a comment, in order: name -> text."""
    found, name = {}, None
    for line in block.split("\n"):
        part = re.match(r" \*   ([a-z]+) +(\S.*)$", line)
        more = re.match(r" \*     +(\S.*)$", line)
        if part and part.group(1) in PARTS:
            name = part.group(1)
            found[name] = part.group(2).strip()
        elif more and name:
            found[name] += " " + more.group(1).strip()
        else:
            name = None
    return found


def heads(text):
    """Where a function is defined, its name, and the parts of the last head before it."""
    parts = {}
    for match in re.finditer(r"(/\*.*?\*/)|CH_(?:FN|PART) chorus_status (\w+)\(", text, re.S):
        if match.group(2):
            yield match.start(), match.group(2), parts
        else:
            parts = head(match.group(1)) or parts


def body_faults(path, text):
    code = style.blank(text)
    for match in FOREIGN.finditer(code):
        yield (f"{path}:{style.line_of(code, match.start())}: '{match.group(0).strip()}' in an "
               "algorithm; say it with the functions of exec.h and primitives.h")


def problems(root, files):
    if LIST not in files:
        return
    table, seen = dict(rows(root)), set()
    if not table:
        yield f"{LIST}: no row of CH_ALGO_LIST has {COLUMNS} columns"
    for path in files:
        if not re.match(r"src/coll/algo/\w+\.h$", path):
            continue
        text = style.read(root, path)
        yield from body_faults(path, text)
        for start, function, parts in heads(text):
            if function not in table:
                continue
            seen.add(function)
            at = f"{path}:{style.line_of(text, start)}"
            if list(parts) != PARTS:
                yield f"{at}: the head of {function} has {list(parts)}; expected {PARTS}, each with text"
                continue
            for part, listed in table[function].items():
                if parts[part] != listed:
                    yield f"{at}: {part} is '{parts[part]}', but CH_ALGO_LIST has '{listed}' for {function}"
    for function in table.keys() - seen:
        yield f"{LIST}: {function} is listed but no header of src/coll/algo defines it"


TABLE = """#define CH_ALGO_LIST(X) \\
    X(reduce, one, ll, ch_one, CH_NEED_map | CH_NEED_whole, 0, ch_f(n, k), (n - 1) * m, due) \\
    X(reduce, two, ll, ch_two, CH_NEED_put, 0, 1, m, due)
/* end */
"""
ONE = """/* SPDX */
/* one.h: reduce. */
#ifndef CH_ONE_H
/*
 * reduce, one.
 *
 *   needs    map, whole
 *   steps    ch_f(n, k)
 *   wire     (n - 1) * m
 *   scratch  a ring
 *   inplace  safe
 *   result   in PE order
 *            on every PE
 *   source   here
 */

/* A helper. */
CH_FN chorus_status ch_help(const struct ch_coll *c) { return y; }

CH_FN chorus_status ch_one(const struct ch_coll *c, struct ch_lanes g) { return x; }

/*
 * reduce, two.
 *
 *   needs    put
 *   steps    1
 *   wire     m
 *   scratch  none
 *   inplace  safe
 *   result   in PE order
 *   source   there
 */
CH_FN chorus_status ch_two(const struct ch_coll *c, struct ch_lanes g) { return z; }
#endif
"""


def case(old="", new=""):
    return {LIST: TABLE, "src/coll/algo/one.h": ONE.replace(old, new, 1) if old else ONE}


style.run(
    problems,
    bad=[
        ("needs is 'map'", case("map, whole", "map")),
        ("steps is 'ch_f(n)'", case("ch_f(n, k)", "ch_f(n)")),
        ("wire is 'n * m'", case("(n - 1) * m", "n * m")),
        ("expected", case(" *   inplace  safe\n", "")),
        ("wire is 'n * m'", case("wire     m", "wire     n * m")),
        ("the head of ch_two has ['needs', 'steps'", case(" *   source   there\n", "")),
        ("the head of ch_one has []", {LIST: TABLE, "src/coll/algo/one.h": ONE[ONE.index("/* A helper"):]}),
        ("no row of CH_ALGO_LIST", {LIST: TABLE.replace(", due", "")}),
        ("no header", case("chorus_status ch_one(", "chorus_status ch_other(")),
        ("'threadIdx'", case("return x", "return threadIdx.x")),
        ("#if", case("CH_FN", "#if X\n#endif\nCH_FN")),
    ],
    good=[case()],
)
