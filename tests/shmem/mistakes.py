# SPDX-License-Identifier: Apache-2.0
"""What the library says about mistakes of programs of OpenSHMEM and NVSHMEM contains the names of their headers.

usage: mistakes.py COMPILER CHORUSRUN LIBRARY NAMES_OF OPENSHMEM NVSHMEM    libchorus-shmem, and programs of this folder
"""
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EARLY = "shmem_int_p called before shmem_init; expected a call between shmem_init and shmem_finalize"
SAID = (EARLY,
        "shmem_int_put: dest is .*allocate it with shmem_malloc", "shmem_putmem: pe is 99",
        "shmem_int_atomic_fetch_add: pe is -1",
        "shmem_int_sum_reduce: team is SHMEM_TEAM_INVALID", "shmem_team_sync: team is SHMEM_TEAM_INVALID",
        "shmem_int_wait_until: cmp is 77; expected a SHMEM_CMP_ constant",
        "shmem_ctx_create: options is 0x100000; expected 0 or SHMEM_CTX_ constants",
        r"shmem_int_sum_to_all \(PE_start 0, logPE_stride 0, PE_size 9\): n is 9",
        r"shmem_\w+: team is SHMEM_TEAM_INVALID",  # after no team was created
        "shmem_broadcast32: .*root is 7",
        r"shmem_barrier \(PE_start 0, logPE_stride 1, PE_size 2\): PE 2 of the list",
        r"shmem_fcollect64 \(.*\): PE 5 of the list", "shmem_malloc: .*SHMEM_SYMMETRIC_SIZE", "shmem_free: ",
        "shmem_clear_lock: PE 0 does not hold the lock at ", "shmem_int_wait_until: PE 1 waited .*CHORUS_TIMEOUT",
        "shmem_int_sum_reduce: (?:reduce: )?the calls of two PEs differ", "shmem_barrier_all: .*PE 0 waited")
NVSHMEM_SAID = (EARLY.replace("shmem", "nvshmem"),
                "nvshmem_init called twice", "nvshmem_int_put: dest is .*allocate it with nvshmem_malloc",
                "nvshmemx_int_put_on_stream: pe is 9", "nvshmem_int_sum_reduce: team is NVSHMEM_TEAM_INVALID",
                "nvshmemx_int_sum_reduce_on_stream: team is NVSHMEM_TEAM_INVALID",
                "nvshmem_int_wait_until: cmp is 77; expected a NVSHMEM_CMP_ constant",
                "nvshmem_malloc: .*raise NVSHMEM_MAX_MEMORY_PER_GPU", "nvshmem_free: ")
OWN = r"chorusx?_\w*|CHORUS_(?:TEAM|CMP|CTX|THREAD|SIGNAL|MALLOC|HEAP_MAX)\w*"


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def own_names(text):
    return [f"a name of Chorus in: {line}" for line in text.splitlines() if re.search(OWN, line)]


def run(chorusrun, n, seconds, *command):
    done = subprocess.run([chorusrun, "-n", str(n), "--timeout", "60", *command], capture_output=True, text=True,
                          check=False, env={**os.environ, "CHORUS_CHECK": "1", "CHORUS_TIMEOUT": str(seconds), "CHORUS_WARN": "0.1"})
    return done.stderr


def wrong_in(text, expected):
    """Each message is an expected one, and each of these is there."""
    said = re.findall("^said: (.*)", text, re.MULTILINE)
    wrong = [f"not said: {e}" for e in expected if not any(re.match(e, s) for s in said)]
    wrong += [f"not expected: {s}" for s in said if not any(re.match(e, s) for e in expected)]
    return wrong + own_names(text)


def wrong_names(names_of, prefix, there):
    """A name is replaced if and only if the other interface has it."""
    ours = (ROOT / "tests/golden/symbols.txt").read_text().split()
    named = subprocess.run([names_of, prefix], input="\n".join(ours), capture_output=True, text=True,
                           check=True).stdout.split()
    return [f"{name} is called {found} with {prefix}" for name, found in zip(ours, named, strict=True)
            if found != (name.replace("chorus", prefix, 1) if name.replace("chorus", prefix, 1) in there else name)]


def main():
    compiler, chorusrun, library, names_of, openshmem, nvshmem = sys.argv[1:]
    of_nvshmem = run(chorusrun, 1, 30, nvshmem)
    wrong = wrong_in(run(chorusrun, 2, 0.5, openshmem), SAID) + wrong_in(of_nvshmem, NVSHMEM_SAID)
    if "nvshmemx_init_attr: flags are 0x1, and expected 0 or one of " not in of_nvshmem:
        wrong.append(f"no reason for a refused nvshmemx_init_attr: {of_nvshmem}")
    end = run(chorusrun, 2, 30, openshmem, "end")
    wrong += own_names(end)
    for line in ("PE 1: shmem_int_p: pe is 99", r"PE 0 .*(?:has been|failed) in an allocation \(shmem_malloc\)"):
        if not re.search(line, end):
            wrong.append(f"not in the output of chorusrun: {line}\n{end}")
    wrong += wrong_names(names_of, "shmem", set(re.findall(r" (shmem_\w+)", output("nm", "-D", library))))
    headers = output(compiler, "-E", "-dD", f"-I{ROOT}/include", f"-I{ROOT}/include/compat", "-include", "nvshmemx.h",
                     "-x", "c", "/dev/null")
    wrong += wrong_names(names_of, "nvshmem", set(re.findall(r"\bnvshmemx?_\w+", headers)))
    print("\n".join(wrong) or f"{len(SAID) + len(NVSHMEM_SAID)} messages have the names of the program")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
