# SPDX-License-Identifier: Apache-2.0
"""What chorusrun and chorus-info say of a job in which one PE makes a mistake."""
import json
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


def refused(message, *arguments):
    done = subprocess.run([chorus_info, *arguments], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 2 or f"chorus-info: {message}" not in done.stderr:
        sys.exit(f"{arguments}: {done.returncode}, no \"{message}\" in:\n{done.stderr}")


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


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

    # Every call of every PE, as text, as JSON and as a timeline.
    TIME = r"\n +-[0-9.]+ (to -?[0-9.]+ )?s: "
    for pe in range(3):
        expect(rf"PE {pe} \(pid \d+\), of \d calls", text)
    expect(TIME + r"an allocation \(chorus_malloc\), 2048 bytes; ended", text)
    expect(TIME + FEWER + r", dest and source in the heap, by \w+ \w+; (failed|running)\n", text)
    if re.search(TIME, info("record", "--summary", record)):
        sys.exit("--summary lists calls")
    one = json.loads(info("record", "--json", "--pe", "0,1", "--last", "1", "--pe=1", record))["pes"]
    if [pe["pe"] for pe in one] != [0, 1] or [len(pe["events"]) for pe in one] != [1, 1]:
        sys.exit(f"not one call of each of two PEs: {one}")
    call = one[1]["events"][0]
    made = [call[key] for key in ("call", "count", "type", "op", "team", "number", "dest_in_heap")]
    if made != ["reduce", 500, "f32", "sum", 0, 2, True] or call["began_s"][0] > call["began_s"][1]:
        sys.exit(f"not the reduce of PE 1: {call}")
    timeline = os.path.join(folder, "timeline")
    info("record", "--perfetto", timeline, record)
    with open(timeline, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    tracks = {event["tid"] for event in events if event["ph"] == "X"}
    if tracks != {0, 1, 2} or any(event.get("dur", 0) < 0 or event.get("ts", 0) < 0 for event in events):
        sys.exit(f"not a track for each of three PEs: {events}")
    if not all("(time not exact)" in event["name"] for event in events if event["ph"] == "X"):
        sys.exit(f"times that are not known are not marked: {events}")

    # Options and files that are refused.
    with open(record, "rb") as file:
        whole = file.read()
    each = len(whole) // 3
    bad = os.path.join(folder, "bad")
    refused("--pe is \"x\"; expected PEs such as 0 or 0,2", "record", "--pe", "0,x", record)
    refused("--pe is \"\"; expected PEs such as 0 or 0,2", "record", "--pe", "1,", record)
    refused(f"--pe is 3, but {record} has no record of PE 3; it has 3 of 3 PEs", "record", "--pe", "3", record)
    refused("--last is \"0\"; expected a number of calls from 1", "record", "--last", "0", record)
    refused(f"cannot write {folder}/none/x: No such file", "record", "--perfetto", f"{folder}/none/x", record)
    refused("--pe, --last, --perfetto and --summary are options of record", "algorithms", "--summary")
    refused("--json is an option of links and record", "algorithms", "--json")
    refused(f"cannot read {bad}: No such file or directory; expected what chorusrun --record wrote", "record", bad)
    for content, message in (
            (b"", f"{bad} has no record of calls; expected a file of chorusrun --record, of this version"),
            (b"text" * 999, f"{bad} has no record of calls; expected"),
            (whole[:100], f"{bad} ends within the record of a PE, after 100 of {each} bytes"),
            (whole[:-1], f"{bad} ends within the record of a PE, after {each - 1} of {each} bytes"),
            (whole + b"more", f"{bad} has no record of calls where the next one should begin"),
            (whole[:each] * 2, f"{bad} has two records of PE 0"),
            (whole[:each] + whole[each:each + 12] + b"\4" + whole[each + 13:],
             f"{bad} has records of jobs of 3 and of 4 PEs"),
            (whole[:8] + b"\3" + whole[9:], f"{bad} has a record of PE 3 in a job of 3 PEs")):
        write(bad, content)
        refused(message, "record", bad)

# A job whose PEs all fail in chorus_init has no record; a file of an earlier job remains.
with tempfile.TemporaryDirectory() as folder:
    record = os.path.join(folder, "calls")
    for content in (None, b"of an earlier job"):
        if content is not None:
            write(record, content)
        code, text = run(["--record", record, program, "count"], CHORUS_TIMEOUT="bad")
        expect(f"chorusrun: no PE has a record of its calls, so {record} is not written\n", text)
        if "has the last calls" in text or code == 0:
            sys.exit(f"the job ended with {code}, and wrote:\n{text}")
        if content is None and os.path.exists(record):
            sys.exit("there is a file without a record")
    with open(record, "rb") as file:
        if file.read() != content:
            sys.exit("the file of an earlier job was changed")

# PEs that wait for each other's signals.
LATE_RING = {"CHORUS_WARN": "0.5", "CHORUS_TIMEOUT": "1"}
WORD = r"the word at \+0x[0-9a-f]+ of the heap to be >= 2"
ALL = "; all 3 PEs of the job are in waits for words"
with tempfile.TemporaryDirectory() as folder:
    record = os.path.join(folder, "calls")
    code, text = run(["--record", record, program, "ring"], CHORUS_RECORD="full", **LATE_RING)
    LAST_WRITE = r", which PE 2 wrote last \(set of 8 bytes at \+0x[0-9a-f]+ of PE 0, value 1, [0-9.]+ s ago\)"
    CYCLE = f"PE 0 waits for {WORD}{LAST_WRITE}; PE 2 waits .*; PE 1 waits .*: a cycle, if .*{ALL}"
    expect(rf"warn: PE 0 has waited [0-9.]+ s: {CYCLE}; it will fail after 1 s", text)
    expect(r"chorus_signal_wait_until: PE [012] waited .*; PE [012] waits for .*: a cycle", text)
    text = info("record", record)
    expect(f"Waits for words:\n{CYCLE}", text)
    EXACT = r"\n +-[0-9.]+ s, for [0-9.]+ s: "
    expect(EXACT + r"barrier, call 1 of team 0, by \w+ \w+; ended", text)
    expect(EXACT + r"set of 8 bytes at \+0x[0-9a-f]+ of PE 2, value 1\n", text)
code, text = run([program, "ring"], **LATE_RING)
expect(f"PE 0 has waited [0-9.]+ s: PE 0 waits for {WORD}; who writes it is not known without CHORUS_RECORD=full{ALL}",
       text)

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

# Memory that is not of the heap has no place in it.
code, text = run([program, "foreign"])
expect(r"PE 1 \(pid \d+\) failed in chorus_free of memory outside the heap, which it began", text)
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
LATER = LATE | {"CHORUS_TIMEOUT": "3"}  # the start of a job on a busy machine takes long, too
code, text = run([program, "late_end"], **LATER)
AT_END = "PE 1 is in no call of the library; its last was barrier, call 3 of team 0"
expect(f"warn: PE [02] has waited 0.2 s in chorus_finalize, for PE 1, which has not begun this call: {AT_END}", text)
expect(f"chorus_finalize: exchange among all PEs: .*missing: PE 1 .*: {AT_END}", text)

# A PE that makes another collective is found without the check, before a wait is reported; in a call on memory it
# is named when the wait is reported. A wait that no record has is reported, too.
code, text = run([program, "another"], CHORUS_WARN="5")
expect("the calls of two PEs differ: .*PE 1 makes barrier, call 2 of team 0", text)
expect("PE 1 uses [a-z_]+:signal with radix", text)
expect(f"PE [02] makes {REDUCE}", text)
if "has waited" in text or code != 4:
    sys.exit(f"the job ended with {code}, and wrote:\n{text}")
code, text = run([program, "allocation"], **LATER)
expect("warn: PE [02] has waited [0-9.]+ s in the creation of a team, 2 PEs, for PE 1, which made another call: PE 1 ",
       text)
code, text = run([program, "stream"], **LATER)
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
# Its agent may look at a PE while it is still in the call that fails.
code, text = run([*HOSTS, program, "count"], CHORUS_CHECK="1")
expect(rf"chorusrun:   PE 1 \(pid \d+ on a\) .*{FEWER}", text)
expect(r"chorusrun:   PE 2 \(pid \d+ on b\) (has been|failed) in .* of team 0", text)
# What an agent says of a PE that has ended arrives after the front has asked for it.
SLOW = f"""#!/bin/sh
[ "$1" = b ] || exec {launcher} "$@"
{launcher} "$@" | {sys.executable} -c '
import os, time
while piece := os.read(0, 1 << 16):
    time.sleep(0.4 if b"failed in" in piece else 0)
    os.write(1, piece)'
"""
with tempfile.TemporaryDirectory() as folder:
    slow = os.path.join(folder, "launch_slowly")
    with open(slow, "w", encoding="utf-8") as script:
        script.write(SLOW)
    os.chmod(slow, 0o700)
    code, text = run(["--hosts", "a:2,b:1", "--launcher", slow, program, "count"], CHORUS_CHECK="1")
    lines = re.findall(r"chorusrun:   PE \d .*", text)
    if len(lines) != 3:
        sys.exit(f"{len(lines)} lines about 3 PEs:\n{text}")
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
code, text = run([*HOSTS, "--timeout", "4", program, "late"])
for on in ("0 .* on a", "2 .* on b"):  # its agent may look when the end of the job has ended its call
    expect(rf"chorusrun:   PE {on}\) (has been|failed) in {REDUCE}", text)
expect(rf"chorusrun:   PE 1 .* on a\) {LAST.removeprefix('PE 1 ')}", text)
if code != 124:
    sys.exit(f"the job ended with {code}")
