# SPDX-License-Identifier: Apache-2.0
"""shmem.h declares every function of the standard as the standard does, by both of its names, and
every name without a type.

usage: signatures.py COMPILER...    run in any folder; golden/openshmem.txt has the standard's list
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
INCLUDE = TESTS.parent / "include"

# The standard's tables of types: name, type of C.
INTS = {"int": "int", "long": "long", "longlong": "long long"}
UINTS = {"uint": "unsigned int", "ulong": "unsigned long", "ulonglong": "unsigned long long"}
SMALL = {"uchar": "unsigned char", "ushort": "unsigned short"}
FLOATS = {"float": "float", "double": "double"}
LONGDOUBLE = {"longdouble": "long double"}
COMPLEX = {"complexf": "float _Complex", "complexd": "double _Complex"}
SHORT = {"short": "short"}
BITS = {f"{u}int{n}": f"{u}int{n}_t" for u in ("", "u") for n in (8, 16, 32, 64)}
WORDS = {name: BITS[name] for name in ("int32", "int64", "uint32", "uint64")}
SIZE, PTRDIFF = {"size": "size_t"}, {"ptrdiff": "ptrdiff_t"}
CHARS = {"char": "char", "schar": "signed char"}

RMA = {**FLOATS, **LONGDOUBLE, **CHARS, **SHORT, **INTS, **UINTS, **SMALL, **BITS, **SIZE, **PTRDIFF}
AMO_BITWISE = {**UINTS, **WORDS}
AMO_STANDARD = {**AMO_BITWISE, **INTS, **SIZE, **PTRDIFF}
BITWISE = {**SMALL, **UINTS, **BITS, **SIZE}
WAIT = {**SHORT, **INTS, "ushort": "unsigned short", **UINTS, **WORDS, **SIZE, **PTRDIFF}
OLD = {**SHORT, **INTS}

# Which table a function of a type takes: the first pattern that fits what follows the type.
TABLES = [
    (r"(and|or|xor)_to_all", OLD),
    (r"(min|max)_to_all", {**OLD, **FLOATS, **LONGDOUBLE}),
    (r"(sum|prod)_to_all", {**OLD, **FLOATS, **LONGDOUBLE, **COMPLEX}),
    (r"(and|or|xor)_reduce", BITWISE),
    (r"(min|max)_reduce", RMA),
    (r"(sum|prod)_reduce|sum_(in|ex)scan", {**RMA, **COMPLEX}),
    (r"atomic_(fetch_)?(and|or|xor)(_nbi)?", AMO_BITWISE),
    (r"atomic_(fetch|set|swap)(_nbi)?", {**AMO_STANDARD, **FLOATS}),
    (r"atomic_\w+", AMO_STANDARD),
    (r"wait", OLD),
    (r"(wait_until|test)(_\w+)?", WAIT),
    (r"add|cswap|fadd|finc|inc", INTS),
    (r"fetch|set|swap", {**INTS, **FLOATS}),
    (r"\w+", RMA),
]
# The list has these generic names of old among the functions.
GENERIC = {"shmem_" + name for name in ("add", "cswap", "fadd", "fetch", "finc", "inc", "set", "swap")}


def expand(row):
    """A row of the list for each type or size it stands for."""
    typed = re.search(r"shmem_(?:ctx_)?<TYPENAME>_(\w+)\(", row)
    if typed:
        table = next(t for pattern, t in TABLES if re.fullmatch(pattern, typed.group(1)))
        for name, ctype in table.items():
            yield re.sub(r"\bTYPE\b", ctype, row.replace("<TYPENAME>", name))
    elif "<SIZE>" in row:
        for bits in (8, 16, 32, 64, 128):
            yield row.replace("<SIZE>", str(bits))
    else:
        yield row


def standard():
    """(functions: name -> (type, parameters), names without a type) of the list's last version."""
    functions, generics = {}, set()
    for line in (TESTS / "golden" / "openshmem.txt").read_text().splitlines():
        match = re.match(r"(c|c11) ([\d.,]+) (?:\(deprecated\) )?(.*)$", line)
        if not match:
            continue
        name = re.search(r"(\w+)\(", match.group(3))
        if match.group(1) == "c11" or (name and name.group(1) in GENERIC):
            if "TYPE" in match.group(3):
                generics.add(name.group(1))
            continue
        for row in expand(match.group(3)):
            found = re.match(r"(.*?)(\w+)\((.*)\)$", row)
            functions[found.group(2)] = (found.group(1).strip(), found.group(3))
    return functions, generics


def compile_text(compiler, text):
    command = [compiler, "-std=c11", "-fsyntax-only", "-Werror", "-fmax-errors=0",
               f"-I{INCLUDE}/compat", f"-I{INCLUDE}", "-x", "c", "-"]
    return subprocess.run([c for c in command if "clang" not in compiler or c != "-fmax-errors=0"],
                          input=text, text=True, capture_output=True, check=False).stderr


def preprocessed(compiler):
    text = '#include "shmem.h"\n'
    out = subprocess.run([compiler, "-std=c11", "-E", "-dD", f"-I{INCLUDE}/compat", f"-I{INCLUDE}",
                          "-x", "c", "-"], input=text, text=True, capture_output=True, check=True)
    return out.stdout


def problems(compiler):
    functions, generics = standard()
    text = preprocessed(compiler)
    declared = set(re.findall(r"\b(p?shmem_\w+|start_pes)\s*\(", text))
    macros = set(re.findall(r"^#define (\w+)", text, re.M))
    names = [n for f in functions for n in ([f] if f == "start_pes" else [f, "p" + f])]
    yield from (f"{n}: not declared" for n in names if n not in declared)
    yield from (f"{g}: no name without a type" for g in sorted(generics - macros))
    lines = ['#include "shmem.h"', "void f(void);", "void f(void)", "{"]
    for name in names:
        result, parameters = functions[name.removeprefix("p")]
        if name in declared:
            lines.append(f"{{ {result} (*call)({parameters}) = ({name}); (void)call; }}")
    yield from compile_text(compiler, "\n".join(lines + ["}", ""])).splitlines()


def main():
    compilers = [compiler for compiler in sys.argv[1:] if shutil.which(compiler)]
    if not compilers:
        return 77
    found = [p for compiler in compilers for p in problems(compiler)]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
