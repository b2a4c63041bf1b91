# SPDX-License-Identifier: Apache-2.0
"""NVSHMEM's variables of the environment: those with a meaning have it, others are named once.

usage: nvshmem_environment.py CHORUSRUN PROGRAM    PROGRAM calls nvshmem_init
"""
import os
import subprocess
import sys

HELP = "NVSHMEM_INFO=1 prints the variables of NVSHMEM that are, chorus-info options those of Chorus"


def run(**variables):
    """What two PEs print with these variables."""
    done = subprocess.run([sys.argv[1], "-n", "2", "--timeout", "50", sys.argv[2]], text=True, check=False,
                          capture_output=True, env={**os.environ, **variables})
    if done.returncode != 0:
        sys.exit(f"with {variables}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def expect(variables, times, part):
    said = run(**variables)
    if said.count(part) != times:
        sys.exit(f"with {variables} this is not said {times} times: {part}\n{said}")


expect({"NVSHMEM_HOME": "/x", "NVSHMEM_SYMMETRIC_SIZE": "1", "NVSHMEM_DEBUG": "WARN"}, 0, "not used by Chorus")
expect({"NVSHMEM_BOOTSTRAP": "MPI"}, 1, f"chorus: NVSHMEM_BOOTSTRAP is not used by Chorus; {HELP}")
expect({"NVSHMEM_BOOTSTRAP": "MPI", "NVSHMEM_X": "1"}, 1, " are not used by Chorus; ")
expect({"NVSHMEM_BOOTSTRAP": "MPI", "CHORUS_LOG": "error"}, 0, "not used by Chorus")
expect({"NVSHMEM_VERSION": "1"}, 1, "Chorus, the API of NVSHMEM 3.8.0\n")
expect({"NVSHMEM_VERSION": "0"}, 0, "the API of NVSHMEM")
expect({"NVSHMEM_INFO": "1"}, 1, "NVSHMEM_MAX_MEMORY_PER_GPU: largest heap of a PE in bytes, such as 1G; CHORUS_HEAP_MAX\n")
expect({"NVSHMEM_DEBUG": "INFO"}, 1, " PE 0 info: Chorus ")
