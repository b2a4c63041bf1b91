# SPDX-License-Identifier: Apache-2.0
"""cppcheck's warnings about what compiles but is likely wrong."""
import re

import style

FLAGS = ["--enable=warning,portability", "--std=c11", "--language=c", "--inline-suppr", "--quiet",
         "-j2", "--max-configs=1", "--template={file}:{line}: {id}: {message}", "-D_GNU_SOURCE",
         "-Iinclude", "-Isrc", "-I.", f"-I{style.BUILD}/src"]

# What it gets wrong, and why.
SUPPRESSED = [
    # Macros of the lists of calls, which both compilers expand.
    "preprocessorErrorDirective:src/api/amo.c",
    "preprocessorErrorDirective:src/api/collectives.c",
    "preprocessorErrorDirective:src/api/rma.c",
    "preprocessorErrorDirective:include/compat/shmem_lists.h",
    # Arguments that are empty in some rows.
    "preprocessorErrorDirective:bench/commit/calls.c",
    "preprocessorErrorDirective:bench/peers/mpi_sweep.c",
    "preprocessorErrorDirective:bench/peers/nccl.c",
    "preprocessorErrorDirective:bench/terms.c",
    "uninitvar:src/coll/host/batch_cpu.h",  # an accumulator has a source at the least
    "comparePointers:src/select/select.c",  # both ends of one table, named by the assembler
    "uninitvar:src/select/rule.c",  # names[count - 1] is read if count > 0
]


def problems(root, files):
    sources = [f for f in files if f.endswith(".c") and not f.startswith("tests/")]
    if not sources:
        return
    suppressed = [f"--suppress={s}" for s in SUPPRESSED]
    _, out = style.tool("cppcheck", *FLAGS, *suppressed, *sources, root=root)
    yield from re.findall(r"^\S+:\d+: .*$", out, re.M)


style.run(
    problems,
    bad=[("uninitvar", {"x.c": "int f(void)\n{\n    int x;\n    return x;\n}\n"})],
    good=[{"x.c": "int f(void)\n{\n    int x = 1;\n    return x;\n}\n"}],
    needs=["cppcheck"],
)
