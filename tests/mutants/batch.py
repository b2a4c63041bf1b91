#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does test_coll_batch see the faults that the batches of GPUs could have?

    batch.py BUILD_DIR COMPILER...

As mutants.py: each mutant is batch_cuda.h or half_cuda.h with one fault, with which the test must fail.
"""
import functools
import os
import pathlib
import subprocess
import sys
import typing

from judge import TOP, judge

FILE = "src/coll/cuda/batch_cuda.h"
HALF_FILE = "src/coll/cuda/half_cuda.h"
FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-O0", "-w", "-fno-strict-aliasing"]


class Mutant(typing.NamedTuple):
    name: str
    old: str
    new: str  # what stands there instead
    file: str = FILE


MUTANTS = [
    Mutant("a line is not loaded again", "if (kind == CH_CELL_ll128) ch_value_poll(kind, cells, v, b);", ""),
    Mutant("lines of several PEs are not loaded again",
           "if (kind == CH_CELL_ll128 && u < ahead) ch_value_poll(kind, wanted[u].cells, &v[u], b);", ";"),
    Mutant("the flag of a second packet is not looked at",
           "(v->seen[0] ^ flag) | (v->seen[1] ^ flag)", "(v->seen[0] ^ flag)"),
    Mutant("a second packet is looked for where there is none",
           "b->own.bytes > 8 ? ch_second_packet(b) : 0", "ch_second_packet(b)"),
    Mutant("a part of a line is half a part off", "line * CH_LINE_DATA + part * CH_PIECE_BYTES",
           "line * CH_LINE_DATA + part * CH_PIECE_BYTES + 8"),
    Mutant("the last part of a line has 16 bytes of data", "ch_is_flagged(piece) ? 8 : CH_PIECE_BYTES",
           "ch_is_flagged(piece) ? 16 : CH_PIECE_BYTES"),
    Mutant("a span's first piece is taken for whole", "begin < b->skew ? b->skew : 0", "0"),
    Mutant("a piece is stored whole where it is partial",
           "return p.bytes == CH_PIECE_BYTES && (uintptr_t)at", "return p.bytes != 0 && (uintptr_t)at"),
    Mutant("the min of NaN has other bits", "op == CHORUS_OP_min || op", "op"),
    Mutant("the max of NaN has other bits", " || op == CHORUS_OP_max", ""),
    Mutant("NaN of binary16 loses its sign", "(int32_t)(half", "(half", HALF_FILE),
    Mutant("NaN loses its sign as binary16", "(bits >> 16 & 0x8000u) | ", "", HALF_FILE),
    Mutant("a message's last word is left out", ": (int)(bytes / 4);", ": (int)((bytes - 1) / 4);"),
    Mutant("a message at any address is taken for words", "(((uint32_t)(uintptr_t)at | bytes) & 3)",
           "(bytes & 3)"),
]


def survives(compiler, check, mutant, text, place):
    """Why the mutant is alive, or nothing."""
    (place / mutant.file).parent.mkdir(parents=True)
    (place / mutant.file).write_text(text)
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
    return judge(MUTANTS, build, functools.partial(survives, compiler, check), 2)


if __name__ == "__main__":
    sys.exit(main())
