# SPDX-License-Identifier: Apache-2.0
"""Ports of TCP: those that a job of a test may take, and those on which a process listens."""
import contextlib
import os
import pathlib
import random
import socket
import struct

LISTEN = "0A"  # as /proc/net/tcp has it


def free_port():
    """Of two successive ports that are free: torchrun's own, and that of the root. Both are below those
    that the kernel gives to connections, such as those of other tests."""
    while True:
        port = random.randrange(10000, 32767)
        with socket.socket() as first, socket.socket() as second, contextlib.suppress(OSError):
            first.bind(("127.0.0.1", port))
            second.bind(("127.0.0.1", port + 1))
            return port


def listeners(pid):
    """(address, port) at which a process listens over TCP."""
    own = set()
    for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            own.add(os.readlink(fd))
        except FileNotFoundError:
            pass
    found = []
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        path = pathlib.Path(f"/proc/{pid}/net/{table}")
        for line in path.read_text().splitlines()[1:] if path.exists() else []:
            words = line.split()
            if words[3] != LISTEN or f"socket:[{words[9]}]" not in own:
                continue
            ip, port = words[1].split(":")
            raw = b"".join(struct.pack("=I", int(ip[i:i + 8], 16)) for i in range(0, len(ip), 8))
            found.append((socket.inet_ntop(family, raw), int(port, 16)))
    return found
