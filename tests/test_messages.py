# SPDX-License-Identifier: Apache-2.0
"""chorusrun and chorus_init print the messages of messages.txt; a job counts its PEs, and ends as its user ended it.

usage: test_messages.py CHORUSRUN ERRORS_PE LAUNCHER    LAUNCHER starts what --hosts names on this host
"""
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

chorusrun, program, launcher = sys.argv[1:4]
CLEAN = {k: v for k, v in os.environ.items() if not re.match("CHORUS_|PMIX|RANK|WORLD_SIZE|MASTER", k)}
LONG = "h" * 5000
faults = []


def run(command, **variables):
    done = subprocess.run(command, env=CLEAN | variables, text=True, timeout=60, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    return done.returncode, done.stdout, done.stderr


def message_of(is_pe, text):
    """What was printed, without what says who printed it."""
    found = re.search(r"error: chorus_init: (.*) \(ERR_ARG; logged once for this function\)$", text, re.M)
    if found:
        return found.group(1)
    return text.split("\n")[0].removeprefix("chorusrun: ") if text and not is_pe else text or "-"


def check_row(number, row):
    variables, command, status, message = [part.strip() for part in row.split("|", 3)]
    words = [word.replace("LONG", LONG) for word in shlex.split(command)]
    is_pe = words == ["pe"]
    words = [part for word in words for part in ([program, "init"] if word == "PE" else [word])]
    given = dict(word.replace("LONG", LONG).split("=", 1) for word in variables.split())
    got, _, text = run([program, "init"] if is_pe else [chorusrun, *words], **given)
    if (got, message_of(is_pe, text)) != (int(status), message):
        faults.append(f"messages.txt:{number}: status {got}, {message_of(is_pe, text)[:600]}")


for number, row in enumerate((Path(__file__).parent / "messages.txt").read_text().splitlines(), 1):
    if row and not row.startswith("#"):
        check_row(number, row)

# Without -n: the PEs of all hosts, or a PE for each core that this process may use.
hosts = run([chorusrun, "--hosts", "a:2,b:2", "--launcher", launcher, "sh", "-c", "echo $CHORUS_N_PES"])
if hosts[:2] != (0, "4\n" * 4):
    faults.append(f"--hosts a:2,b:2 without -n: {hosts}")
core = min(os.sched_getaffinity(0))
cores = run(["taskset", "-c", str(core), chorusrun, "sh", "-c", "echo $CHORUS_N_PES"])
if cores[:2] != (0, "1\n"):
    faults.append(f"one core without -n: {cores}")

# A reader that ends is no failure of a PE.
head = run(["sh", "-c", f"{{ {chorusrun} -n 2 yes; echo $? >&2; }} | head -n 1"])
if head != (0, "y\n", "141\n"):
    faults.append(f"chorusrun | head: {head}")
head = run(["sh", "-c", f"{{ {chorusrun} -n 2 sh -c 'yes; exit $?'; echo $? >&2; }} | head -n 1"])
if head != (0, "y\n", "141\n"):
    faults.append(f"chorusrun a shell | head: {head}")

# The signal that chorusrun gets is the reason, not that of a PE.
job = subprocess.Popen([chorusrun, "-n", "2", "sh", "-c", "echo began; exec sleep 60"], env=CLEAN, text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
for _ in range(2):
    job.stdout.readline()
time.sleep(0.1)  # until exec
job.send_signal(signal.SIGTERM)
said = job.communicate(timeout=30)[1]
if job.returncode != 143 or not said.startswith("chorusrun: chorusrun was terminated by signal 15 (Terminated)\n"):
    faults.append(f"SIGTERM: status {job.returncode}: {said}")

print("\n".join(faults))
sys.exit(1 if faults else 0)
