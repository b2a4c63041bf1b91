# SPDX-License-Identifier: Apache-2.0
"""clang-tidy, with the checks of .clang-tidy: likely bugs, unchecked results, long functions."""
import json
import os
import re
from concurrent.futures import ThreadPoolExecutor

import style

TIDY = "clang-tidy-14"
CONFIG = style.read(style.ROOT, ".clang-tidy")
# Warnings are the matter of the compilers.
LENIENT = ["--extra-arg=-Wno-everything"]
# What it gets wrong: file, check, and the fact it cannot see.
ALLOWED = [
    ("bench/apps/halo.c", "MPI-Checker"),  # requests are numbered by a counter
    ("bench/apps/jacobi_mpi.c", "MPI-Checker"),  # MPI_Startall starts requests that persist
    ("bench/apps/job.c", "valist"),  # compiled twice, which confuses it
    ("bench/apps/matrix_market.c", "valist"),  # the same
    ("src/api/coll.c", "suspicious-memory-comparison"),  # requests are zeroed, padding too
    ("src/api/rma.c", "UndefReturn"),  # a get that fails clears a single element
    ("src/api/team.c", "UnixAPI"),  # a list has a PE at the least
    ("src/coll/algo/barrier.h", "DivideZero"),  # a radix is 2 or more
    ("src/coll/shape.h", "DivideZero"),  # the same
    ("src/coll/shape_rounds.h", "DivideZero"),  # the same
    ("src/coll/algo/reduce_rounds.h", "DivideZero"),  # the same
    ("src/heap/data.c", "DivideZero"),  # a job has a PE at the least
    ("src/heap/grow.c", "DivideZero"),  # so has a host
    ("src/heap/open.c", "UnixAPI"),  # a job has a PE at the least
    ("src/team/create.c", "NullDereference"),  # ch_nodes_init sets node, in another file
    ("src/base/text.c", "valist"),  # compiled twice, which confuses it
    ("src/select/reach.c", "UnixAPI"),  # a cell has a rule at the least
    ("src/select/tiles.c", "UnixAPI"),  # so have tiles a piece
    ("src/heap/heap.c", "NonNullParamChecker"),  # null comes from 0 bytes alone
]


def is_ours(problem):
    path, text = problem.split(":", 1)
    return not path.startswith("..") and not any(
        path == file and check in text for file, check in ALLOWED)


def findings(root, build, source):
    _, out = style.tool(TIDY, "--quiet", *LENIENT, "-p", str(build), source, root=root)
    if "Error while processing" in out:
        return [f"{source}: {TIDY} cannot compile it:\n{out}"]
    found = re.findall(r"^(\S+?)(:\d+):\d+: (?:warning|error)(: .*)$", out, re.M)
    return [os.path.relpath(os.path.join(build, path), root) + at + what for path, at, what in found]


def problems(root, files):
    if root == style.ROOT:
        build, sources = style.BUILD, {s for s, _, _ in style.compile_commands(style.BUILD)
                                       if not s.startswith("tests/")}
    else:
        (root / ".clang-tidy").write_text(CONFIG)
        build, sources = root, files
        commands = [{"directory": str(root), "file": f, "command": f"cc -c {f}"} for f in files]
        (root / "compile_commands.json").write_text(json.dumps(commands))
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda s: findings(root, build, s), sorted(sources))
        yield from filter(is_ours, sorted({line for lines in found for line in lines}))


LONG = "void g(void);\nvoid f(void);\nvoid f(void)\n{\n" + 71 * "    g();\n" + "}\n"

style.run(
    problems,
    bad=[
        ("cert-err33-c", {"x.c": "#include <stdio.h>\nvoid f(FILE *x);\n"
                                 "void f(FILE *x)\n{\n    fflush(x);\n}\n"}),
        ("function-size", {"x.c": LONG}),
        ("clang-analyzer", {"x.c": "int f(int *p);\nint f(int *p)\n{\n    if (p) return 0;\n"
                                   "    return *p;\n}\n"}),
    ],
    good=[{"x.c": "#include <stdio.h>\nvoid f(FILE *x);\nvoid f(FILE *x)\n{\n    (void)fflush(x);\n}\n"}],
    needs=[TIDY],
)
