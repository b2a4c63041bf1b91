# SPDX-License-Identifier: Apache-2.0
"""Adding an operator or an element type takes its rows, and nothing else.

usage: test_coll_add_row.py operator|type FOLDER COMPILER...

A copy of the sources gets one of its own, as CONTRIBUTING.md says, in four files at most. The simulator
must then find it right; it must find the same one wrong if the library's row says something else, and
an operator that the reference does not know must end it. The names with and without a type must be
there, and all that has a table of operators or types must compile.
"""
import pathlib
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

TOP = pathlib.Path(__file__).resolve().parent.parent
FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-DCH_SIM", "-O0", "-w"]
FILES_MOST = 4
# The simulator's algorithms: one, and no guests, since compiling all of them takes a minute.
ALGORITHM = "reduce:two_shot:simple"
INSTANCE = """#include "sim/instance.h"
#include "coll/algo/reduce_two_shot.h"
const sim_entry sim_entries[CH_ALGO_COUNT] = {[CH_ALGO_ch_reduce_two_shot] = ch_reduce_two_shot};
"""
COPIED = ["include", "src", "tests/ref"]
LISTS, GENERIC = "include/chorus/lists.h", "include/chorus/generic.h"
OPERATORS, OP, REF = "src/coll/operators.h", "tests/ref/ref_op.h", "tests/ref/ref_coll.c"
GUESTS = "is_guest = i != 0 && !made.is_counted && draw(4) == 0;"

# What the simulator is made of; those whose object depends on the reference's row or the library's come last.
PARTS = ["tests/sim/atomic.c", "tests/sim/clock.c", "tests/sim/fiber.c", "tests/sim/memory.c", "tests/sim/net.c",
         "tests/sim/drive.c", "tests/sim/plan.c", "tests/sim/instance.c", "tests/test_sim_coll.c",
         "src/coll/algorithm.c", "src/team/nodes.c", "src/team/sync.c", "tests/ref/ref_coll.c", "src/coll/reduce.c"]
# What must compile besides: tables, and the room for values in words.
TABLES = ["src/api/coll.c", "src/base/record.c", "bench/terms.c", "bench/cases.c"]

LAST_ROW = "    Y(_prod, {0})"
ROW = LAST_ROW + " \\\n    Y(_xnor, CHORUS_REDUCE_BITWISE_NAMES)"
FUNCTION = """#define chorus_xnor_{0}(team, dest, ...) \\
    CHORUS_GENERIC(REDUCE_BITWISE, xnor_{0}, dest)(team, dest, __VA_ARGS__)
"""
FLOATS = "    R(A, longdouble, long double, CHORUS_TYPE_f80)"
BITWISE = "#define CHORUS_REDUCE_BITWISE_CTYPES(R, A)                              \\\n"
WIDE = "R(A, uint128, unsigned __int128, CHORUS_TYPE_u128)"


class Addition:
    """What is added: changes of files, as what stands there and what then does."""

    def __init__(self, rows, reference, library, wrong, names):
        self.rows = rows  # but for the next two
        self.reference, self.library = reference, library
        self.wrong = wrong  # the library's row, and what makes it wrong
        self.names = names  # a function, and a call without a type of elements of a type


ADDITIONS = {
    "operator": Addition(
        [(LISTS, "X(sum) X(prod)\n", "X(sum) X(prod) X(xnor)\n"),
         *((LISTS, LAST_ROW.format(names), ROW.format(names))
           for names in ("CHORUS_REDUCE_ARITHMETIC_NAMES", "CHORUS_DEVICE_NAMES")),
         (GENERIC, "#define chorus_min_reduce(", FUNCTION.format("reduce") + FUNCTION.format("reducescatter")
          + "\n#define chorus_min_reduce(")],
        (OP, "    case CHORUS_OP_sum:\n        *a += b;\n        return 1;\n    case CHORUS_OP_prod:\n"
         "        *a *= b;\n        return 1;\n    default:\n        return 0;\n    }\n}\n\n/* The same",
         "    case CHORUS_OP_sum:\n        *a += b;\n        return 1;\n    case CHORUS_OP_prod:\n"
         "        *a *= b;\n        return 1;\n    case CHORUS_OP_xnor:\n        *a = ~(*a ^ b);\n        return 1;\n"
         "    default:\n        return 0;\n    }\n}\n\n/* The same"),
        (OPERATORS, "    X(T, A, xor, (A)(a ^ b))                        \\\n",
         "    X(T, A, xor, (A)(a ^ b))                        \\\n    X(T, A, xnor, (A) ~(a ^ b)) \\\n"),
        ("xnor, (A) ~(a ^ b)", "xnor, (A)(a ^ b)"),
        ("chorusx_uint64_xnor_reduce_to_on_stream", "chorus_xnor_reducescatter", "unsigned short")),
    "type": Addition(
        [(LISTS, "    X(c128, double _Complex, COMPLEX, 16)\n", "    X(c128, double _Complex, COMPLEX, 16) \\\n"
          "    X(u128, unsigned __int128, UINT, 16)\n"),
         (LISTS, FLOATS + "\n#define CHORUS_REDUCE_ORDERED_NAMES", FLOATS + " \\\n    " + WIDE
          + "\n#define CHORUS_REDUCE_ORDERED_NAMES"),
         (LISTS, BITWISE, BITWISE + "    " + WIDE + " \\\n"),
         (OPERATORS, "#define CH_ON_GPU_FLOAT_16(...)\n",
          "#define CH_ON_GPU_FLOAT_16(...)\n#define CH_ON_GPU_UINT_16(...)\n")],
        (REF, "#define REF_WHOLE uint64_t\n", "#define REF_WHOLE unsigned __int128\n"),
        (OPERATORS, "#define CH_WRAP_u64 uint64_t\n",
         "#define CH_WRAP_u64 uint64_t\n#define CH_WRAP_u128 unsigned __int128\n"),
        ("CH_WRAP_u128 unsigned __int128", "CH_WRAP_u128 uint64_t"),
        ("chorus_uint128_sum_inscan", "chorus_prod_reduce", "unsigned __int128")),
}


