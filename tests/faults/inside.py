#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls inside kernels while a PE is killed or stopped, or strangers send bytes: do they end, or go on, as they must?

    inside.py FAULTS_GPU_PE FAULT [REACH] [MOMENT...]

Two PEs with heaps on GPUs, which are fakes, make calls inside kernels to each other, by threads in
place of lanes (gpu_inside.h). REACH is far, on two hosts, or beside, on one host without access of the
GPUs to each other; else both are tried. A MOMENT is one of gpu_inside.h, with or without "inside_";
else all are. The FAULT kill or stop befalls PE 1. The calls of PE 0 must end in the time that
docs/reliability.md promises, and chorusx_stream_synchronize must name PE 1. After that PE 0 frees its
memory, calls chorus_finalize, and leaves nothing allocated, mapped or registered. A stopped PE that goes
on then must end, too. The FAULT strangers are connections to all ports on which the PEs listen, which
send random bytes and stay: the calls go on.
"""
import contextlib
import itertools
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from ports import free_port, listeners  # pylint: disable=wrong-import-position

MOMENTS = {"get": "get", "amo": "atomic", "put": "put", "quiet": "quiet", "full": "put", "wait": "wait"}  # and the call that waits
REACHES = {
    "far": {"CHORUS_TRANSPORT": "mapped,tcp", "CHORUS_FABRIC": "0"},
    "beside": {"CHORUS_P2P": "0"},
}
TIMEOUT_S = 1.0  # CHORUS_TIMEOUT where a PE is stopped
LONG_S = 30.0  # and where it is killed
SETTLE_S = 1.0  # in which a network that works is done with what was posted (transport/settle.c)
DOUBT_S = 0.5  # in which the control plane may name the PE that was lost before a link names one (transport/progress.c)
KILLED_S = 1.0  # in which a killed PE is noticed
LEAVE_S = 3 * (TIMEOUT_S + 2.0)  # at most: calls that wait for a stopped PE
STOPPED_S = 0.1
START_S = 20.0
SLACK_S = 0.5  # of a machine with other work
FAILED = 9  # what a PE exits with whose call has failed, and that has left nothing behind
STRANGERS_BYTES = [1, 60, 5000]  # of those that connect to each port: less than a hello and more
HARMLESS_S = DOUBT_S + 0.3  # after which a failure of the network would have been reported


class WrongError(Exception):
    """What was seen is not what must be."""


class LateError(WrongError):
    """It was not seen in time."""


def require(condition, text):
    if not condition:
        raise WrongError(text)


class Pe:
    """A process, and what it writes, with the time at which each line came."""

    def __init__(self, command, env):
        self.child = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        os.set_blocking(self.child.stdout.fileno(), False)
        self.lines, self.rest = [], b""

    def read(self):
        data = self.child.stdout.read()
        if not data:
            return
        *lines, self.rest = (self.rest + data).split(b"\n")
        self.lines += [(time.monotonic(), line.decode(errors="replace")) for line in lines]

    def text(self):
        return "\n".join(line for _, line in self.lines)

    def wait_for(self, pattern, until):
        """The time at which a line came that matches."""
        while True:
            is_over = self.child.poll() is not None
            self.read()
            found = [at for at, line in self.lines if re.search(pattern, line)]
            if found:
                return found[0]
            require(not is_over, f"it has ended without '{pattern}':\n{self.text()}")
            if time.monotonic() > until:
                raise LateError(f"no '{pattern}' in time:\n{self.text()}")
            time.sleep(0.002)

    def end(self, until):
        while self.child.poll() is None:
            self.read()
            if time.monotonic() > until:
                raise LateError(f"it has not ended in time:\n{self.text()}")
            time.sleep(0.002)
        self.read()
        return self.child.returncode

    def close(self):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        self.child.stdout.close()


def start(program, reach, moment, timeout_s, folder):
    env = {k: v for k, v in os.environ.items() if not k.startswith("CHORUS_")}
    env |= {"CHORUS_HEAP": "cuda", "CHORUS_SYNC_MAX": "64M", "CHORUS_HEAP_MAX": "256M", "CHORUS_CTAS": "2", "CHORUS_LOG": "none",
            "CHORUS_TIMEOUT": str(timeout_s), "TMPDIR": folder, "XDG_RUNTIME_DIR": folder, "WORLD_SIZE": "2",
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())} | REACHES[reach]
    return [Pe([program, "leave", f"inside_{moment}"],
               env | {"RANK": str(pe), "CHORUS_NODE": f"host{pe if reach == 'far' else 0}"}) for pe in range(2)]


def be_strangers(pes):
    """Connect to all ports, and send bytes; the calls go on meanwhile."""
    ports = {port for pe in pes for _, port in listeners(pe.child.pid)}
    require(len(ports) > 1, f"the PEs listen on {ports} alone")
    with contextlib.ExitStack() as stack:
        for port, count in itertools.product(sorted(ports), STRANGERS_BYTES):
            with contextlib.suppress(OSError):  # the other end may close at once
                sock = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=1))
                sock.sendall(random.randbytes(count))
        time.sleep(HARMLESS_S)
    require_calls(pes)
    return f"{len(ports)} ports"


def require_calls(pes):
    for pe in pes:
        pe.read()
        require(pe.child.poll() is None and len(pe.lines) == 1, f"a call has failed:\n{pe.text()}")


def strike(fault, pe):
    """A PE that is killed is stopped before, so that the calls of the other one wait for it then."""
    os.kill(pe.child.pid, signal.SIGSTOP)
    if fault == "kill":
        time.sleep(STOPPED_S)
        os.kill(pe.child.pid, signal.SIGKILL)
    return time.monotonic()


def watch(fault, moment, pes):
    """The fault, and what PE 0 does then; in words."""
    late_s = TIMEOUT_S + DOUBT_S if fault == "stop" else KILLED_S
    at = strike(fault, pes[1])
    ended = pes[0].wait_for(rf"^call \d+ of thread \d, {MOMENTS[moment]}, failed$", at + late_s + SLACK_S) - at
    told = pes[0].wait_for(r"^PE 0: ", at + late_s + SETTLE_S + SLACK_S) - at
    status = pes[0].end(at + late_s + SETTLE_S + LEAVE_S)
    left = time.monotonic() - at
    text = pes[0].text()
    is_named = fault == "kill" or moment != "wait"  # who should set a word is not known
    require(re.search("^PE 0: a call in a kernel of the program failed" + (r".*\bPE 1\b" if is_named else ""), text, re.M),
            f"PE 1 is not named:\n{text}")
    require(status == FAILED, f"status {status}:\n{text}")
    if fault == "stop":
        os.kill(pes[1].child.pid, signal.SIGCONT)
        status = pes[1].end(time.monotonic() + KILLED_S + LEAVE_S)
        require(status == FAILED, f"PE 1 has status {status}:\n{pes[1].text()}")
    return f"calls ended after {ended:.2f} s, told after {told:.2f}, left after {left:.2f}"


def try_one(program, fault, reach, moment):
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        pes = start(program, reach, moment, TIMEOUT_S if fault == "stop" else LONG_S, folder)
        for pe in pes:
            stack.callback(pe.close)
        for pe in pes:
            pe.wait_for(r"^PE \d is process", time.monotonic() + START_S)
        time.sleep(random.uniform(0.1, 0.2))
        require_calls(pes)
        return be_strangers(pes) if fault == "strangers" else watch(fault, moment, pes)


def try_twice(*case):
    """Other work may have had the cores when a case was late."""
    try:
        return try_one(*case)
    except LateError:
        return try_one(*case) + ", at the second attempt"


def main():
    program, fault, *rest = sys.argv[1:]
    reaches = [name for name in rest if name in REACHES] or list(REACHES)
    moments = [name.removeprefix("inside_") for name in rest if name not in REACHES] or list(MOMENTS)
    failed = 0
    for reach in reaches:
        for moment in moments:
            try:
                print(f"{fault}, {reach}, {moment}: {try_twice(os.path.abspath(program), fault, reach, moment)}", flush=True)
            except WrongError as error:
                failed += 1
                print(f"FAILED {fault}, {reach}, {moment}: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
