# SPDX-License-Identifier: Apache-2.0
"""A signal handler that calls chorus_global_exit ends its PE with the status, whatever it interrupts.

usage: test_api_exit.py EXIT_PE
"""
import os
import socket
import subprocess
import sys

program = sys.argv[1]
RUNS = 12


def free_port():
    """Its successor, at which PE 0 will listen, is most likely free, too."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1] - 1


def start(rank, port, when):
    own = {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    return subprocess.Popen([program, when], env=os.environ | own, stderr=subprocess.PIPE, text=True)


faults = []
for run in range(RUNS):
    moment, expected = (("running", 9), ("finalized", 0))[run % 2]
    port_of_job = free_port()
    pes = [start(rank, port_of_job, moment) for rank in range(2)]
    for rank, status in ((1, 5), (0, expected)):
        try:
            text = pes[rank].communicate(timeout=20)[1]
        except subprocess.TimeoutExpired:
            pes[rank].kill()
            text = "it did not end; " + pes[rank].communicate()[1]
        if pes[rank].returncode != status:
            faults.append(f"run {run}, {moment}: PE {rank} has status {pes[rank].returncode}: {text}")
print("\n".join(faults))
sys.exit(1 if faults else 0)
