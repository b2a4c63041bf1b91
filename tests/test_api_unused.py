# SPDX-License-Identifier: Apache-2.0
"""Compilers warn of calls of Chorus whose code is ignored, and only of those.

usage: test_api_unused.py COMPILER [COMPILER ...]
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

INCLUDE = Path(__file__).resolve().parent.parent / "include"
STANDARDS = {"c": ["c11", "gnu2x"], "c++": ["c++11", "c++17"]}

PROGRAM = """#include "chorus/chorusx_mpi.h"
#include "nvshmemx.h"
#include "shmem.h"
void f(int *p, int team, shmem_team_t all);
void f(int *p, int team, shmem_team_t all)
{
"""
WARNED = """chorus_init();
chorus_int_sum_reduce(team, p, p, 1);
chorus_fcollectmem(team, p, p, 1);
chorus_team_sync(team);
chorus_ctx_create(0, 0);
chorusx_int_gather(team, p, p, 1, 0);
chorusx_int_max_reduce_on_stream(team, p, p, 1, 0);
chorusx_barrier_on_stream(team, 0);
chorusx_stream_create(0);
chorusx_run_threads(1, 0, 0);
chorusx_set_attr_mpi_comm(0, 0);
"""
SILENT = """chorus_my_pe();
chorus_team_n_pes(team);
chorus_int_g(p, 0);
chorus_test_lock(0);
chorus_malloc(8);
chorusx_init_status();
chorus_int_test(p, 0, 1);
shmem_int_sum_reduce(all, p, p, 1);
shmem_team_sync(all);
shmem_init_thread(0, p);
nvshmem_int_sum_reduce(team, p, p, 1);
nvshmem_team_sync(team);
nvshmem_barrier(team);
nvshmem_init_thread(0, p);
nvshmem_team_split_strided(team, 0, 1, 1, 0, 0, 0);
nvshmem_team_split_2d(team, 1, 0, 0, 0, 0, 0, 0);
nvshmemx_team_init(0, 0, 0, 0, 0);
nvshmemx_get_uniqueid(0);
nvshmemx_barrier_on_stream(team, 0);
"""
TEXT = f"{PROGRAM}{WARNED}{SILENT}}}\n"


def warned_lines(command):
    """The statements that the compiler warns of, and what it prints."""
    done = subprocess.run(command, input=TEXT, text=True, capture_output=True)
    if done.returncode != 0:
        return None, done.stderr
    numbers = {int(n) for n in re.findall(r"<stdin>:(\d+):\d+: warning: .*unused-result", done.stderr)}
    return [line for n, line in enumerate(TEXT.splitlines(), 1) if n in numbers], done.stderr


def problems(compiler, language, standard):
    command = [compiler, f"-std={standard}", "-Wall", "-S", "-o", "/dev/null", "-I", INCLUDE,
               "-I", INCLUDE / "compat", "-x", language, "-"]
    found, said = warned_lines(command)
    if found != WARNED.splitlines():
        yield f"{standard}: warnings of {found}; expected those of {WARNED.splitlines()}\n{said}"
    if standard == "c11":
        found, said = warned_lines(command + ["-DCHORUS_NO_WARN_UNUSED"])
        if found != [] or said:
            yield f"{standard} with CHORUS_NO_WARN_UNUSED: {said}"


def main():
    found = [f"{compiler}: {problem}" for compiler in sys.argv[1:] if shutil.which(compiler)
             for language, standards in STANDARDS.items() for standard in standards
             for problem in problems(compiler, language, standard)]
    print("\n".join(found))
    return 1 if found else 0


sys.exit(main())
