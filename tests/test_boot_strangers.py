#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs with torchrun's variables, and a program on the same host that knows all that is public about them: it cannot
join them, reach their memory, or keep them from starting. Usage: test_boot_strangers.py TORCHRUN_PE CHORUSRUN [CASE...]"""
import hashlib
import os
import pathlib
import resource
import socket
import struct
import subprocess
import sys
import tempfile
import time

from ports import free_port, listeners

PROGRAM, CHORUSRUN = sys.argv[1:3]
WELCOME, STRANGER = 1, 2
NO_MAC = bytes(32)


class Job:
    """PEs on one host, as torchrun starts them; they are started by `start`."""

    def __init__(self, n, master="127.0.0.1", **variables):
        self.n, self.master, self.port, self.pes = n, master, free_port(), {}
        self.run = tempfile.TemporaryDirectory()
        self.env = dict(os.environ, WORLD_SIZE=str(n), LOCAL_WORLD_SIZE=str(n), MASTER_ADDR=master, MASTER_PORT=str(self.port),
                        CHORUS_NODES="2", CHORUS_TRANSPORT="mapped,tcp", CHORUS_TIMEOUT="40", XDG_RUNTIME_DIR=self.run.name)
        self.env.pop("CHORUS_SECRET", None)
        self.env.update(variables)

    def start(self, ranks):
        for rank in ranks:
            self.pes[rank] = subprocess.Popen([PROGRAM], env=dict(self.env, RANK=str(rank), LOCAL_RANK=str(rank)), text=True,
                                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def ready(self):
        """The process and the object's address of each PE, once the job has started."""
        said = {}
        for rank, pe in self.pes.items():
            words = pe.stdout.readline().split()
            assert len(words) == 2, f"PE {rank} did not start: {pe.communicate()[1]}"
            said[rank] = int(words[0]), int(words[1], 16)
        return said

    def end(self):
        """What each PE wrote to standard error; all have ended well, and left no file."""
        self.pes[0].stdin.write("go\n")
        self.pes[0].stdin.flush()
        said = {rank: pe.communicate(timeout=60)[1] for rank, pe in self.pes.items()}
        for rank, pe in self.pes.items():
            assert pe.returncode == 0, f"PE {rank} ended with {pe.returncode}: {said[rank]}"
        assert not list(pathlib.Path(self.run.name).glob("*/*")), "files remain"
        return said

    def public_secret(self):
        """All that a stranger can compute."""
        names = ["", self.master, str(self.port), self.env.get("TORCHELASTIC_RUN_ID", "")]
        return [hashlib.blake2b(b"".join(name.encode() + b"\0" for name in part), digest_size=32).digest()
                for part in (names, names[1:])]


def receive(sock, count):
    """At most count bytes, until the other end closes the connection."""
    data = b""
    while len(data) < count:
        try:
            part = sock.recv(count - len(data))
        except ConnectionResetError:
            break
        if not part:
            break
        data += part
    return data


def connect(host, port):
    sock = socket.create_connection((host, port), 10)
    sock.settimeout(10)
    return sock


def tcp_hello(at, secret, sender, to, n):
    """The answer of a PE's network to a hello with this secret, and the connection."""
    sock = connect(*at)
    nonce, mine = receive(sock, 48)[16:], os.urandom(32)
    said = struct.pack("=4I", sender, to, n, 0)
    mac = hashlib.blake2b(b"chorus tcp hello\0" + nonce + mine + said, key=secret, digest_size=32).digest()
    sock.sendall(b"chorus\n\0" + said + mine + mac)
    return receive(sock, 40), sock


