# SPDX-License-Identifier: Apache-2.0
"""Adding an operator, an element type or a collective takes its rows, and nothing else.

usage: test_coll_add_row.py operator|type|collective FOLDER COMPILER...

A copy of the sources gets one of its own, as CONTRIBUTING.md says, in four files at most, in six for a
collective. The simulator must then find it right; it must find the same one wrong if the library's row or
algorithm says something else, or if the reference does not have an operator or collective. Its
functions must be there, and all that has a table of operators, types or collectives must compile.
"""
import pathlib
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

TOP = pathlib.Path(__file__).resolve().parent.parent
FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-DCH_SIM", "-O0", "-w"]
# The simulator's algorithms: one, and no guests, since compiling all of them takes a minute.
INSTANCE = """#include "sim/instance.h"
#include "coll/algo/{0}.h"
const sim_entry sim_entries[CH_ALGO_COUNT] = {{[CH_ALGO_ch_{1}] = ch_{1}}};
"""
COPIED = ["include", "src", "tests/ref", "tuning"]
LISTS, GENERIC = "include/chorus/lists.h", "include/chorus/generic.h"
OPERATORS, OP, REF = "src/coll/operators.h", "tests/ref/ref_op.h", "tests/ref/ref_coll.c"
CHORUSX = "include/chorus/chorusx.h"
ALGORITHMS, ORIGIN, RULES = "src/coll/algorithm.h", "tests/ref/ref_origin.h", "tuning/elsewhere.yaml"
GUESTS = "is_guest = i != 0 && !made.is_counted && draw(4) == 0;"

# What the simulator is made of; those whose object depends on the reference's row or the library's row or
# algorithm come last.
PARTS = ["tests/sim/atomic.c", "tests/sim/clock.c", "tests/sim/fiber.c", "tests/sim/memory.c", "tests/sim/net.c",
         "tests/sim/drive.c", "tests/sim/plan.c", "tests/test_sim_coll.c",
         "src/coll/algorithm.c", "src/team/sync.c", "tests/ref/ref_coll.c", "tests/sim/instance.c",
         "src/coll/reduce.c"]
CHANGING = 3  # that come last
# What must compile besides: tables, and the room for values in words.
TABLES = ["src/api/coll.c", "src/base/record.c", "src/base/text.c", "bench/terms.c", "bench/cases.c", "bench/data.c",
          "bench/commit/calls.c"]

# The program that reads rule tables.
READER = ["tuning/compile.c", "src/base/error.c", "src/base/text.c",
          "src/select/match.c", "src/select/rule.c", "src/select/table.c",
          "src/coll/algorithm.c"]

