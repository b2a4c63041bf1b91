# SPDX-License-Identifier: Apache-2.0
"""bench/apps/run in its smallest form, and what the solvers say of bad input.

usage: test_bench_solvers_run.py RUN BUILD FOLDER    FOLDER gets the results
"""
import csv
import os
import shutil
import subprocess
import sys
import xml.dom.minidom
from pathlib import Path

BROKEN = "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 4\n2 x 4\n"
INDEFINITE = "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 1\n2 1 2\n2 2 1\n"
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "CHORUS_HEAP": "host"}


def output(words):
    done = subprocess.run(list(map(str, words)), check=False, capture_output=True, text=True, timeout=60,
                          env=os.environ | AS_ROOT)
    return done.returncode, done.stdout + done.stderr


def check_said(words, expected):
    """A command that must fail, and say this."""
    code, said = output(words)
    if code == 0 or expected not in said:
        sys.exit(f"{' '.join(map(str, words))} ended with {code}; it should say: {expected}\nit said: {said}")


def check_small(run, build, folder):
    code, said = output([run, build, "--small", "--out", folder])
    if code != 0:
        sys.exit(said)
    with open(folder / "solvers.csv", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    cases = {(row["program"], row["scaling"], row["pes"], row["way"]) for row in rows}
    expected = {(program, scaling, pes, way) for program in ("jacobi", "cg") for scaling in ("strong", "weak")
                for pes in "12" for way in ("chorus", "mpi", "coordinator")}
    if cases != expected:
        sys.exit(f"the rows differ: {sorted(cases ^ expected)}")
    for name in ("jacobi", "cg"):
        for ratio in ("chorus / mpi, of each case with the faster MPI", "coordinator / chorus"):
            if f"{name}: {ratio}: mean " not in said:
                sys.exit(f"no mean of {name}: {ratio} in: {said}")
    if len(xml.dom.minidom.parse(str(folder / "solvers.svg")).getElementsByTagName("polyline")) != 18:
        sys.exit("solvers.svg does not have three lines in each of six panels")


def main():
    run, build, folder = map(Path, sys.argv[1:])
    if not shutil.which("mpirun"):
        print("no mpirun here")
        return 77
    folder.mkdir(exist_ok=True)
    check_small(run, build, folder)
    check_said([run, build, "--mpi", "mpi9"], "there is no MPI mpi9; give mpich, ompi5 or ompi4 to --mpi")
    two, one = (["mpirun", "--oversubscribe", "-n", n] for n in "21")
    jacobi, cg = build / "bench/jacobi", build / "bench/cg"
    check_said([*two, jacobi, 9, 8, 20, 1], "the grid has 9 rows, which do not divide among 2 PEs; take 8 or 10 rows")
    check_said([*one, jacobi, 8, 8, 20, 1, "chorus", "nccl"], "this program has no way nccl; there are chorus mpi "
               "coordinator coordinator-mpi")
    (folder / "broken.mtx").write_text(BROKEN, encoding="ascii")
    check_said([*one, cg, folder / "broken.mtx", 1],
               f"{folder}/broken.mtx:4:3: expected a column, a number of 1 to 2, found x")
    (folder / "indefinite.mtx").write_text(INDEFINITE, encoding="ascii")
    check_said([*two, cg, folder / "indefinite.mtx", 1], "the matrix is not positive definite, or nearly singular: "
               "p * A p is -0.0140337 after 1 steps; CG needs a symmetric positive definite matrix")
    return 0


sys.exit(main())