def tree_hello(at, secret, pe, n, job=None):
    """The answer of a node of the tree: its kind and its MAC."""
    sock = connect(*at)
    challenge = receive(sock, 36)
    job = job or hashlib.blake2b(b"job\0", key=secret, digest_size=16).digest()
    hello = challenge[:4] + struct.pack("=5I", 0, 1, pe, n, 0x7ffffffe) + job + os.urandom(32)
    hello += b"stranger".ljust(64, b"\0") + struct.pack("=I", 0) + bytes(8 * 24)
    mac = hashlib.blake2b(challenge[4:] + hello, key=secret, digest_size=32).digest()
    sock.sendall(hello + mac)
    answer = receive(sock, 820)
    sock.close()
    return struct.unpack_from("=I", answer, 4)[0] if len(answer) == 820 else 0, answer[-32:]


def await_root(job, host="127.0.0.1"):
    """Where the root listens, once it does."""
    at = (host, job.port + 1)
    for _ in range(1000):
        with socket.socket() as probe:
            if probe.connect_ex(at) == 0:
                return at
        time.sleep(0.01)
    raise AssertionError(f"nothing listens at {at}")


def outer_address():
    """An address of this host that is not of the loopback; "" if there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect(("192.0.2.1", 9))
        except OSError:
            return ""
        return sock.getsockname()[0]


def refused(at, secret, sender, to, n):
    """A PE's network answers a stranger without a MAC."""
    answer, sock = tcp_hello(at, secret, sender, to, n)
    sock.close()
    assert struct.unpack_from("=I", answer)[0] == STRANGER, "a stranger is welcome"
    assert answer[8:] == NO_MAC, "a stranger received a MAC"


def case_join():
    """While PE 0 waits for PE 1, a stranger comes as PE 1."""
    job = Job(2)
    job.start([0])
    at = await_root(job)
    for secret in job.public_secret() + [bytes(32)]:
        kind, mac = tree_hello(at, secret, 1, 2)
        assert kind not in (1, 2), "a stranger joined the job"
        assert mac in (NO_MAC, b""), "a stranger received a MAC"
    job.start([1])
    job.ready()
    job.end()


def case_memory():
    """A stranger at the port by which PEs of several hosts reach each other's memory."""
    job = Job(2)
    job.start([0, 1])
    said = job.ready()
    for rank, (pid, _) in said.items():
        places = listeners(pid)
        assert len(places) == 1, f"PE {rank} listens at {places}, not for its network alone"
        for secret in job.public_secret() + [bytes(32)]:
            refused(("127.0.0.1", places[0][1]), secret, 1 - rank, rank, 2)
    job.end()


def case_chorusrun():
    """The same for PEs that chorusrun starts on one host: they receive no secret from it."""
    env = dict(os.environ, CHORUS_NODES="2", CHORUS_TRANSPORT="mapped,tcp", CHORUS_TIMEOUT="40")
    with subprocess.Popen([CHORUSRUN, "-n", "2", PROGRAM], env=env, text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as run:
        pids = [int(run.stdout.readline().split()[0]) for _ in range(2)]
        for pid in pids:
            rank = int(pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"CHORUS_PE=")[1].split(b"\0")[0])
            places = listeners(pid)
            refused(("127.0.0.1", places[0][1]), bytes(32), 1 - rank, rank, 2)
            assert [host for host, _ in places] == ["127.0.0.1"], f"a PE on one host listens at {places}"
        run.stdin.write("go\n")
        run.stdin.close()
        assert run.wait(timeout=60) == 0


def case_listen():
    """The root, and then the PEs' networks, listen where the other PEs come from, and at no other address."""
    outer = outer_address()
    masters = [("127.0.0.1", {}), (outer, {}), (outer, {"LOCAL_WORLD_SIZE": "1", "CHORUS_SECRET": "sunshine"})]
    for master, variables in masters if outer else masters[:1]:
        job = Job(2, master=master, **variables)
        job.start([0])
        at = await_root(job, master)
        assert listeners(job.pes[0].pid) == [at], f"the root listens at {listeners(job.pes[0].pid)}, not at {at}"
        job.start([1])
        for rank, (pid, _) in job.ready().items():
            hosts = [host for host, _ in listeners(pid)]
            assert hosts == [master], f"PE {rank} listens at {hosts}, not at {master}"
        job.end()
    job = Job(2, master=outer or "127.0.0.1", CHORUS_NET="lo")
    job.start([0, 1])
    for rank, (pid, _) in job.ready().items():
        hosts = {host for host, _ in listeners(pid)}
        assert hosts and hosts <= {"127.0.0.1", "::1"}, f"with CHORUS_NET=lo, PE {rank} listens at {hosts}"
    job.end()