LAST_ROW = "    Y(_prod, {0})"
ROW = LAST_ROW + " \\\n    Y(_xnor, CHORUS_REDUCE_BITWISE_NAMES)"
FUNCTION = """#define chorus_xnor_{0}(team, dest, ...) \\
    CHORUS_GENERIC(REDUCE_BITWISE, xnor_{0}, dest)(team, dest, __VA_ARGS__)
"""
FLOATS = "    R(A, longdouble, long double, CHORUS_TYPE_f80)"
BITWISE = "#define CHORUS_REDUCE_BITWISE_CTYPES(R, A)                              \\\n"
WIDE = "R(A, uint128, unsigned __int128, CHORUS_TYPE_u128)"
LAST_COLL = "    R(A, alltoallv, lengths, lengths, none, copies, apart, chorusx)\n"
DECLARATIONS = """
CHORUS_CODE int chorusx_rotatemem(chorus_team_t team, void *dest, const void *source, size_t nelems);
CHORUS_CODE int chorusx_rotatemem_on_stream(chorus_team_t team, void *dest, const void *source,
                                            size_t nelems, chorus_stream_t stream);
#define CHORUS_DECLARE_ROTATE(NAME, T, kind)                                                                    \\
    CHORUS_CODE int chorusx_##NAME##_rotate(chorus_team_t team, T *dest, const T *source, size_t nelems);      \\
    CHORUS_CODE int chorusx_##NAME##_rotate_on_stream(chorus_team_t team, T *dest, const T *source,            \\
                                                      size_t nelems, chorus_stream_t stream);
CHORUS_RMA_TYPES(CHORUS_DECLARE_ROTATE)
#undef CHORUS_DECLARE_ROTATE
"""
ROTATE = """/* SPDX-License-Identifier: Apache-2.0 */
/* rotate.h: rotate. */
#ifndef CH_ROTATE_H
#define CH_ROTATE_H

#include "coll/primitives/fifo.h"

/*
 * rotate in messages: every PE sends its block to the next one.
 *
 *   needs    put
 *   steps    c
 *   wire     m
 *   scratch  a FIFO for each peer
 *   inplace  not possible: the call refuses buffers that overlap
 *   result   a copy
 *   source   MPI_Sendrecv
 */
CH_FN chorus_status ch_rotate_exchange(const struct ch_coll *c, struct ch_lanes g)
{
    chorus_status st = CHORUS_OK;

    if (c->n == 1) ch_copy(c->dst, c->src, ch_bytes(c), g);
    for (size_t at = 0; at < ch_bytes(c) && c->n > 1 && st == CHORUS_OK;) {
        const size_t bytes = ch_chunk_bytes_at(c, CH_CELL_simple, at);

        st = ch_send(c, CH_CELL_simple, ch_pes_one(ch_next_pe(c)), c->src + at, 0, bytes, g);
        if (st == CHORUS_OK) st = ch_recv(c, CH_CELL_simple, ch_prev_pe(c), c->dst + at, bytes, g);
        at += bytes;
    }
    return st;
}

#endif
"""


class Addition:
    """What is added: changes of files, as what stands there and what then does; "" stands in a new file."""

    def __init__(self, algorithm, header, rows, reference, library, wrong, names, files_most=4):
        self.algorithm, self.header = algorithm, header  # that the simulator runs, and its header
        self.rows = rows  # but for the next two
        self.reference, self.library = reference, library
        self.wrong = wrong  # the library's row, and what makes it wrong
        self.names = names  # a function, and a call of elements of a type
        self.files_most = files_most


