#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs in which a fault befalls a PE at a random moment: do they end as they must?

    faults.py CHORUSRUN FAULTS_PE [--gpus FAULTS_GPU_PE] [--seeds A..B] [--jobs N] [--only-gpus]
        [--fault F] [--moment M] [-v]

A seed says which fault, which PE, in what call and when, and where the PEs are: on one host, as
processes or threads, or on 2 to 4 hosts (CHORUS_NODES) that tcp or ofi connects. The launcher watches
all PEs, so a fault must lead to the same on several hosts as on one, in the same time. Without
libfabric tcp is used where ofi was drawn. With --gpus there are also PEs on 1 to 3 hosts whose heaps
are on GPUs, which are fakes; those of one host, and some others, have no access to each other's GPUs. No launcher watches them: those that are left must end by themselves, name
the PE, and undo all that they allocated, mapped and registered. Each run must end within a second of
the fault (of the deadline where a PE stands still), with the status and the name of the PE that
the fault calls for, and leave no process, no zombie, no name in /dev/shm and no file. A run
that is late is done again alone, since other work may have had the cores, and fails if it is
late again. The table at the end has the times of first runs, and the last line the number of
runs of each kind.
"""
import argparse
import collections
import ctypes
import dataclasses
import json
import os
import pathlib
import random
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import traceback

LATE_S = 1.0  # after the fault, or the deadline
DEADLINE_S = 1.0  # CHORUS_TIMEOUT where a PE stands still; the others must not need theirs
LONG_S = 30.0
GIVE_UP_S = 8.0  # a run that takes so long hangs
JOB_S = 3.0  # --timeout where a PE may stand still outside the job
SLEEP_S = 1.5  # of the fault of this name
START_S = 3.0  # CHORUS_TIMEOUT of a start on gpus, which a PE may not reach
PROBE_NS = 10**15  # a fault that never comes
GOES_ON_S = 2.0  # a job that lives through a fault has the rest of its work to do
PR_SET_CHILD_SUBREAPER = 36

# A deadline that is short for the fault may pass earlier on a busy machine.
BEFORE = "the job failed before the fault"
HANGS = "has not ended after"

MOMENTS = ["start", "growth", "team", "quiet_barrier", "barrier", "broadcast", "fcollect", "alltoall",
           "reduce", "reducescatter", "stream", "wait", "finalize"]
FAILED = 9  # what a PE exits with whose call failed
BY_HANDLER = 1  # or whose call has no code
TIMED_OUT = 124  # chorusrun --timeout


@dataclasses.dataclass
class Kind:
    """What a fault must lead to."""
    statuses: tuple  # of chorusrun, or of the process where PEs are threads
    says: str = ""  # on standard error; {pe} is the number
    after_s: float = 0.0  # from the fault to where the second begins
    timeout_s: float = LONG_S
    also: tuple = ()  # statuses for which nothing need be said


def killed(signo):
    return Kind((128 + signo,), rf"PE {{pe}} \(pid \d+\) was killed by signal {signo} .*ending the job")


# Not leaving is seen at once if the PE had joined; others are told by a failed exchange if not.
GONE = Kind((1, FAILED), r"PE {pe} (\(pid \d+\) )?exited with status 0", also=(0,))
LIMIT = Kind((FAILED, BY_HANDLER, 128 + signal.SIGSEGV, 128 + signal.SIGXFSZ, 128 + signal.SIGBUS),
             r"PE {pe}\b", also=(0,))
# Threads share limits: any of them may notice, and its peers wait for it in a call and at the end.
LIMIT_OF_ALL = Kind((FAILED, BY_HANDLER, -signal.SIGSEGV, -signal.SIGXFSZ, -signal.SIGBUS), r"\bPEs?\b",
                    after_s=2 * DEADLINE_S, timeout_s=DEADLINE_S, also=(0,))
# A PE of another host has tried to connect for a while, and waits for news of chorusrun.
LIMIT_OVER_TCP = dataclasses.replace(LIMIT, after_s=1.0)
# libfabric tells nobody that it found no memory or descriptor for a connection: all wait.
LIMIT_OVER_OFI = dataclasses.replace(LIMIT, says=r"\bPEs? ", after_s=DEADLINE_S + 1.0, timeout_s=DEADLINE_S)
GOES_ON = Kind((0,), after_s=GOES_ON_S)
# It may have been lost after its last use.
LOST = Kind((1, FAILED), r"PE {pe}\b", also=(0,))
LIMITS = ["limit_files", "limit_few_files", "limit_memory", "limit_data", "limit_stack",
          "limit_file_bytes", "limit_locked", "limit_processes"]

PROCESSES = {
    "kill": killed(signal.SIGKILL),
    "segv": killed(signal.SIGSEGV),
    "abort": killed(signal.SIGABRT),
    "quit": Kind((7,), r"PE {pe} \(pid \d+\) exited with status 7;"),
    "exit": Kind((7,), r"PE {pe} \(pid \d+\) exited with status 7;"),
    "orphan": Kind((7,), r"PE {pe} \(pid \d+\) exited with status 7;"),
    "quit0": GONE,
    "exit0": GONE,
    "global_exit": Kind((5,)),
    # A PE that is another program, or has no socket, is lost although its process lives.
    "exec_ends": GONE,
    "exec_lives": dataclasses.replace(LOST, statuses=(*LOST.statuses, TIMED_OUT)),
    "close": LOST,
    "close_std": LOST,
    "stop": Kind((FAILED, BY_HANDLER, TIMED_OUT), r"PE {pe}\b", after_s=DEADLINE_S, timeout_s=DEADLINE_S),
    "pause": GOES_ON,
    "storm": GOES_ON,
    "storm_launcher": GOES_ON,
    "launcher_kill": Kind((-signal.SIGKILL,)),
    "launcher_term": Kind((128 + signal.SIGTERM,), also=(0,)),
} | {name: LIMIT for name in LIMITS}

# In a PE that is lost with its host, any PE of that host may be named.
GPUS = {
    **{name: Kind((FAILED,), r"PE {pe} on host host\d+ was lost", also=(0,)) for name in ("kill", "segv", "abort", "quit")},
    "kill_host": Kind((FAILED,), r"PE \d+ on host host{host} was lost", also=(0,)),
    # What PE 0 does not tell others they wait for two seconds longer.
    "stop": Kind((FAILED,), r"PE {pe}\b", after_s=DEADLINE_S + 3.0, timeout_s=DEADLINE_S, also=(0,)),
    "pause": GOES_ON,
}

THREADS = {
    "kill": Kind((-signal.SIGKILL,)),
    "segv": Kind((-signal.SIGSEGV,)),
    "abort": Kind((-signal.SIGABRT,)),
    "quit": Kind((7,)),
    "exit": Kind((7,)),
    "storm": GOES_ON,
    "close": LIMIT_OF_ALL,
    "close_std": Kind((FAILED,), after_s=2 * DEADLINE_S, timeout_s=DEADLINE_S, also=(0,)),
    # One that stays away, and comes back when the others have given up. The first of these ends the
    # process, and may name one that waits itself.
    "leave": Kind((FAILED, BY_HANDLER), r"PE \d", after_s=DEADLINE_S, timeout_s=DEADLINE_S, also=(0,)),
    "sleep": Kind((FAILED, BY_HANDLER), r"PE \d", after_s=SLEEP_S + DEADLINE_S,
                  timeout_s=DEADLINE_S, also=(0,)),
} | {name: LIMIT_OF_ALL for name in LIMITS}


KINDS = {"processes": PROCESSES, "threads": THREADS, "gpus": GPUS}
GPU_MOMENTS = ["start", "growth", "put", "get", "amo", "wait", "stream_put", "stream_get", "stream_signal", "stream_quiet",
               "inside_get", "inside_amo", "inside_put", "inside_quiet", "inside_full", "inside_wait", "finalize"]


@dataclasses.dataclass
class Case:
    seed: int
    where: str  # processes on one host or several, threads, or gpus
    fault: str
    moment: str
    n: int
    pe: int
    delay_ns: int
    is_tagged: bool  # chorusrun --tag, which forwards what PEs write
    n_hosts: int
    network: str  # between them
    is_beside: bool = False  # gpus of one host have no access to each other

    @property
    def kind(self):
        if self.fault in LIMITS and self.n_hosts > 1:  # no fault of gpus
            return LIMIT_OVER_TCP if self.network == "tcp" else LIMIT_OVER_OFI
        kind = KINDS[self.where][self.fault]
        if self.where != "gpus" or kind is GOES_ON:
            return kind
        if self.moment == "start":  # those that wait for a PE that has not joined may not know its number
            return dataclasses.replace(kind, says="", after_s=START_S + 3.0, timeout_s=START_S)
        if self.fault == "stop" and self.moment in ("wait", "inside_wait"):
            return dataclasses.replace(kind, says=r"PE {pe}\b|the PE that should have set it did not|a call in a kernel")
        return kind

    @property
    def label(self):
        """The kind of run, for reports."""
        if self.where == "gpus":
            return f"gpus, {self.network if self.n_hosts > 1 else 'beside'}"
        return self.network if self.n_hosts > 1 else self.where

    @property
    def host(self):
        """The number of the PE's host; those of processes are numbered otherwise."""
        return self.pe * self.n_hosts // self.n

    @property
    def is_outside(self):
        """May the PE stand still outside the job, so that chorusrun waits for it until --timeout?"""
        return self.where != "gpus" and (self.fault == "stop" and self.moment == "finalize" or
                                         self.fault == "exec_lives" and self.moment in ("start", "finalize"))

    @property
    def patience(self):
        """PEs with GPUs take longer to start."""
        return 2 if self.where == "gpus" else 1

    @property
    def bound_s(self):
        """From the fault to the end."""
        return LATE_S + (JOB_S if self.is_outside else self.kind.after_s)


