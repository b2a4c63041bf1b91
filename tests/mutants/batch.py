#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does test_coll_batch see the faults that the batches of GPUs could have?

    batch.py BUILD_DIR COMPILER...

As mutants.py: each mutant is batch_cuda.h with one fault, with which the test must fail.
"""
import os
import pathlib
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
FILE = "src/coll/cuda/batch_cuda.h"
FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-O1", "-w", "-fno-strict-aliasing"]

# Name, the text, what stands there instead.
MUTANTS = [
    ("a line is not loaded again", "if (kind == CH_CELL_ll128) ch_value_ask(kind, cells, v, b);", ""),
    ("lines of several PEs are not loaded again",
     "if (kind == CH_CELL_ll128 && u < ahead) ch_value_ask(kind, wanted[u].cells, &v[u], b);", ";"),
    ("the flag of a second packet is not looked at",
     "(v->seen[0] ^ flag) | (v->seen[1] ^ flag)", "(v->seen[0] ^ flag)"),
    ("a second packet is looked for where there is none",
     "(b->own.bytes > 8 ? ch_second_packet(b) : 0)", "ch_second_packet(b)"),
    ("a part of a line is half a part off", "line * CH_LINE_DATA + part * CH_PIECE_BYTES",
     "line * CH_LINE_DATA + part * CH_PIECE_BYTES + 8"),
    ("the last part of a line has 16 bytes of data", "ch_is_flagged(piece) ? 8 : CH_PIECE_BYTES",
     "ch_is_flagged(piece) ? 16 : CH_PIECE_BYTES"),
    ("a span's first piece is taken for whole", "begin < b->skew ? b->skew : 0", "0"),
    ("a piece is stored whole where it is partial",
     "return p.bytes == CH_PIECE_BYTES && (uintptr_t)at", "return p.bytes != 0 && (uintptr_t)at"),
]


def survives(mutant, place, compiler, check):
    """Why the mutant is alive, or nothing."""
    _, old, new = mutant
    text = (TOP / FILE).read_text()
    if text.count(old) != 1:
        return f"{FILE} has {text.count(old)} places with: {old}"
    (place / FILE).parent.mkdir(parents=True)
    (place / FILE).write_text(text.replace(old, new))
    program = place / "test_coll_batch"
    subprocess.run([*compiler, *FLAGS, f"-I{place}/src", f"-I{TOP}/src", f"-I{TOP}/include",
                    f"-I{TOP}/tests", str(TOP / "tests/test_coll_batch.c"), "-o", str(program),
                    "-pthread", *check], check=True)
    # Some of them wait for ever; a test of what is right takes a second.
    result = subprocess.run([str(program)], capture_output=True, text=True, timeout=110,
                            env={**os.environ, "CK_TIMEOUT_MULTIPLIER": "0.08"})
    return "" if result.returncode == 1 else f"the test ends with {result.returncode}: {result.stdout}"


def main():
    build, compiler = pathlib.Path(sys.argv[1]), sys.argv[2:]
    check = subprocess.run(["pkg-config", "--cflags", "--libs", "check"], capture_output=True,
                           text=True, check=True).stdout.split()
    shutil.rmtree(build, ignore_errors=True)
    failed = 0
    for i, mutant in enumerate(MUTANTS):
        wrong = survives(mutant, build / str(i), compiler, check)
        print(f"{'ALIVE' if wrong else 'killed'}  {mutant[0]}{': ' if wrong else ''}{wrong}")
        failed += bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
