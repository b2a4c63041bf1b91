#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_call_cost.py PROGRAM: instructions of small calls to a mapped PE, as valgrind counts them, beside
those of a memcpy of 8 bytes through a pointer. Counts do not depend on what else runs."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CALLS = 1000  # as in call_cost.c
# At most so many more than memcpy. (A put of 8 bytes had 59 more before it had a short way.)
MOST = {"putmem": 40, "getmem": 40, "putmem_nbi": 40, "uint64_p": 40, "fetch_add": 40}


def count(program):
    """{call: instructions of one}."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind"
        done = subprocess.run(["valgrind", "--tool=callgrind", "--compress-strings=no", "--compress-pos=no",
                               f"--callgrind-out-file={out}", program], text=True, capture_output=True, check=False,
                              timeout=100, env={**os.environ, "CHORUS_HEAP_MAX": "16M"})
        if done.returncode != 0:
            sys.exit(f"valgrind {program} ends with {done.returncode}: {done.stderr[-800:]}")
        found = re.findall(r"^cfn=loop_(\w+)\ncalls=1 .*\n\S+ (\d+)$", out.read_text(), re.MULTILINE)
    return {call: int(instructions) / CALLS for call, instructions in found}


def main():
    if shutil.which("valgrind") is None:
        print("no valgrind here")
        return 77
    cost, failed = count(sys.argv[1]), 0
    print(f"{'memcpy':<12}{cost['memcpy']:8.1f}")
    for call, most in MOST.items():
        above = cost[call] - cost["memcpy"]
        failed += above > most
        print(f"{call:<12}{cost[call]:8.1f}{above:+8.1f}, at most {most:+}{'' if above <= most else ': TOO MANY'}")
    return 1 if failed else 0


sys.exit(main())