ADDITIONS = {
    "operator": Addition(
        "reduce:two_shot:simple", "inside_kernels",
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
        "reduce:two_shot:simple", "inside_kernels",
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
    "collective": Addition(
        "rotate:exchange:simple", "rotate",
        [(LISTS, LAST_COLL, LAST_COLL[:-1] + " \\\n    R(A, rotate, one, one, none, copies, apart, chorusx)\n"),
         (ALGORITHMS, "ch_alltoallv_exchange, CH_NEED_put, 0, c + 1, (n - 1) * 16 + m, plain)\n",
          "ch_alltoallv_exchange, CH_NEED_put, 0, c + 1, (n - 1) * 16 + m, plain) \\\n"
          "    X(rotate, exchange, simple, ch_rotate_exchange, CH_NEED_put, 0, c, m, plain)\n"),
         (RULES, "  - {coll: alltoallv, algo: exchange, proto: simple, from: fallback}\n",
          "  - {coll: alltoallv, algo: exchange, proto: simple, from: fallback}\n\n"
          "  - {coll: rotate, algo: exchange, from: fallback}\n"),
         (CHORUSX, "#undef CHORUS_DECLARE_ALLTOALLV\n", "#undef CHORUS_DECLARE_ALLTOALLV\n" + DECLARATIONS)],
        (ORIGIN, "    } else if (coll == CHORUS_COLL_inscan) {\n",
         "    } else if (coll == CHORUS_COLL_rotate) {\n        o.lo = (me + n - 1) % n;\n        o.hi = o.lo + 1;\n"
         "    } else if (coll == CHORUS_COLL_inscan) {\n"),
        ("src/coll/algo/rotate.h", "", ROTATE),
        ("ch_pes_one(ch_next_pe(c)), c->src + at", "ch_pes_one(ch_next_pe(c)), c->src"),
        ("chorusx_rotatemem_on_stream", "chorusx_float_rotate", "float"), files_most=6),
}


class Copy:
    """The sources with their additions, and what they are compiled to."""

    def __init__(self, folder, compiler, addition):
        self.folder, self.compiler, self.algorithm = folder, compiler, addition.algorithm
        self.changed = set()
        shutil.rmtree(folder, ignore_errors=True)
        for name in COPIED:
            shutil.copytree(TOP / name, folder / name)
        (folder / "tests/sim").mkdir()
        (folder / "tests/sim/instance.c").write_text(INSTANCE.format(
            addition.header, "_".join(self.algorithm.split(":")[:2])))
        plan = (TOP / "tests/sim/plan.c").read_text()
        assert plan.count(GUESTS) == 1
        (folder / "tests/sim/plan.c").write_text(plan.replace(GUESTS, "is_guest = false;"))

    def change(self, name, old, new):
        path = self.folder / name
        text = path.read_text() if path.exists() else ""
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
        return subprocess.run([program, "--algo", self.algorithm, "--pes", "4", "--seeds", "200"],
                              capture_output=True, text=True, timeout=120, check=False)

    def reads_rules(self):
        program = str(self.folder / "compile")
        subprocess.run([*self.compiler, *self.compile_all(READER), "-lyaml", "-o", program], check=True)
        return subprocess.run([program, self.folder / "tables.c", f"elsewhere={self.folder / RULES}"],
                              check=False).returncode == 0

    def has_names(self, function, call, ctype):
        api = subprocess.run([*self.compiler, "-E", f"-I{self.folder}/src", f"-I{self.folder}/include",
                              self.folder / "src/api/collectives.c"], check=True, capture_output=True, text=True).stdout
        program = f"#include <chorus/chorusx.h>\nint f({ctype} *a) {{ return {call}(0, a, a, 1); }}\n"
        compiled = subprocess.run([*self.compiler, "-std=c11", "-fsyntax-only", f"-I{self.folder}/include", "-x", "c",
                                   "-"], input=program, text=True, check=False)
        return f"int {function}(" in api and compiled.returncode == 0


def is_seen(copy, kind, parts):
    """Is what the reference does not know, or the library does wrong, found?"""
    addition = ADDITIONS[kind]
    says = {"operator": "does not know operator", "collective": "of dest is wrong"}
    if kind in says:
        result = copy.simulate(parts)
        if result.returncode == 0 or says[kind] not in result.stdout + result.stderr:
            print(f"the reference does not have it: {result.stdout}{result.stderr}")
            return False
    copy.change(*addition.reference)
    copy.change(addition.library[0], *addition.wrong)
    copy.compile_all(PARTS[-CHANGING:])
    result = copy.simulate(parts)
    if result.returncode == 0 or "does not know" in result.stderr:
        print(f"the library is wrong: {result.stdout}{result.stderr}")
        return False
    copy.change(addition.library[0], *reversed(addition.wrong))
    copy.compile_all(PARTS[-CHANGING:])
    return True


def main():
    kind = sys.argv[1]
    addition = ADDITIONS[kind]
    copy = Copy(pathlib.Path(sys.argv[2]), sys.argv[3:], addition)
    for change in [*addition.rows, addition.library]:
        copy.change(*change)
    parts = copy.compile_all(PARTS + TABLES)[:len(PARTS)]
    if not is_seen(copy, kind, parts):
        return 1
    result = copy.simulate(parts)
    if result.returncode != 0:
        print(f"{result.stdout}{result.stderr}")
        return 1
    if len(copy.changed) > addition.files_most or not copy.has_names(*addition.names):
        print(f"changed: {sorted(copy.changed)}; expected {addition.files_most} files at most, and names of functions")
        return 1
    return 0 if kind != "collective" or copy.reads_rules() else 1


sys.exit(main())
