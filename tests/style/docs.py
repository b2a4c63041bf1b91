# SPDX-License-Identifier: Apache-2.0
"""Every public function is documented, alone or with its family, in parts of fixed names.

A block is a comment that opens with two stars. It speaks for all declarations from there to
the next block or section line (/* --- name --- */), those of an X-list macro included. Its
parts, in this order: a first sentence; a formula if the family is one of collectives that
move data; @param for every parameter, in the order of the prototypes; Collective:, Threads:,
Ordering:, Result: (where there is a formula), Errors:, Source:, Since:.
"""
import re

import style

PARTS = ["Collective", "Threads", "Ordering", "Result", "Errors", "Source", "Since"]
WORDS_MIN = 3
MOVES = re.compile(r"_(broadcast|f?collect|alltoall[sv]?|reduce|reducescatter|reduce_to|inscan|exscan"
                   r"|gather|scatter)(mem)?(_on_stream|_block)?$")
# In headers for kernels the families are macros, whose members are called FUNCTION.
DECLARATION = re.compile(r"\b(?:CHORUS_(?:API|CODE|DEVICE|BOTH)|KIND|static inline)\b([^;{]*?)"
                         r"\b(chorusx?_\w+|FUNCTION)\s*\(")
PIECE = re.compile(r"(?P<block>/\*\*.*?\*/)|(?P<section>/\* --- .*?\*/)|/\*.*?\*/|"
                   r"(?P<code>(?:[^/]|/(?!\*))+)", re.S)


def parameters(text):
    """Names in a parameter list, which may hold pointers to functions and arrays."""
    depth, start, names = 0, 0, []
    for at, c in enumerate(text + ","):
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            part = text[start:at].strip()
            start = at + 1
            name = re.search(r"\(\s*\*\s*(\w+)", part) or re.search(r"(\w+)\s*(?:\[\w*\])?$", part)
            if part not in ("", "void") and name:
                names.append(name.group(1))
    return names


def declarations(code):
    """(name, parameters) of each function that a stretch of header declares."""
    code = code.replace("\\\n", " ").replace("##", "")
    for match in DECLARATION.finditer(code):
        depth, at = 1, match.end()
        while depth and at < len(code):
            depth += (code[at] == "(") - (code[at] == ")")
            at += 1
        yield match.group(2), parameters(code[match.end():at - 1])


def parse(block):
    """A block as (opening text, [(parameter, text)], [(part, text)])."""
    opening, params, parts, into = [], [], [], None
    for line in block[3:-2].split("\n"):
        line = re.sub(r"^\s*\*? ?", "", line.rstrip(" \\"), count=1)
        param = re.match(r"@param ((?:\w+, )*\w+) +(.*)$", line)
        part = re.match(r"([A-Z][a-z]+): *(.*)$", line)
        if param:
            into = [param.group(2)]
            params.append((param.group(1).split(", "), into))
        elif part and part.group(1) in PARTS:
            into = [part.group(2)]
            parts.append((part.group(1), into))
        elif into is not None:
            into.append(line.strip())
        else:
            opening.append(line)
    return opening, params, parts


def hollow(text):
    return len(re.findall(r"\w+", " ".join(text))) < WORDS_MIN


def order_of(names, wanted):
    return [n for n in names if n in wanted]


def faults(block, functions):
    opening, params, parts = parse(block)
    sentence = " ".join(opening).strip()
    moves = any(MOVES.search(name) for name, _ in functions)
    if hollow(opening) or "." not in sentence:
        yield "no first sentence"
    if moves and not any(re.match(r" {4}\S", line) for line in opening):
        yield "no formula of the result, indented by four"
    documented = [name for names, _ in params for name in names]
    for name, wanted in functions:
        if order_of(documented, wanted) != wanted:
            yield f"@param has {order_of(documented, wanted)} for {name}{tuple(wanted)}"
    known = {p for _, wanted in functions for p in wanted}
    for name in documented:
        if name not in known:
            yield f"@param {name} is no parameter here"
    for names, text in params:
        if hollow(text):
            yield f"@param {', '.join(names)} says too little"
    expected = [p for p in PARTS if p != "Result" or moves or "Result" in dict(parts)]
    if [p for p, _ in parts] != expected:
        yield f"parts are {[p for p, _ in parts]}; expected {expected}"
    for part, text in parts:
        if part == "Since":
            if not re.match(r"\d+\.\d+", text[0]):
                yield "Since: names no version"
        elif hollow(text):
            yield f"{part}: says too little"


