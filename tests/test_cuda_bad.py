# SPDX-License-Identifier: Apache-2.0
"""Heaps on GPUs of two hosts that cannot be: every PE gets the same message, and nothing is left of the start.

usage: test_cuda_bad.py CHORUSRUN CUDA_BAD_PE LAUNCHER    LAUNCHER starts what --hosts names on this host
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

chorusrun, program, launcher = sys.argv[1:4]
CLEAN = {k: v for k, v in os.environ.items() if not re.match("CHORUS_|PMIX|RANK|WORLD_SIZE|MASTER|CUDA_|FI_", k)}
PRETENDED = {"CHORUS_NODES": "2"}
GPUS = {"CHORUS_HEAP": "cuda", "CHORUS_SYNC_MAX": "64M", "CHORUS_CTAS": "2", "CHORUS_TRANSPORT": "mapped,tcp",
        "CHORUS_LOG": "none"}
HOST_1 = "PE 1 on host pretended-1: "
ALLOW_TCP = "; allow tcp, which needs nothing but IP between the hosts: CHORUS_TRANSPORT=mapped,tcp"
LOCKED = (r"locking \d+ KiB of memory of this host for GPU 1 \(fake 1\) failed: the test says no; raise the limit of locked memory "
          r"\(ulimit -l, or that of the container\), or set CHORUS_HEAP=host")
DIFFER = "set CHORUS_HEAP, or the attributes of chorusx_init_attr, to the same value on all PEs"
faults = []

# Variables, what is wrong, and the message that every PE gets, after the name of the call.
REFUSED = [
    ({"CHORUS_TRANSPORT": "mapped"}, [],
     'no network reaches the PEs of other hosts: none is allowed; CHORUS_TRANSPORT is "mapped"' + ALLOW_TCP),
    ({"CHORUS_TRANSPORT": "mapped,ofi", "FI_PROVIDER": "none"}, [],
     'no network reaches the PEs of other hosts: ofi: PE 0 on host pretended-0: .*; CHORUS_TRANSPORT is "mapped,ofi"' + ALLOW_TCP),
    ({"CHORUS_TRANSPORT": "tcp"}, [],
     'the heap is on GPUs, which reach those of their own host without a network, and CHORUS_TRANSPORT is "tcp"; add "mapped" to '
     'it, or set CHORUS_HEAP=host'),
    ({}, ["1:CHORUS_TRANSPORT=mapped"],
     "CHORUS_TRANSPORT allows mapped on PE 1 and mapped,tcp on PE 0; set it alike for all PEs"),
    ({}, ["0:CHORUS_TRANSPORT=tpc"], "CHORUS_TRANSPORT allows mapped,tcp on PE 1 and unknown names on PE 0; set it alike for all PEs"),
    # The page of the doorbell, and the pool of messages.
    ({}, ["1:pinned_bytes_max=0"], f"heap on GPUs: {HOST_1}{LOCKED}"),
    ({}, ["1:pinned_bytes_max=65536"], f"heap on GPUs: {HOST_1}{LOCKED}"),
    ({}, ["1:n_devices=0"],
     f"heap on GPUs: {HOST_1}no GPU here, or CUDA_VISIBLE_DEVICES hides it; show one, or set CHORUS_HEAP=host"),
    ({}, ["0:start_error=35"],
     "heap on GPUs: PE 0 on host pretended-0: no driver for GPUs here: .*; install it, or set CHORUS_HEAP=host"),
    ({}, ["1:major=7", "1:image_error=209"],
     rf"heap on GPUs: {HOST_1}GPU 1 \(fake 1, sm_70\) does not run this library's kernels, which are for .*; build with "
     "-Dgpu_archs=sm_70, or set CHORUS_HEAP=host"),
    ({}, ["1:has_no_addresses=1"],
     rf"heap on GPUs: {HOST_1}reserving addresses \(lower CHORUS_HEAP_MAX\) of \d+ bytes on GPU 1 \(fake 1\) failed: out of memory"),
    ({}, ["1:CHORUS_HEAP=host"], f"the heap asked for is host on PE 1 and cuda on PE 0; {DIFFER}"),
    ({}, ["0:CHORUS_HEAP=host"], f"the heap asked for is cuda on PE 1 and host on PE 0; {DIFFER}"),
    ({}, ["1:CHORUS_HEAP=auto"], f"the heap asked for is auto on PE 1 and cuda on PE 0; {DIFFER}"),
]
# What differs between PEs, and does not matter: the job starts, and puts arrive.
SERVED = [
    ({}, []),
    ({}, ["1:major=8", "1:memory_bytes=536870912", "1:granule_bytes=4194304", "0:multiprocessors=8"]),
    ({"CHORUS_FABRIC": "1"}, ["1:CHORUS_P2P=0"]),
    ({"CHORUS_HEAP": "auto"}, ["1:n_devices=0"]),
]


def run(variables, wrong, start):
    """Returns the status, what was printed by others than chorusrun, and what each PE wrote."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([chorusrun, "-n", "2", "--timeout", "50", *start, program, folder, *wrong], env=CLEAN | GPUS | variables,
                              text=True, timeout=60, capture_output=True, check=False)
        printed = [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith("chorusrun: ")]
        return done.returncode, printed, [(path.read_text() if (path := Path(folder) / str(pe)).exists() else None) for pe in range(2)]


def check(case, found, status, message):
    got, printed, told = found
    if (got, printed) != (status, []) or told[0] != told[1] or not re.fullmatch(message, told[0] or "", re.S):
        faults.append(f"{case}: status {got}, printed {printed}, expected '{message}', the PEs say {told}")


for variables, wrong, message in REFUSED:
    check((variables, wrong), run(PRETENDED | variables, wrong, []), 9, rf"-\d chorus_init: {message}\n")
for variables, wrong in SERVED:
    check((variables, wrong), run(PRETENDED | variables, wrong, []), 0, "0 right\n")
# Hosts that chorusrun names.
named = run({"CHORUS_NODE": ""}, ["1:n_devices=0", "0:CHORUS_NODE=a", "1:CHORUS_NODE=b"], ["--hosts", "a:1,b:1", "--launcher", launcher])
check("--hosts", named, 9, r"-6 chorus_init: heap on GPUs: PE 1 on host b: no GPU here, .*\n")

print("\n".join(faults) or f"{len(REFUSED)} refused, {len(SERVED)} served")
sys.exit(1 if faults else 0)
