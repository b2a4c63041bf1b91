#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""chorus-info links: one table of each PE's way to each other, with the reasons, and why other ways were not taken;
networks that cannot be are refused alike on all PEs.

Usage: test_tools_links.py CHORUSRUN CHORUS_INFO INFO_WITH_LOOP [INFO_ON_FAKE_GPUS]
"""
import json
import os
import re
import subprocess
import sys

PES = 4
HEADING = "PE PEER HOST CLASS LINK VIA WHY".split()
TCP = r"\S+ port \d+ by \S+, as this host's routing table selects"
MAPPED = ("this host", "mapped", "mapped", "shared memory", "same host")
NEAR = ("near", "cuda", "memory of its GPU", r"peer access \(NVLink\)")
PRETENDED = "CHORUS_NODES pretends another host"


def by_tcp(host, why, name="network"):
    return (f"pretended-{host}" if host is not None else "this host", name, "tcp", TCP, why)


def on_two(pe, peer):
    """The way between PEs of two pretended hosts."""
    half = PES // 2
    if pe // half == peer // half:
        return (f"pretended-{peer // half}", *MAPPED[1:])
    return by_tcp(peer // half, PRETENDED)


def on_two_with_gpus(pe, peer):
    if pe // 2 == peer // 2:
        return (f"pretended-{peer // 2}", *NEAR)
    return (f"pretended-{peer // 2}", "far", "staged", r"staged \(tcp registers no GPU memory\) over tcp: " + TCP, PRETENDED)


def on_named_with_gpus(pe, peer):
    """By fabric handles, between hosts that CHORUS_NODE names."""
    why = "peer access \\(NVLink\\)" if pe // 2 == peer // 2 else "fabric handle \\(multi-node NVLink\\)"
    return (f"node-{peer // 2}", "near", "cuda", "memory of its GPU", why)


def on_named_far(pe, peer):
    if pe // 2 == peer // 2:
        return (f"node-{peer // 2}", *NEAR)
    return (f"node-{peer // 2}", "far", "staged", r"staged \(tcp registers no GPU memory\) over tcp: " + TCP, "CHORUS_NODE names another host")


def on_two_with_adapter(pe, peer):
    """A network that accesses GPU memory."""
    if pe // 2 == peer // 2:
        return (f"pretended-{peer // 2}", *NEAR)
    return (f"pretended-{peer // 2}", "far", "staged", "GPU memory is registered with tcp: " + TCP, PRETENDED)


def by_loop(*_):
    return ("this host", "network", "loop", "memory of this host, by a queue", "CHORUS_TRANSPORT selects a network")


# (environment, lines about transports in their order, the way from one PE to another: host, class, link, via, why)
CASES = [
    ({}, ["yes: mapped   peers of the same host", "no:  verbs    no peer is on another host",
          "no:  tcp      no peer is on another host"], lambda *_: MAPPED),
    ({"CHORUS_NODES": "2", "CHORUS_TRANSPORT": "^verbs"},
     ["no:  verbs    CHORUS_TRANSPORT excludes it", r"no:  ofi      .*lib(rary|fabric).*", "yes: tcp      peers of other hosts"], on_two),
    ({"CHORUS_TRANSPORT": "tcp"}, ["no:  mapped   CHORUS_TRANSPORT excludes it", "yes: tcp      peers of other hosts"],
     lambda *_: by_tcp(None, "CHORUS_TRANSPORT selects a network")),
]
WITH_LOOP = ({"CHORUS_TRANSPORT": "loop"}, ["no:  mapped   CHORUS_TRANSPORT excludes it", "yes: loop     peers of other hosts"], by_loop)
ON_GPUS = {"CHORUS_HEAP": "cuda", "CHORUS_SYNC_MAX": "64M", "CHORUS_CTAS": "4", "CHORUS_CHUNK": "4K"}
WITH_GPUS = [
    (ON_GPUS, ["yes: cuda     near peers", "no:  tcp      no peer is on another host"], lambda *_: ("this host", *NEAR)),
    ({**ON_GPUS, "CHORUS_NODES": "2", "CHORUS_TRANSPORT": "^verbs,ofi"}, ["yes: cuda     near peers", "yes: tcp      peers of other hosts"],
     on_two_with_gpus),
    ({**ON_GPUS, "CHORUS_NODES": "2", "CHORUS_TRANSPORT": "mapped,adapter"}, ["yes: cuda     near peers"], on_two_with_adapter),
]
# Each PE is given its host and its GPU.
NAMED = "CHORUS_NODE=node-$((CHORUS_PE / 2)) FAKE_GPU=$CHORUS_PE"
ON_NAMED = {**ON_GPUS, "CHORUS_TRANSPORT": "^verbs,ofi"}
WITH_NAMED = [
    (ON_NAMED, ["yes: cuda     near peers", "yes: tcp      peers of other hosts"], on_named_with_gpus),
    ({**ON_NAMED, "CHORUS_FABRIC": "0"}, ["yes: cuda     near peers", "yes: tcp      peers of other hosts"], on_named_far),
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
    ({"CHORUS_NODES": "2", "CHORUS_TRANSPORT": "mapped"},
     'no network reaches the PEs of other hosts: none is allowed; CHORUS_TRANSPORT is "mapped"'),
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


def rows_of(said):
    """The lines before the one table of a text, and its rows as lists of cells."""
    lines = said.splitlines()
    headings = [i for i, line in enumerate(lines) if line.split() == HEADING]
    if len(headings) != 1:
        return lines, []
    return lines[:headings[0]], [re.split(" {2,}", line) for line in lines[headings[0] + 1:]]


def pairs_in_order(pes):
    return [(pe, peer) for pe in range(pes) for peer in range(pes) if pe != peer]


def fits(cells, pe, peer, way):
    return cells[:2] == [str(pe), str(peer)] and re.fullmatch("  ".join(way), "  ".join(cells[2:])) is not None


def check(chorusrun, info, environment, kinds, way, each=""):
    status, said = run(chorusrun, environment, PES, "sh", "-c", f"{each} exec {info} links")
    before, rows = rows_of(said)
    missing = [line for line in kinds if not any(re.fullmatch(line, other) for other in before)]
    wrong = [cells for cells, (pe, peer) in zip(rows, pairs_in_order(PES)) if not fits(cells, pe, peer, way(pe, peer))]
    if status == 0 and not missing and not wrong and len(rows) == PES * (PES - 1):
        return True
    print(f"{environment}: status {status}; not there: {missing}; wrong: {wrong}\n{said}")
    return False


def check_json(chorusrun, info):
    """The same as JSON."""
    _, said = run(chorusrun, {"CHORUS_NODES": "2", "CHORUS_TRANSPORT": "tcp,mapped"}, PES, info, "links", "--json")
    found = json.loads(said)
    links = found["links"]
    used = [kind["name"] for kind in found["transports"] if kind["used"]]
    pairs = [(link["pe"], link["peers"][0]) for link in links]
    good = [re.fullmatch("  ".join(on_two(*pair)), "  ".join(link[name] for name in ("host", "class", "link", "via", "why")))
            for pair, link in zip(pairs, links)]
    if pairs == pairs_in_order(PES) and all(good) and used == ["mapped", "tcp"]:
        return True
    print(f"--json: {said}")
    return False


def check_many(chorusrun, info):
    """Peers that are reached alike share a row if there are many."""
    pes = 18
    _, said = run(chorusrun, {"CHORUS_NODES": "2", "CHORUS_TRANSPORT": "mapped,tcp"}, pes, info, "links")
    _, rows = rows_of(said)
    peers = [cells[1] for cells in rows if cells[0] == "1" and cells[3] == "mapped"]
    first = [(int(cells[0]), int(cells[1].split("-")[0])) for cells in rows]
    if peers == ["0", "2-8"] and first == sorted(first) and {pe for pe, _ in first} == set(range(pes)):
        return True
    print(f"{pes} PEs: {said}")
    return False


def check_alone(info):
    """A job of one PE has no table."""
    done = subprocess.run([info, "links"], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode == 0 and done.stdout.endswith("\nPE 0 has no peers: this is a job of one PE\n") and not rows_of(done.stdout)[1]:
        return True
    print(f"one PE: {done.stdout}{done.stderr}")
    return False


def check_place(chorusrun, info):
    """The log says where the progress thread of each PE runs: near its GPU, if hwloc knows that and there are cores enough."""
    machine = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden", "two_packages.xml")
    environment = {**ON_GPUS, "CHORUS_NODES": "2", "CHORUS_TRANSPORT": "mapped,tcp", "CHORUS_LOG": "debug", "HWLOC_XMLFILE": machine}
    good = True
    for spare, where in (("0-3", "2-3, near GPU 0000:1[01]:00.0"), ("0-2", "0-2: hwloc finds no GPU 0000:1[01]:00.0, or too few")):
        status, said = run(chorusrun, environment, 2, "sh", "-c", f"CHORUS_SPARE={spare} exec {info} links")
        found = re.findall(f"the progress thread runs on (?:the hardware threads )?{where}", said)
        if status != 0 or len(found) != 2:
            print(f"CHORUS_SPARE={spare}: status {status}, {len(found)} of 2 lines with '{where}':\n{said}")
            good = False
    return good


def check_flush(chorusrun, info):
    """GPUs of the test order writes of adapters for themselves alone: PEs with near peers flush them."""
    environment = {**ON_GPUS, "CHORUS_NODES": "2", "CHORUS_TRANSPORT": "mapped,adapter", "CHORUS_LOG": "debug"}
    good = True
    for pes, flushes in ((2, 0), (4, 4)):
        status, said = run(chorusrun, environment, pes, info, "links")
        found = re.findall(r"adapter accesses GPU memory(, and this PE flushes it)?$", said, re.MULTILINE)
        if status != 0 or len(found) != pes or sum(part != "" for part in found) != flushes:
            print(f"{pes} PEs: status {status}, {found}; expected {flushes} that flush:\n{said}")
            good = False
    return good


def main(chorusrun, info, with_loop, on_gpus=None):
    good = [check(chorusrun, info, *case) for case in CASES] + [check(chorusrun, with_loop, *WITH_LOOP)]
    good += [check_refused(chorusrun, info, *case) for case in REFUSED]
    good += [check_json(chorusrun, info), check_many(chorusrun, info), check_alone(info)]
    if on_gpus is not None:
        good += [check(chorusrun, on_gpus, *case) for case in WITH_GPUS]
        good += [check(chorusrun, on_gpus, *case, NAMED) for case in WITH_NAMED]
        good += [check_place(chorusrun, on_gpus)]
        good += [check_flush(chorusrun, on_gpus)]
    return 0 if all(good) else 1


sys.exit(main(*sys.argv[1:]))
