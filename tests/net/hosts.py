# SPDX-License-Identifier: Apache-2.0
"""Network namespaces that stand for hosts: two joined by a veth pair, more by a bridge.

    with Hosts(2) as hosts:
        hosts.run(0, ["ping", "-c1", hosts.addresses[1]])

Each has a loopback of its own and one interface, LINK. Names begin with ch and the number of the
process that made them. All are removed at the end of the block, with the processes inside, and so
are those that a killed process left behind.
"""
import os
import re
import shutil
import signal
import subprocess
import time

LINK = "veth"
SUBNET = "10.86.21"
COMMAND_S = 20


class CannotError(Exception):
    """This machine cannot make network namespaces; the text says why."""


def ip(*arguments):
    done = subprocess.run(["ip", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=COMMAND_S, check=False)
    if done.returncode != 0:
        raise CannotError(f"ip {' '.join(arguments)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def remove(name):
    for _ in range(3):  # what a process starts while others are killed is found by the next look
        for pid in map(int, ip("netns", "pids", name).split()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
    ip("netns", "del", name)


def is_left_behind(name):
    match = re.fullmatch(r"ch(\d+)[a-z]", name)
    return match and not os.path.exists(f"/proc/{match[1]}")


def remove_left_behind():
    for line in ip("netns", "list").splitlines():
        name = line.split()[0]
        if is_left_behind(name):
            remove(name)


class Hosts:
    def __init__(self, n):
        self.n = n
        self.names = [f"ch{os.getpid()}{letter}" for letter in "abcdefghij"[:n]]
        self.addresses = [f"{SUBNET}.{i + 1}" for i in range(n)]
        self.switch = f"ch{os.getpid()}z"
        self.made = []

    def __enter__(self):
        if shutil.which("ip") is None:
            raise CannotError("no program ip (Debian package iproute2)")
        if os.geteuid() != 0:
            raise CannotError("network namespaces are made by root alone")
        # SIGTERM and SIGHUP end the block as SIGINT does.
        for signo in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(signo, lambda signo, frame: exit(128 + signo))
        try:
            remove_left_behind()
            self.make()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_):
        self.remove()

    def make(self):
        for name in self.names + ([self.switch] if self.n > 2 else []):
            ip("netns", "add", name)
            self.made.append(name)
            ip("-n", name, "link", "set", "lo", "up")
        if self.n == 2:
            ip("-n", self.names[0], "link", "add", LINK, "type", "veth", "peer", "name", LINK,
               "netns", self.names[1])
        elif self.n > 2:
            self.make_bridge()
        for name, address in zip(self.names, self.addresses):
            if self.n > 1:
                ip("-n", name, "address", "add", f"{address}/24", "dev", LINK)
                ip("-n", name, "link", "set", LINK, "up")

    def make_bridge(self):
        ip("-n", self.switch, "link", "add", "bridge", "type", "bridge")
        ip("-n", self.switch, "link", "set", "bridge", "up")
        for i, name in enumerate(self.names):
            ip("-n", self.switch, "link", "add", f"port{i}", "type", "veth", "peer", "name", LINK,
               "netns", name)
            ip("-n", self.switch, "link", "set", f"port{i}", "master", "bridge", "up")

    def remove(self):
        old = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
        while self.made:
            remove(self.made.pop())
        signal.pthread_sigmask(signal.SIG_SETMASK, old)

    def inside(self, i, command):
        """The command that runs `command` on host i."""
        return ["ip", "netns", "exec", self.names[i], *map(str, command)]

    def chorusrun(self, program, pes):
        """The command that runs chorusrun on host 0 for so many PEs, as many on each host."""
        places = ",".join(f"{name}:{pes // self.n}" for name in self.names)
        return self.inside(0, [program, "-n", pes, "--hosts", places, "--launcher", "ip netns exec"])

    def pids(self, i):
        return [int(pid) for pid in ip("netns", "pids", self.names[i]).split()]

    def set_link(self, i, state):
        ip("-n", self.names[i], "link", "set", LINK, state)

    def wait_for_links(self):
        """A link that was just set up does not carry at once."""
        until = time.monotonic() + COMMAND_S
        for i in range(self.n):
            while "LOWER_UP" not in ip("-n", self.names[i], "link", "show", LINK):
                if time.monotonic() > until:
                    raise CannotError(f"the link of {self.names[i]} does not come up")
                time.sleep(0.01)
