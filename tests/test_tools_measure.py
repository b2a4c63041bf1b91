# SPDX-License-Identifier: Apache-2.0
"""chorus-tune --measure, with a sweep that this test makes up, and with a short real one.
usage: test_tools_measure.py CHORUS-TUNE CHORUS-INFO CHORUS-SWEEP CHORUSRUN"""
import subprocess
import sys
import tempfile
from pathlib import Path

TUNE, INFO, SWEEP, LAUNCHER = sys.argv[1:]
# Two sizes of a broadcast. hierarchical: too slow. pull: wrong data. chain: stopped after the first size. board: cannot run. push: the
# best; tree: nearly; the others are slow.
MADE_UP = """#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in --coll) coll=$2 ;; --algo) algo=$2 ;; --csv) csv=$2 ;; --version) ask=1 ;; -n) n=$2 ;; -e) most=$2 ;; esac
    shift
done
[ "$coll" = broadcast ] || exit 2
[ -z "$ask" ] || exit 0
row() {
    echo "broadcast,${algo%:*},${algo#*:},1,f32,none,2,$1,1,$2,$2,9,0,0,${3:-0},forced" >>"$csv"
}
case $algo in push:*) us=2 ;; tree:*) us=2.1 ;; *) us=90 ;; esac
echo "coll,algo,proto,ctas,dtype,op,pes,bytes,count,time_us_min,time_us_p50,time_us_p99,algbw_GBps,busbw_GBps,wrong,rule" >"$csv"
case $algo in
pull:*) row 8 $us 1; exit 1 ;;
hierarchical:*) exec sleep 5 ;;
chain:*) row 8 $us; [ "$most" = 8 ] && exit 0; printf half >>"$csv"; exec sleep 5 ;;
board:*) echo "no board here" >&2; exit 2 ;;
esac
row 8 $us
row 64 $us
"""


def tune(folder, *options):
    done = subprocess.run([sys.executable, TUNE, "--info", INFO, "--measure", folder, "--job", "2", "--bytes", "8..64",
                           "--factor", "8", *options], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


with tempfile.TemporaryDirectory() as scratch:
    made_up = Path(scratch) / "sweep"
    made_up.write_text(MADE_UP)
    made_up.chmod(0o755)
    found = str(Path(scratch) / "found")
    options = ["--sweep", str(made_up), "--launcher", "env", "--seconds", "0.4", "--radix", "2", "--repeat", "2"]
    status, out, err = tune(found, "--coll", "broadcast", *options)
    assert status == 0 and "tuning.yaml is written" in out, (status, out, err)
    assert "pull:simple, 2 PEs: its data is wrong" in err and " left\n" in err, err
    assert "time(chosen) / time(best): worst 1.00" in err and "with the shipped tables" in err, err
    assert "hierarchical:simple, 2 PEs: left out: it did no size in" in err, err
    assert "chain:simple, 2 PEs: timed up to 8 bytes" in err and " candidates run here and are timed" in err, err
    table = Path(found, "tuning.yaml").read_text()
    assert "algo: push" in table and "chorus-tune --info" in table, table
    commands = Path(found, "commands").read_text().splitlines()

    def count(*words):
        return sum(all(f"{word} " in command for word in words) for command in commands)

    # Once to check; those that are right are timed, and the good ones again. Of what was stopped the sizes that it reached.
    assert (count("pull:simple"), count("board:ll"), count("chain:simple"), count("chain:simple", "-e 8")) == (1, 1, 2, 1), commands
    assert (count("push:ll"), count("push:ll", "-n 1"), count("tree:ll"), count("put_to_all:simple")) == (3, 1, 3, 2), commands
    # What was stopped goes on: only what is missing is run.
    for part in Path(found, "parts").glob("2-broadcast-tree-ll-*-1.csv"):
        part.unlink()
    status, out, err = tune(found, "--coll", "broadcast", *options)
    assert status == 0 and len(Path(found, "commands").read_text().splitlines()) == len(commands) + 1, err
    status, out, err = tune(found, "--coll", "broadcast", *options, "--bytes", "8..128")
    assert status == 1 and "use another folder" in err, err
    status, out, err = tune(found, "--coll", "broadcast,redcue", *options)
    assert status == 1 and "has not all of broadcast, redcue" in err, err
    status, out, err = tune(found, "--sweep", f"{scratch}/none")
    assert status == 1 and "/none beside" in err and "-Dbench=true" in err, err
    # A real one, and the table is what a job reads.
    real = str(Path(scratch) / "real")
    status, out, err = tune(real, "--coll", "barrier", "--sweep", SWEEP, "--launcher", f"{LAUNCHER} -n {{pes}}", "--seconds",
                            "1", "--repeat", "1")
    done = subprocess.run([INFO, "check", f"{real}/tuning.yaml"], capture_output=True, text=True, check=False)
    assert (status, done.returncode) == (0, 0) and "barrier       1\n" in done.stdout, (err, done.stdout, done.stderr)
