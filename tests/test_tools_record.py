# SPDX-License-Identifier: Apache-2.0
"""What chorusrun and chorus-info say of a job in which one PE makes a mistake."""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

chorusrun, chorus_info, program, launcher = sys.argv[1:]


def expect(pattern, text):
    if not re.search(pattern, text):
        sys.exit(f"no \"{pattern}\" in:\n{text}")


def run(arguments, **environment):
    done = subprocess.run([chorusrun, "-n", "3", *arguments], stderr=subprocess.PIPE, text=True,
                          env=os.environ | environment, timeout=60, check=False)
    return done.returncode, done.stderr


def info(*arguments):
    return subprocess.run([chorus_info, *arguments], stdout=subprocess.PIPE, text=True, timeout=60,
                          check=True).stdout


REDUCE = r"reduce \(512 f32, sum\), call 2 of team 0"
FEWER = r"reduce \(500 f32, sum\), call 2 of team 0"

# Each PE's line, and the call that differs, from the file.
with tempfile.TemporaryDirectory() as folder:
    record = os.path.join(folder, "calls")
    code, text = run(["--record", record, program, "count"], CHORUS_TIMEOUT="2")
    expect(r"chorusrun:   PE 1 .*call \d of team 0", text)
    expect("has the last calls of 3 PEs", text)
    text = info("record", record)
    expect(f"first call in which PEs differ:\n.*\n?PE 1 made {FEWER}", text.replace(
        "PE 0 made reduce (512 f32, sum), call 2 of team 0\n", ""))

# The check finds it at once, on the PEs that are in the call.
code, text = run([program, "count"], CHORUS_CHECK="1", CHORUS_TIMEOUT="50")
expect(f"chorus_float_sum_reduce: the calls of two PEs differ: PE . makes .*{FEWER}", text)
expect(REDUCE, text)
if code != 4:
    sys.exit(f"the job ended with {code}")

# Without it the PEs that get messages of another length find it.
code, text = run([program, "count"], CHORUS_TIMEOUT="2")
expect("reduce: the calls of two PEs differ: PE . makes .*; PE . makes .*; CHORUS_CHECK=1 compares calls before", text)
expect(REDUCE, text)
expect(FEWER, text)
if code != 4:
    sys.exit(f"the job ended with {code}")

# What is written past an object that is never freed is found at the end.
code, text = run([program, "beyond"], CHORUS_CHECK="2")
expect("chorus: PE 1: chorus_finalize: the program wrote beyond the end of the object at 0x[0-9a-f]+, which has "
       "2048 bytes: the first such byte is number 2048", text)
if code != 1:
    sys.exit(f"the job ended with {code}")

# A wait is reported, ends, and says where the missing PE is.
code, text = run([program, "late"], CHORUS_WARN="0.2", CHORUS_TIMEOUT="1")
LAST = "PE 1 is in no call of the library; its last was barrier, call 1 of team 0"
expect(f"warn: .*PE [02] has waited [0-9.]+ s in {REDUCE}, for PE 1, which has not begun this call: {LAST}", text)
expect("it will fail after 1 s, which CHORUS_TIMEOUT changes", text)
expect(f"PE [02] waited 1 s for PE 1, which has not begun this call: {LAST}", text)

# So is one in chorus_init, where chorusrun knows who is missing, and in chorus_finalize.
LATE = {"CHORUS_WARN": "0.2", "CHORUS_TIMEOUT": "0.5"}
code, text = run([program, "late_start"], **LATE)
ABSENT = r"PE 1 \(pid \d+\), which has not joined the job"
expect(f"warn: PE [02] has waited 0.2 s in chorus_init, for {ABSENT}; it will fail after 0.5 s", text)
expect(r"chorus_init: exchange among all PEs: .* PE 1 \(pid \d+\)(, which)? has not joined", text)
code, text = run([program, "late_end"], **LATE)
AT_END = "PE 1 is in no call of the library; its last was barrier, call 3 of team 0"
expect(f"warn: PE [02] has waited 0.2 s in chorus_finalize, for PE 1, which has not begun this call: {AT_END}", text)
expect(f"chorus_finalize: exchange among all PEs: .*missing: PE 1 .*: {AT_END}", text)

