#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long a job under chorusrun lives on after a fault: the table of docs/reliability.md.

usage: bench/host/ends.py [BUILD [RUNS]]

BUILD is the folder of a build (default build), of which tools/chorusrun and tests/boot_pe are
used. Each fault is provoked RUNS times (default 10) in a job of 4 PEs.
"""
import os
import signal
import statistics
import subprocess
import sys
import time

BUILD = sys.argv[1] if len(sys.argv) > 1 else "build"
RUNS = int(sys.argv[2]) if len(sys.argv) > 2 else 10
CHORUSRUN, PE = os.path.join(BUILD, "tools/chorusrun"), os.path.join(BUILD, "tests/boot_pe")
READY = b"ready\n"


def start(*args, stderr=subprocess.DEVNULL):
    return subprocess.Popen([CHORUSRUN, "-n", "4", *args], stdout=subprocess.PIPE, stderr=stderr)


def status_of(job):
    status = job.wait(60)
    return status if status >= 0 else 128 - status


def whole(*args):
    """Seconds of a whole job, whose PE 1 makes the fault as soon as all have joined."""
    begin = time.monotonic()
    job = start(*args)
    job.stdout.read()
    return time.monotonic() - begin, status_of(job)


def unread(*args):
    """The same for a job whose output nobody reads."""
    begin = time.monotonic()
    job = start(*args)
    status = status_of(job)
    return time.monotonic() - begin, status


def signalled(signo, *args):
    """Seconds from a signal to chorusrun, once the PEs are ready, to the end of the last PE."""
    job = start(*args)
    while READY not in job.stdout.readline():
        pass
    begin = time.monotonic()
    job.send_signal(signo)
    job.stdout.read()
    return time.monotonic() - begin, status_of(job)


# A shell that continues after its PE, and one whose last command is the PE.
STAYING, WRAPPED = ("sh", "-c", PE + " $0; sleep 60; true"), ("sh", "-c", PE + " $0; true")
FAULTS = [
    ("none: an empty job", lambda: whole("true")),
    ("a PE exits with 3", lambda: whole(PE, "die_after_join")),
    ("a PE is killed by SIGKILL", lambda: whole(PE, "crash")),
    ("a PE calls chorus_global_exit(5)", lambda: whole(PE, "abort", "5")),
    ("a PE exits with 3, its peers ignore SIGTERM", lambda: whole(PE, "be_stubborn")),
    ("a PE executes another program (exec)", lambda: whole(PE, "become_another")),
    ("a PE is killed, and its shell continues", lambda: whole(*STAYING, "crash")),
    ("--timeout 1 passes, PEs write without pause with --tag, and nobody reads",
     lambda: unread("--tag", "--timeout", "1", "yes")),
    ("SIGTERM to chorusrun", lambda: signalled(signal.SIGTERM, "sh", "-c",
                                               "echo ready; exec sleep 60")),
    ("SIGKILL to chorusrun", lambda: signalled(signal.SIGKILL, PE, "lose_death_signal")),
    ("SIGKILL to chorusrun, PEs under shells",
     lambda: signalled(signal.SIGKILL, *WRAPPED, "lose_death_signal")),
]

print(f"| fault, 4 PEs, {RUNS} runs | status | median, s | longest, s |\n|---|---|---|---|")
for name, provoke in FAULTS:
    runs = [provoke() for _ in range(RUNS)]
    times, statuses = [r[0] for r in runs], sorted({r[1] for r in runs})
    print(f"| {name} | {', '.join(map(str, statuses))} | {statistics.median(times):.3f} | "
          f"{max(times):.3f} |", flush=True)