def problems(root, files):
    for path in files:
        if not re.match(r"include/chorus/\w+\.(h|cuh)$", path):
            continue
        text = style.read(root, path)
        block, at, functions = None, 0, []
        for piece in list(PIECE.finditer(text)) + [None]:
            if piece is None or piece.group("block") or piece.group("section"):
                if block and functions:
                    yield from (f"{path}:{at}: {fault}" for fault in faults(block, functions))
                if piece:
                    block, at, functions = piece.group("block"), style.line_of(text, piece.start()), []
            elif piece.group("code"):
                found = list(declarations(piece.group("code")))
                functions += found
                if block is None:
                    line = style.line_of(text, piece.start())
                    yield from (f"{path}:{line}: {name} is not documented" for name, _ in found)


GOOD = """/* SPDX */
/* --- collectives --- */
/**
 * Combine the elements of all PEs.
 *
 *     dest[i] = source_0[i] op source_1[i]
 *
 * @param team    the PEs that call
 * @param dest, source  symmetric, `n` elements each
 * @param n       elements, not bytes
 *
 * Collective: every PE of team.
 * Threads:    one call at a time.
 * Ordering:   implies no barrier.
 * Result:     the same on all
 *             PEs of a call.
 * Errors:     ERR_ARG, and nothing done.
 * Source:     OpenSHMEM 1.5, reductions.
 * Since:      0.1
 */
#define X(NAME, T)                                                   \\
    CHORUS_API int chorus_##NAME##_sum_reduce(int team, T *dest,     \\
                                              const T source[], size_t n);
"""


def case(old="", new=""):
    return {"include/chorus/x.h": GOOD.replace(old, new, 1) if old else GOOD}


style.run(
    problems,
    bad=[
        ("is not documented", case("/**\n", "/*\n")),
        ("g is not documented", {"include/chorus/x.cuh": "CHORUS_DEVICE void chorusx_g(int pe)\n{\n}\n"}),
        ("FUNCTION is not documented",
         {"include/chorus/x.cuh": "#define X(KIND, FUNCTION) KIND void FUNCTION(int pe)\n"}),
        ("no first sentence", case(" * Combine the elements of all PEs.\n", "")),
        ("no formula", case(" *     dest[i] = source_0[i] op source_1[i]\n", "")),
        ("@param has", case(" * @param team    the PEs that call\n", "")),
        ("@param has", case("@param dest, source", "@param source, dest")),
        ("m is no parameter", case(" * @param n  ", " * @param m       elements, not bytes\n * @param n  ")),
        ("n says too little", case("elements, not bytes", "elements")),
        ("expected", case(" * Ordering:   implies no barrier.\n", "")),
        ("expected", case("Threads: ", "Errors: ")),
        ("Threads: says too little", case("one call at a time", "many")),
        ("no version", case("0.1", "now")),
    ],
    good=[
        case(),
        {"include/chorus/x.h": "/* --- a --- */\n/**\n * End it all now.\n *\n"
                               " * @param f  called with its argument\n"
                               " * Collective: no, any PE.\n * Threads: any of them.\n"
                               " * Ordering: implies no barrier.\n * Errors: none at all.\n"
                               " * Source: of this library.\n * Since: 0.1\n */\n"
                               "CHORUS_API void chorus_end(void (*f)(void *arg));\n"},
    ],
)