# A PE that makes another call is named, without the check too; and a wait that no record has is reported.
code, text = run([program, "another"], **LATE)
ANOTHER = "for PE 1, which made another call: PE 1 has been in barrier, call 2 of team 0"
expect(f"warn: PE [02] has waited [0-9.]+ s in {REDUCE}, {ANOTHER}", text)
expect("PE [02] waited 0.5 s for PE 1, which made another call: PE 1 ", text)
code, text = run([program, "stream"], **LATE)
expect("warn: PE 0 has waited [0-9.]+ s in a call that is not recorded", text)

# Who holds a lock is named where others wait for it in vain, also where it has died.
code, text = run([program, "lock"], CHORUS_TIMEOUT="1")
expect("chorus_set_lock: PE [02] waited 1 s for a lock that PE 1 holds", text)
expect(r"PE [02] .*(has been|failed) in a wait for a lock \(chorus_set_lock\), \d+ bytes into the heap", text)
code, text = run([program, "lock_dies"])
expect(r"PE 1 \(pid \d+\) was killed by signal 9", text)
expect(r"PE [02] .*in a wait for a lock \(chorus_set_lock\), \d+ bytes into the heap", text)
if code != 128 + signal.SIGKILL:
    sys.exit(f"the job ended with {code}")

# A job that runs, from within and from outside.
with subprocess.Popen([chorusrun, "-n", "3", "--timeout", "60", program, "late"], stderr=subprocess.PIPE,
                      text=True) as job:
    for _ in range(200):
        time.sleep(0.1)
        seen = subprocess.run([chorus_info, "job", str(job.pid)], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, timeout=60, check=False).stdout
        if len(re.findall(f"PE [02] .*has been in {REDUCE}", seen)) == 2:
            break
    expect(LAST.removeprefix("PE 1 "), seen)
    expect("PE 1 has not begun it", seen)
    job.send_signal(signal.SIGQUIT)
    told = [job.stderr.readline() for _ in range(3)]
    expect(f"PE 0 .*has been in {REDUCE}", told[0])
    expect(LAST.removeprefix("PE 1 "), told[1])
    if job.poll() is not None:
        sys.exit("SIGQUIT ended the job")
    job.terminate()
    job.communicate(timeout=60)

# On several hosts agents say what their PEs do: at the end of a job, those that have ended too,
# and while it runs.
HOSTS = ["--hosts", "a:2,b:1", "--launcher", launcher]
code, text = run([*HOSTS, program, "count"], CHORUS_CHECK="1")
expect(rf"chorusrun:   PE 1 \(pid \d+ on a\) .*{FEWER}", text)
expect(r"chorusrun:   PE 2 \(pid \d+ on b\) failed in .* of team 0", text)
# The file has the calls of PEs of all hosts, those of a PE that was killed, too.
with tempfile.TemporaryDirectory() as folder:
    record = os.path.join(folder, "calls")
    code, text = run([*HOSTS, "--record", record, program, "lock_dies"])
    expect("has the last calls of 3 PEs", text)
    text = info("record", record)
    for pe in range(3):
        expect(f"PE {pe} .pid \\d+. ", text)
    code, text = run([*HOSTS, "--record", record, program, "count"], CHORUS_TIMEOUT="2")
    text = info("record", record)
    expect(f"first call in which PEs differ:\n(.*\n)?PE 1 made {FEWER}", text)
code, text = run([*HOSTS, "--timeout", "2", program, "late"])
for on in ("0 .* on a", "2 .* on b"):  # its agent may look when the end of the job has ended its call
    expect(rf"chorusrun:   PE {on}\) (has been|failed) in {REDUCE}", text)
expect(rf"chorusrun:   PE 1 .* on a\) {LAST.removeprefix('PE 1 ')}", text)
if code != 124:
    sys.exit(f"the job ended with {code}")