def case_names():
    """A stranger has taken the names that can be computed before the job starts."""
    job = Job(4)
    taken = []
    for secret in job.public_secret():
        name = hashlib.blake2b(b"job\0", key=secret, digest_size=16).hexdigest()
        for pe in range(4):
            taken.append(socket.socket(socket.AF_UNIX))
            taken[-1].bind(f"\0chorus-{name}-{pe}")
            taken[-1].listen(5)
    job.start(range(4))
    job.ready()
    job.end()
    for sock in taken:
        sock.close()


def case_port():
    """Another program has the port: PE 0 takes another one, unless the user named it or the secret does not tell it."""
    job = Job(3)
    with socket.socket() as other:
        other.bind(("127.0.0.1", job.port + 1))
        other.listen()
        job.start([1, 2, 0])
        job.ready()
        job.end()
        for variable in ("CHORUS_SECRET", "CHORUS_PORT"):
            alone = Job(2, CHORUS_TIMEOUT="3", **{variable: str(job.port + 1)})
            alone.port = job.port
            alone.env["MASTER_PORT"] = str(job.port)
            alone.start([0])
            said = alone.pes[0].communicate(timeout=60)[1]
            assert alone.pes[0].returncode != 0 and f"cannot listen on port {job.port + 1}" in said, said


def case_twins():
    """A second job by the same names, while the first one starts: its PE 0 says so at once, and takes no part."""
    first = Job(2)
    first.start([0])
    for _ in range(1000):
        if list(pathlib.Path(first.run.name).glob("*/*.sock")):
            break
        time.sleep(0.01)
    second = Job(2)
    second.env.update(MASTER_PORT=str(first.port), XDG_RUNTIME_DIR=first.run.name)
    second.start([0])
    said = second.pes[0].communicate(timeout=20)[1]
    assert second.pes[0].returncode != 0 and "PE 0 of another job with the same MASTER_ADDR" in said, said
    first.start([1])
    first.ready()
    first.end()


def case_key():
    """One of many PEs computes the password hash; two jobs at a time have keys of their own."""
    jobs = [Job(8, CHORUS_SECRET="sunshine", CHORUS_LOG="info") for _ in range(2)]
    for job in jobs:
        job.start(range(job.n))
    for job in jobs:
        job.ready()
        said = "".join(job.end().values())
        assert said.count("derived the job's key") == 1, said


def case_warning():
    """PEs that may be on several hosts, without CHORUS_SECRET: one of them warns."""
    for variables, count in (({}, 1), ({"CHORUS_SECRET": "sunshine"}, 0)):
        job = Job(3, master=socket.gethostname(), LOCAL_WORLD_SIZE="1", **variables)
        job.start(range(job.n))
        job.ready()
        said = job.end()
        assert [text.count("warn: CHORUS_SECRET is not set") for text in said.values()] == [count, 0, 0], said


def case_flood():
    """Connections that say nothing take all descriptors of a PE: the job goes on, and says so once."""
    job = Job(2)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (40, most[1]))
    job.start(range(2))
    resource.setrlimit(resource.RLIMIT_NOFILE, most)
    flood = [connect(*at) for pid, _ in job.ready().values() for at in listeners(pid) for _ in range(100)]
    assert len(flood) >= 200
    time.sleep(0.5)
    said = "".join(job.end().values())
    assert len(said) < 2000 and said.count("no descriptor is left") <= 2, said
    for sock in flood:
        sock.close()


CASES = {name[5:]: case for name, case in list(globals().items()) if name.startswith("case_")}

if __name__ == "__main__":
    for chosen in sys.argv[3:] or CASES:
        print(chosen, flush=True)
        CASES[chosen]()
