# SPDX-License-Identifier: Apache-2.0
"""Nothing prints the value of a secret variable: programs that list variables, logs of jobs in every way of starting,
messages about invalid values, files of records.

usage: test_base_secret.py OPTION_H CHORUSRUN CHORUS_INFO CHORUS_SWEEP PROGRAM MISTAKE_PE LAUNCHER
"""
import os
import re
import shlex
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

option_h, chorusrun, chorus_info, chorus_sweep, program, mistake_pe, launcher = sys.argv[1:]
SECRETS = ["CHORUS_SECRET"]
VALUE = "sesame" * 11  # 66 characters, as long as a secret of chorusrun's
MARKS = [VALUE[:12], VALUE[:12].encode().hex()]
CLEAN = {k: v for k, v in os.environ.items() if not re.match("CHORUS_|PMIX|RANK|WORLD_SIZE|MASTER", k)}
LOUD = CLEAN | {"CHORUS_LOG": "trace", "CHORUS_RECORD": "full"} | {name: VALUE for name in SECRETS}
faults, saw = [], []


def check(what, text):
    """Notes a secret in the text; returns the text."""
    if any(mark in text for mark in MARKS):
        at = min(text.find(mark) for mark in MARKS if mark in text)
        faults.append(f"{what} prints a secret: ...{text[max(0, at - 120):at + 80]!r}")
    saw.append(text)
    return text


def start(command, **variables):
    return subprocess.Popen(command, env=LOUD | variables, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)


def end(child):
    return check(shlex.join(child.args), child.communicate(timeout=100)[0])


def run(*command, **variables):
    return end(start(command, **variables))


def expect(pattern, text):
    if not re.search(pattern, text):
        faults.append(f"no \"{pattern}\" in:\n{text[-2000:]}")


def torchrun(*each, **variables):
    """Two PEs, with variables for both and for each."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    both = {"WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": str(port), "CHORUS_PORT": str(port),
            "CHORUS_TIMEOUT": "60"} | variables
    pes = [start([program, "init"], **both, RANK=str(rank), **own) for rank, own in enumerate(each)]
    return "".join(end(pe) for pe in pes)


# The list marks the secrets of this test, and no others that it does not know.
marked = re.findall(r"^    [XB]\((\w+), \w+, SECRET,", Path(option_h).read_text(), re.M)
if [f"CHORUS_{name}" for name in marked] != SECRETS:
    faults.append(f"{option_h} marks {marked} as secrets, and this test knows {SECRETS}")

with tempfile.TemporaryDirectory() as folder:
    said = run(chorusrun, "-n", "2", program, "init")
    expect("(?s)set:.* CHORUS_LOG=trace.*end\n.*end\n", said)
    expect(r"set:.* CHORUS_SECRET=\(secret\)", said)
    record = os.path.join(folder, "record")
    run(chorusrun, "-n", "3", "--record", record, mistake_pe, "count", CHORUS_TIMEOUT="2")
    check("the file of --record", Path(record).read_bytes().decode("latin-1"))

    # chorus-info: all of its commands, with and without arguments.
    listed = re.search(r"expected (.*)\n", run(chorus_info)).group(1)
    commands = re.split(", | or ", listed)
    arguments = {"explain": ["reduce", "--pes", "2", "--bytes", "8"], "check": [option_h], "job": [str(os.getpid())],
                 "record": [record]}
    for command in [*commands, "no_command", "--help", "--usage", "--version"]:
        run(chorus_info, command)
        run(chorus_info, command, CHORUS_TIMEOUT="soon", CHORUS_PORT="none")
        if command in arguments:
            run(chorus_info, command, *arguments[command])
    expect(r"CHORUS_SECRET=\(secret\)  \(from the environment\)", run(chorus_info, "options"))
    expect("CHORUS_SECRET=\n", check("options", subprocess.run(
        [chorus_info, "options"], env=CLEAN, text=True, stdout=subprocess.PIPE, check=True).stdout))
    for form in ("--json", "--summary"):
        run(chorus_info, "record", record, form)
    run(chorusrun, "-n", "2", chorus_info, "links")

# chorusrun: its options, hosts, a PE that fails, and options that differ between PEs.
hosts = [chorusrun, "-n", "2", "--timeout", "20", "--hosts", "a,b", "--launcher", launcher]
for option in ("--help", "--usage", "--version", "--no-option"):
    run(chorusrun, option)
export = ["-x", f"CHORUS_SECRET={VALUE}"]
run(chorusrun, *export * 200, "-n", "1", "true")
expect("(?s)end\n.*end\n", run(*hosts, *export, program, "init"))
run(*hosts, "sh", "-c", "kill -KILL $$")
run(chorusrun, "-n", "2", "sh", "-c", 'CHORUS_CTAS=$((CHORUS_PE + 1)) exec "$0" init', program)
run(chorusrun, "-n", "2", "--timeout", "1", "sleep", "20")
expect("does not have the job's secret", run(
    *hosts, "sh", "-c", f'printf {VALUE} | CHORUS_SECRET_FD=9 "$@" 9<&0', "sh", program, "init", CHORUS_TIMEOUT="5"))

# torchrun's variables: with the secret, with another one on a PE, and with invalid values.
said = torchrun({}, {})
expect("derived the job's key from CHORUS_SECRET", said)
expect("(?s)end\n.*end\n", said)
expect("has another secret|never joined", torchrun({}, {"CHORUS_SECRET": VALUE + "x"}, CHORUS_TIMEOUT="20"))
expect("CHORUS_PORT is \"no\"", torchrun({}, {}, CHORUS_PORT="no"))
for name in ("RANK", "WORLD_SIZE", "MASTER_PORT", "MASTER_ADDR"):
    run(program, "init", **({"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "9"} | {name: "h" * 999}))

# Each variable of a user with an invalid value, names that are mistyped, and the bench.
for name in re.findall(r"^    X\((\w+), USER,", Path(option_h).read_text(), re.M):
    run(program, "init", **{f"CHORUS_{name}": "?"})
for name in SECRETS:
    expect(f"{name}X is not a variable of Chorus", run(program, "init", **{name + "X": VALUE}))
run(chorusrun, "-n", "2", chorus_sweep, "--coll", "reduce", "-b", "8", "-e", "8", "-n", "1")
run(chorus_sweep, "--help")

if not any("CHORUS_TIMEOUT is \"?\"" in text for text in saw):
    faults.append("no message about an invalid value")
if faults:
    sys.exit("\n".join(faults))
