#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""chorus-info links: each PE's way to each other, and why the other ways were not taken; networks that
cannot be are refused alike on all PEs.

Usage: test_tools_links.py CHORUSRUN CHORUS_INFO
"""
import os
import re
import subprocess
import sys

PES = 4
TCP = r"tcp: \S+ port \d+ by \S+, as this host's routing table selects"
MAPPED = "mapped: shared memory, by load and store"
# (environment, status, lines that must be there, in the order of the transports and of PEs)
CASES = [
    ({}, 0, ["yes: mapped   peers of the same host", "no:  verbs    no peer is on another host",
             "no:  tcp      no peer is on another host", f"PE 0 to PE 1-3 on this host, {MAPPED}",
             f"PE 1 to PE 0 on this host, {MAPPED}", f"PE 1 to PE 2-3 on this host, {MAPPED}"]),
    ({"CHORUS_NODES": "2", "CHORUS_TRANSPORT": "^verbs"}, 0,
     ["no:  verbs    CHORUS_TRANSPORT excludes it", r"no:  ofi      .*lib(rary|fabric).*", "yes: tcp      peers of other hosts",
      f"PE 0 to PE 1 on pretended-0, {MAPPED}",
      f"PE 0 to PE 2 on pretended-1, {TCP}", f"PE 3 to PE 1 on pretended-0, {TCP}", f"PE 3 to PE 2 on pretended-1, {MAPPED}"]),
    ({"CHORUS_TRANSPORT": "tcp"}, 0,
     ["no:  mapped   CHORUS_TRANSPORT excludes it", "yes: tcp      peers of other hosts", f"PE 2 to PE 3 on this host, {TCP}"]),
    ({"CHORUS_NODES": "2", "CHORUS_TRANSPORT": "mapped"}, 1,
     [r"chorus-info: chorus_init: no network reaches the PEs of other hosts: none is allowed; CHORUS_TRANSPORT is \"mapped\""]),
]
# What a job is not started with: every PE says the same.
NO_OFI = "this library was built without libfabric|libfabric.so"
REFUSED = [
    ({"CHORUS_TRANSPORT": "verbs", "CHORUS_VERBS": "none0"}, "this host has no RDMA device|built without libibverbs"),
    ({"CHORUS_TRANSPORT": "ofi", "FI_PROVIDER": "^ofi_rxm,ofi_rxd,shm,sockets,net,sm2"},
     f"no provider has reliable datagrams with messages in order and remote memory access|{NO_OFI}"),
    ({"CHORUS_TRANSPORT": "ofi", "CHORUS_NET": "none0"}, f'CHORUS_NET is "none0"; expected a domain of a provider|{NO_OFI}'),
    ({"CHORUS_TRANSPORT": "tcp", "CHORUS_NET": "none0"}, 'CHORUS_NET is "none0"; expected a network interface that is up .*: lo'),
    ({"CHORUS_TRANSPORT": "loop"}, 'unknown name "loop"'),
    ({"CHORUS_TRANSPORT": "tpc"}, 'CHORUS_TRANSPORT is "tpc" with the unknown name "tpc"; expected names of mapped verbs ofi tcp'),
]


def run(chorusrun, environment, pes, *command):
    environ = {name: value for name, value in os.environ.items() if name not in ("CHORUS_TRANSPORT", "CHORUS_NODES")}
    done = subprocess.run([chorusrun, "-n", str(pes), "--timeout", "50", *command], capture_output=True, text=True, timeout=60,
                          check=False, env={**environ, **environment})
    return done.returncode, done.stdout + done.stderr


def check_refused(chorusrun, info, environment, says):
    """The shell ends with 0, so that no PE is ended before it has said why."""
    pes = 3
    _, said = run(chorusrun, environment, pes, "sh", "-c", f"{info} links 2>&1; true")
    lines = said.splitlines()
    if len(lines) == pes and len(set(lines)) == 1 and re.search(f"^chorus-info: .*({says})", lines[0]):
        return True
    print(f"{environment}: not {pes} times alike '{says}':\n{said}")
    return False


def check(chorusrun, info, environment, status, lines):
    found, said = run(chorusrun, environment, PES, info, "links")
    wrong = [line for line in lines if not re.search(f"^{line}$", said, re.M)]
    if found == status and not wrong:
        return True
    print(f"{environment}: status {found}, expected {status}; not there: {wrong}\n{said}")
    return False


sys.exit(not all([check(sys.argv[1], sys.argv[2], *case) for case in CASES] +
                 [check_refused(sys.argv[1], sys.argv[2], *case) for case in REFUSED]))