def delay_of(dice, moment):
    """Starts and ends take milliseconds; calls repeat, so any moment will do."""
    if moment in ("start", "finalize"):
        return dice.randrange(1, 12_000_000 if moment == "start" else 2_000_000)
    return int(10 ** dice.uniform(3, 7))


def deal(choices, seed):
    """One of the choices: as many seeds in a row as there are choices get each of them once."""
    choices = list(choices)
    block, place = divmod(seed, len(choices))
    random.Random(block).shuffle(choices)
    return choices[place]


def hosts_of(dice, n, has_ofi):
    """The number of hosts, and the network between them. Threads take a third of the seeds, so this
    share of the processes leaves about half of all seeds on one host."""
    is_one, n_hosts, network = dice.random() < 0.25, dice.randint(2, min(n, 4)), dice.choice(["tcp", "ofi"])
    if is_one:
        return 1, ""
    return n_hosts, network if has_ofi else "tcp"


def case_of(seed, args):
    dice = random.Random(seed)
    kinds = [(where, fault) for where, faults in KINDS.items() for fault in faults
             if (args.gpus is not None if where == "gpus" else not args.only_gpus)]
    if args.fault is not None:
        kinds = [kind for kind in kinds if kind[1] == args.fault]
    where, fault = deal(kinds, seed)
    moments = GPU_MOMENTS if where == "gpus" else MOMENTS
    if args.moment is not None:
        moments = [name for name in moments if name.startswith(args.moment)]
    moment, n = deal(moments, seed), dice.randint(2, 4 if where == "gpus" else 5)
    pe, delay_ns, is_tagged = dice.randrange(n), delay_of(dice, moment), dice.random() < 0.5
    n_hosts, network = hosts_of(dice, n, args.has_ofi)
    if where == "gpus":
        n_hosts, network = min(n, dice.randint(2 if fault == "kill_host" else 1, 3)), network or "tcp"
    if where == "threads":
        n_hosts, network = 1, ""
    is_beside = where == "gpus" and (n_hosts == 1 or dice.random() < 0.5)
    return Case(seed, where, fault, moment, n, pe, delay_ns, is_tagged, n_hosts, network, is_beside)


