# SPDX-License-Identifier: Apache-2.0
"""Names without a type compile for the types of their family alone, in C11 and later.

usage: test_api_generic.py COMPILER [COMPILER ...]
"""
import shutil
import subprocess
import sys
from pathlib import Path

INCLUDE = Path(__file__).resolve().parent.parent / "include"
FLAGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I", INCLUDE, "-x", "c", "-"]

# A statement, where T *a and const T *b stand, for a type T: of the family's, and of no use to it.
CASES = [
    ("chorus_put(a, b, 1, 0);", ["char", "size_t", "long double", "chorus_half"],
     ["float _Complex", "struct other", "void", "_Bool", "int *"]),
    ("(void)chorus_g(b, 0);", ["int8_t", "chorus_bfloat16"], ["double _Complex", "struct other"]),
    ("chorus_atomic_set(a, 1, 0);", ["float", "ptrdiff_t"], ["short", "long double", "char"]),
    ("chorus_atomic_add(a, 1, 0);", ["int", "long long"], ["float", "unsigned short"]),
    ("chorus_atomic_or(a, 1, 0);", ["int64_t", "uint32_t"], ["float", "short", "_Bool"]),
    ("chorus_wait_until(a, CHORUS_CMP_EQ, 1);", ["short", "size_t"], ["char", "double"]),
    ("(void)chorus_fcollect(0, a, b, 1);", ["double"], ["double _Complex", "struct other"]),
    ("(void)chorus_alltoalls(0, a, b, 1, 1, 1);", ["long double"], ["struct other"]),
    ("(void)chorus_sum_inscan(0, a, b, 1);", ["float _Complex", "short"], ["struct other"]),
    ("(void)chorus_and_reduce(0, a, b, 1);", ["int16_t", "unsigned char"], ["float", "char"]),
    ("(void)chorus_min_reduce(0, a, b, 1);", ["chorus_half"], ["float _Complex"]),
    ("(void)chorus_sum_reducescatter(0, a, b, 1);", ["double _Complex"], ["_Bool", "struct other"]),
]
MACROS = "#define g 9.81\n#define put 1\n#define half 0.5\n#define uchar unsigned char\n"
PROGRAM = """#include "chorus/chorus.h"
{macros}struct other {{ int member; }};
{functions}"""
FUNCTION_OF = """void f{i}({T} *a, const {T} *b);
void f{i}({T} *a, const {T} *b)
{{
    (void)a, (void)b;
    {statement}
}}
"""
# Names that <stdbool.h> would take from a program of C before C23.
OWN_BOOL = """#include "chorus/chorus.h"
#include "chorus/chorusx.h"
int count(int false, int true);
int count(int false, int true)
{
    const int bool = false + true;
    return bool;
}
"""
FUNCTION = "void chorus_put(int a);\nvoid chorus_put(int a)\n{\n    (void)a;\n}\n"


def compiles(compiler, standard, program):
    return subprocess.run([compiler, f"-std={standard}", *FLAGS], input=program,
                          text=True, capture_output=True)


def refusals(compiler):
    """What is wrong with the refusals of types that are of no use to a family."""
    for statement, _, bad in CASES:
        for T in bad:
            done = compiles(compiler, "c11", PROGRAM.format(functions=FUNCTION_OF.format(i=0, T=T, statement=statement), macros=""))
            if done.returncode == 0:
                yield f"{statement} of {T}: compiles"
            elif "_Generic" not in done.stderr and T != "void":
                yield f"{statement} of {T} is refused for another reason: {done.stderr}"


def problems(compiler):
    calls = [(T, statement) for statement, good, _ in CASES for T in good]
    functions = "".join(FUNCTION_OF.format(i=i, T=T, statement=statement) for i, (T, statement) in enumerate(calls))
    done = compiles(compiler, "c11", PROGRAM.format(functions=functions, macros=""))
    if done.returncode != 0:
        yield f"c11: {done.stderr}"
    for standard in ["c11", "c17", "gnu2x"]:
        function = FUNCTION_OF.format(i=0, T="int", statement="chorus_put(a, a, 1, chorus_g(b, 0));")
        program = PROGRAM.format(functions=function, macros=MACROS)
        done = compiles(compiler, standard, program)
        if done.returncode != 0:
            yield f"{standard}, with macros of the program's: {done.stderr}"
    for standard in ["c99", "c11", "c17"]:
        done = compiles(compiler, standard, OWN_BOOL)
        if done.returncode != 0:
            yield f"{standard}, with variables named bool, true and false: {done.stderr}"
    # Before C11 the names are the program's.
    done = compiles(compiler, "c99", f'#include "chorus/chorus.h"\n{FUNCTION}')
    if done.returncode != 0:
        yield f"c99: {done.stderr}"


def main():
    found = [f"{compiler}: {problem}" for compiler in sys.argv[1:] if shutil.which(compiler)
             for problem in problems(compiler)]
    found += refusals(sys.argv[1])
    print("\n".join(found))
    return 1 if found else 0


sys.exit(main())