class Copy:
    """The sources with their additions, and what they are compiled to."""

    def __init__(self, folder, compiler):
        self.folder, self.compiler = folder, compiler
        self.changed = set()
        shutil.rmtree(folder, ignore_errors=True)
        for name in COPIED:
            shutil.copytree(TOP / name, folder / name)
        (folder / "tests/sim").mkdir()
        (folder / "tests/sim/instance.c").write_text(INSTANCE)
        plan = (TOP / "tests/sim/plan.c").read_text()
        assert plan.count(GUESTS) == 1
        (folder / "tests/sim/plan.c").write_text(plan.replace(GUESTS, "is_guest = false;"))

    def change(self, name, old, new):
        path = self.folder / name
        text = path.read_text()
        assert text.count(old) == 1, f"{name} has {text.count(old)} of {old}"
        path.write_text(text.replace(old, new))
        self.changed.add(name)

    def compile(self, name):
        own = self.folder / name
        out = self.folder / (name.replace("/", "_") + ".o")
        dirs = [self.folder / "src", self.folder / "include", self.folder / "tests", TOP / "tests", TOP,
                TOP / "bench"]
        subprocess.run([*self.compiler, *FLAGS, *(f"-I{path}" for path in dirs), "-c",
                        str(own if own.exists() else TOP / name), "-o", str(out)], check=True)
        return str(out)

    def compile_all(self, names):
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(self.compile, names))

    def simulate(self, objects):
        program = str(self.folder / "sim")
        subprocess.run([*self.compiler, *objects, "-lm", "-o", program], check=True)
        return subprocess.run([program, "--algo", ALGORITHM, "--pes", "4", "--seeds", "200"],
                              capture_output=True, text=True, timeout=120, check=False)

    def has_names(self, function, call, ctype):
        api = subprocess.run([*self.compiler, "-E", f"-I{self.folder}/src", f"-I{self.folder}/include",
                              self.folder / "src/api/collectives.c"], check=True, capture_output=True, text=True).stdout
        program = f"#include <chorus/chorus.h>\nint f({ctype} *a) {{ return {call}(0, a, a, 1); }}\n"
        compiled = subprocess.run([*self.compiler, "-std=c11", "-fsyntax-only", f"-I{self.folder}/include", "-x", "c",
                                   "-"], input=program, text=True, check=False)
        return f"int {function}(" in api and compiled.returncode == 0


def is_seen(copy, kind, parts):
    """Is what the reference does not know, or the library does wrong, found?"""
    addition = ADDITIONS[kind]
    if kind == "operator":
        result = copy.simulate(parts)
        if result.returncode == 0 or "does not know operator" not in result.stderr:
            print(f"the reference knows no such operator: {result.stdout}{result.stderr}")
            return False
    copy.change(*addition.reference)
    copy.change(OPERATORS, *addition.wrong)
    copy.compile_all(PARTS[-2:])
    result = copy.simulate(parts)
    if result.returncode == 0 or "does not know" in result.stderr:
        print(f"the library's row is wrong: {result.stdout}{result.stderr}")
        return False
    copy.change(OPERATORS, *reversed(addition.wrong))
    copy.compile_all(PARTS[-1:])
    return True


def main():
    kind, copy = sys.argv[1], Copy(pathlib.Path(sys.argv[2]), sys.argv[3:])
    for change in [*ADDITIONS[kind].rows, ADDITIONS[kind].library]:
        copy.change(*change)
    parts = copy.compile_all(PARTS + TABLES)[:len(PARTS)]
    if not is_seen(copy, kind, parts):
        return 1
    result = copy.simulate(parts)
    if result.returncode != 0:
        print(f"{result.stdout}{result.stderr}")
        return 1
    if len(copy.changed) > FILES_MOST or not copy.has_names(*ADDITIONS[kind].names):
        print(f"changed: {sorted(copy.changed)}; expected {FILES_MOST} files at most, and names of functions")
        return 1
    return 0


sys.exit(main())