def names_left():
    """What a job could leave in the file system. Names of sockets that begin with @ end with the processes."""
    shared = {p.name for p in pathlib.Path("/dev/shm").glob("*chorus*")}
    sockets = {line.split()[-1] for line in open("/proc/net/unix", encoding="ascii", errors="replace")
               if re.search(r" [^@ ]*chorus", line) and not re.search(r"-(random|key)\.sock", line)}  # of torchrun's jobs
    return shared | sockets


def reap_all(until):
    """What is left of this process's children, once all ended or the time has come."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return []
        if pid == 0 and time.monotonic() >= until:
            return pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        if pid == 0:
            time.sleep(0.001)


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().split(")")[0] + ")"
    except OSError:
        return pid


def own_environment():
    return {k: v for k, v in os.environ.items() if not k.startswith("CHORUS_")}


def hosts_environment(n_hosts, network):
    return {"CHORUS_NODES": str(n_hosts), "CHORUS_TRANSPORT": f"mapped,{network}"} if n_hosts > 1 else {}


def can_use_ofi(args):
    """Does a job start in which libfabric connects two hosts?"""
    with tempfile.NamedTemporaryFile() as record:
        record.write(bytes(8))
        record.flush()
        command = [args.chorusrun, "-n", "2", "--timeout", str(LONG_S), args.faults_pe, "pause", "finalize",
                   "0", str(PROBE_NS), "1", record.name]
        job = subprocess.run(command, env=own_environment() | hosts_environment(2, "ofi"),
                             stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return job.returncode == 0


def gpus_environment(case):
    # Without fabric handles, which would make the GPUs of other hosts near.
    access = {"CHORUS_P2P": "0"} if case.is_beside else {}
    return {"CHORUS_HEAP": "cuda", "CHORUS_TRANSPORT": f"mapped,{case.network}", "CHORUS_SYNC_MAX": "64M", "CHORUS_CTAS": "2",
            "CHORUS_FABRIC": "0", "CHORUS_LOG": "none"} | access


def environment(case, folder):
    hosts = gpus_environment(case) if case.where == "gpus" else hosts_environment(case.n_hosts, case.network)
    return own_environment() | hosts | {"CHORUS_TIMEOUT": str(case.kind.timeout_s), "CHORUS_HEAP_STEP": "64K",
                   "CHORUS_HEAP_MAX": "256M", "TMPDIR": str(folder)}


def command_of(args, case, record):
    own = [args.gpus if case.where == "gpus" else args.faults_pe, case.fault, case.moment, str(case.pe), str(case.delay_ns),
           str(case.seed), str(record)]
    if case.where == "threads":
        return own + [str(case.n)]
    if case.where == "gpus":
        return own + [str(case.n), str(case.n_hosts)]
    tag = ["--tag"] if case.is_tagged else []
    timeout = JOB_S if case.is_outside else LONG_S
    return [args.chorusrun, "-n", str(case.n), "--timeout", str(timeout), *tag, *own]


def supervise(args, case, folder):
    """Runs a case as the parent of all that it may leave, and says what came of it."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # of a storm; PEs ignore it from their first moment
    record, output, place = folder / "record", folder / "output", folder / "place"
    record.write_bytes(bytes(8))
    place.mkdir()
    problems = []
    with open(output, "wb") as out:
        job = subprocess.Popen(command_of(args, case, record), stdin=subprocess.DEVNULL, stdout=out,
                               stderr=out, env=environment(case, place), cwd=place)
    try:
        status = job.wait(args.give_up * case.patience)
    except subprocess.TimeoutExpired:
        problems.append(f"{HANGS} {args.give_up * case.patience:g} s")
        job.kill()
        status = job.wait()
    dies_later = status == -signal.SIGKILL  # PEs die after a launcher that is killed
    left = reap_all(time.monotonic() + (LATE_S if dies_later else 0))
    ended_ns = time.monotonic_ns()
    if left:
        problems.append("left behind: " + ", ".join(name_of(pid) for pid in left))
        for pid in left:
            os.kill(int(pid), signal.SIGKILL)
    if os.listdir(place):
        problems.append(f"left files: {os.listdir(place)}")
    if names_left():
        problems.append(f"left names: {names_left()}")
    text = output.read_text(errors="replace")
    problems += judge(case, status, text, int.from_bytes(record.read_bytes(), "little"))
    struck_ns = int.from_bytes(record.read_bytes(), "little")
    took = (ended_ns - struck_ns) / 1e9 if struck_ns != 0 else None
    return {"problems": problems, "took_s": took, "status": status, "text": text}


def judge(case, status, text, struck_ns):
    """What is wrong with how a run ended."""
    kind = case.kind
    if struck_ns == 0:  # the job was over before
        return [] if status == 0 else [BEFORE]
    says = kind.says.format(pe=case.pe, host=case.host)
    problems = []
    if status not in kind.statuses + kind.also:
        problems.append(f"status {status}; expected one of {list(kind.statuses + kind.also)}")
    elif status not in kind.also and status >= 0 and not re.search(says, text):
        problems.append(f"does not say '{says}'")
    if "wrong data" in text or "Sanitizer" in text:
        problems.append("wrong data")
    return problems


def is_late(case, outcome):
    return outcome["took_s"] is not None and outcome["took_s"] > case.bound_s


def is_for_again(case, outcome):
    """May the run have failed because other work had the cores?"""
    problems = outcome["problems"]
    if case.where == "gpus" and any(problem.startswith(HANGS) for problem in problems):
        return True
    return is_late(case, outcome) and not problems or BEFORE in problems


def start_one(args, case):
    """A process for one run; its answer will be in the folder."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="faults-"))
    pid = os.fork()
    if pid == 0:
        try:
            (folder / "answer").write_text(json.dumps(supervise(args, case, folder)))
        except Exception:
            traceback.print_exc()
        os._exit(0)
    return pid, folder


def finish_one(folder):
    outcome = json.loads((folder / "answer").read_text())
    subprocess.run(["rm", "-r", str(folder)], check=True)
    return outcome


def run_all(args, cases, jobs):
    """Yields each case with its outcome, as they end."""
    running, waiting = {}, collections.deque(cases)
    while running or waiting:
        while waiting and len(running) < jobs:
            case = waiting.popleft()
            pid, folder = start_one(args, case)
            running[pid] = case, folder
        pid, _ = os.wait()
        case, folder = running.pop(pid)
        yield case, finish_one(folder)


def tell(case, outcome):
    hosts = f"{case.where} on {case.n_hosts} hosts over {case.network}" if case.n_hosts > 1 else case.where
    hosts += ", beside," if case.is_beside else ""
    print(f"seed {case.seed}: {case.fault} of PE {case.pe} of {case.n} {hosts} in {case.moment} after "
          f"{case.delay_ns} ns: status {outcome['status']}, ended {outcome['took_s']} s after it. "
          f"{'; '.join(outcome['problems'])}\n{outcome['text']}"
          f"  again: {' '.join(sys.argv)} --seeds {case.seed}..{case.seed}", flush=True)


def report(times):
    """Milliseconds from the fault to the end."""
    print(f"{'fault':<20}{'PEs are':<12}{'runs':>6}{'median':>10}{'95 %':>10}{'longest':>10} ms, seed")
    for (fault, where), values in sorted(times.items()):
        slowest = max(values)[1]
        values = sorted(1e3 * seconds for seconds, _ in values)
        print(f"{fault:<20}{where:<12}{len(values):>6}{statistics.median(values):>10.1f}"
              f"{values[-(-95 * len(values) // 100) - 1]:>10.1f}{values[-1]:>10.1f}  {slowest:>7}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("chorusrun", type=os.path.abspath)
    parser.add_argument("faults_pe", type=os.path.abspath)
    parser.add_argument("--gpus", type=os.path.abspath, metavar="FAULTS_GPU_PE", help="also PEs with heaps on GPUs")
    parser.add_argument("--only-gpus", action="store_true", help="these alone")
    parser.add_argument("--seeds", default="1..20" if os.environ.get("CHORUS_TEST_FULL") else "1..8", help="first and last")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs at once")
    parser.add_argument("--fault", help="this one alone")
    parser.add_argument("--moment", help="those alone whose names begin so")
    parser.add_argument("--give-up", type=float, default=GIVE_UP_S, metavar="S", help="a run that takes so long hangs")
    parser.add_argument("-v", action="store_true", help="tell of every run")
    args = parser.parse_args()
    args.has_ofi = can_use_ofi(args)
    first, last = (int(n) for n in args.seeds.split(".."))
    cases = [case_of(seed, args) for seed in range(first, last + 1)]
    print(f"seeds {first}..{last}, {args.jobs} at once" + ("" if args.has_ofi else ", tcp for ofi"))
    times, late, failed = collections.defaultdict(list), [], 0
    for case, outcome in run_all(args, cases, args.jobs):
        if outcome["took_s"] is not None:
            times[case.fault, case.label].append((outcome["took_s"], case.seed))
        is_again = is_for_again(case, outcome)
        if is_again:
            late.append(case)
        elif outcome["problems"]:
            failed += 1
        if outcome["problems"] and not is_again or args.v:
            tell(case, outcome)
    for case, outcome in run_all(args, late, 1):
        if outcome["problems"] or is_late(case, outcome):
            failed += 1
            tell(case, outcome)
        else:
            print(f"seed {case.seed}: late beside others, in time alone")
    report(times)
    kinds = collections.Counter("gpus" if case.where == "gpus" else case.network or "one host" for case in cases)
    of_kinds = ", ".join(f"{kinds[kind]} {kind}" for kind in ("one host", "tcp", "ofi", "gpus"))
    print(f"{len(cases)} runs ({of_kinds}), {len(late)} done again alone, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
