# SPDX-License-Identifier: Apache-2.0
"""chorus-tune on a small sweep. usage: test_tools_tune.py CHORUS-TUNE CHORUS-INFO"""
import contextlib
import importlib.machinery
import importlib.util
import io
import random
import subprocess
import sys
import tempfile
from pathlib import Path

TUNE, INFO = sys.argv[1:]
NAMES = ("coll,algo,proto,ctas,dtype,op,pes,bytes,count,time_us_min,time_us_p50,time_us_p99,"
         "algbw_GBps,busbw_GBps,wrong,rule")


def row(coll, algo, proto, ctas, pes, size, us, wrong="0", chosen="forced"):
    return f"{coll},{algo},{proto},{ctas},f32,sum,{pes},{size},1,{us},{us},9,0,0,{wrong},{chosen}"


# Two sweeps put together, lines 1 to 26: one_shot:ll wins to 4K, where 2 CTAs of two_shot beat 1;
# at 64K one_shot is the best by a hair, which changes nothing. A wrong line counts for nothing.
# For broadcasts 4 CTAs serve longest; then 2 are as good as 8.
SWEEP = [
    "# date: 2026-01-02T03:04:05Z", "# command: chorus-sweep --algo all", NAMES,
    row("reduce", "one_shot", "ll", 1, 4, 64, 2), row("reduce", "one_shot", "ll", 1, 4, 1024, 3),
    row("reduce", "one_shot", "ll", 1, 4, 16384, 20), row("reduce", "one_shot", "ll", 1, 4, 65536, 39.9),
    row("reduce", "two_shot", "simple", 1, 4, 64, 1, wrong="3"),
    row("reduce", "two_shot", "simple", 1, 4, 1024, 5),
    row("reduce", "two_shot", "simple", 1, 4, 16384, 12),
    row("reduce", "two_shot", "simple", 2, 4, 16384, 10),
    row("reduce", "two_shot", "simple", 2, 4, 65536, 40),
    row("reduce", "two_shot", "simple", 1, 4, 64, 1, chosen="tuning/host.yaml:3"),
    "# command: chorus-sweep --radix 4 --algo all", NAMES,
    row("reducescatter", "all_pull", "simple", 1, 4, 64, 2),
    row("reducescatter", "all_push", "simple", 1, 4, 64, 3),
    row("barrier", "dissemination", "signal", 1, 4, 0, 1), row("sync", "dissemination", "signal", 1, 4, 0, 1),
    row("broadcast", "tree", "ll", 1, 4, 64, 2), row("broadcast", "tree", "ll", 4, 4, 64, 2.02),
    row("broadcast", "tree", "ll", 2, 4, 1024, 3), row("broadcast", "tree", "ll", 4, 4, 1024, 3.05),
    row("broadcast", "tree", "ll", 4, 4, 16384, 9.5), row("broadcast", "tree", "ll", 8, 4, 16384, 9),
    row("broadcast", "tree", "ll", 2, 4, 16384, 9.1),
]
EXPECTED = """\
# SPDX-License-Identifier: Apache-2.0
# Written by chorus-tune.
# Measured with 4 PEs; extrapolated for others.
version: 1
machine: "four \\"fast\\" ones"
measured: "2026-01-02, small.csv, chorus-sweep --algo all, median"
serves: {machine: host}
rules:
  - {coll: barrier, algo: dissemination, proto: signal, radix: 4, from: "small.csv:18"}
  - {coll: broadcast, bytes: 0..4K, algo: tree, proto: ll, ctas: 4, radix: 4, from: "small.csv:21"}
  - {coll: broadcast, algo: tree, proto: ll, ctas: 2, radix: 4, from: "small.csv:26"}  # one size; extrapolated above 16K
  - {coll: reduce, bytes: 0..4K, algo: one_shot, proto: ll, from: "small.csv:4"}
  - {coll: reduce, algo: two_shot, proto: simple, ctas: 2, from: "small.csv:11"}  # extrapolated above 64K
  - {coll: reducescatter, algo: all_pull, proto: simple, from: "small.csv:16"}  # one size; extrapolated above 64
  - {coll: reducescatter, algo: all_push, proto: simple, from: fallback}
"""

# On GPUs. What not every call can have has an understudy for each part of its bytes, and the
# last of those has no filters; where others are as good, it needs none. Of two that are alike in
# all, the first.
ON_GPUS = [
    "# run: bench/gpu/run 2", "# gpu: A GPU; PE 0 sees 2", "# date: 2026-01-02T03:04:05Z", NAMES,
    row("alltoall", "all_push", "ll", 1, 2, 64, 3), row("alltoall", "all_push", "simple", 4, 2, 64, 4),
    row("alltoall", "all_push", "ll", 1, 2, 4096, 9), row("alltoall", "all_push", "simple", 4, 2, 4096, 8),
    row("alltoall", "copy_engine", "simple", 1, 2, 64, 2),
    row("alltoall", "copy_engine", "simple", 1, 2, 4096, 2),
    row("reduce", "multicast_one_shot", "simple", 1, 2, 64, 2), row("reduce", "one_shot", "ll", 4, 2, 64, 2.02),
    row("reduce", "two_shot", "simple", 4, 2, 64, 2.02),
]
EXPECTED_ON_GPUS = """\
# SPDX-License-Identifier: Apache-2.0
# Written by chorus-tune.
# Measured with 2 PEs; extrapolated for others.
version: 1
machine: "2 x A GPU"
measured: "2026-01-02, small.csv, bench/gpu/run 2, median"
gpu: "A GPU"
serves: {machine: cuda, pes: 1..3}
rules:
  - {coll: alltoall, algo: copy_engine, proto: simple, from: "small.csv:9"}  # extrapolated above 4K
  - {coll: alltoall, bytes: 0..512, algo: all_push, proto: ll, from: fallback}
  - {coll: alltoall, algo: all_push, proto: simple, ctas: 4, from: fallback}
  - {coll: reduce, algo: one_shot, proto: ll, ctas: 4, from: "small.csv:12"}  # one size; extrapolated above 64
"""

# On cores of their own, for several numbers of PEs: what is as good for the next number of PEs
# serves it too, and else the middle between the two is the bound.
MANY_PES = [
    "# cores: 64 for all PEs; PE 0 may use 1 of 128 hardware threads", "# date: 2026-01-02T03:04:05Z", NAMES,
    *(row("fcollect", "all_push", "ll", 1, pes, 8, us) for pes, us in ((2, 1), (4, 2), (32, 9), (48, 9))),
    "# command: chorus-sweep --radix 4", NAMES,
    *(row("fcollect", "bruck", "ll", 1, pes, 8, us) for pes, us in ((2, 2), (4, 2.5), (32, 4), (48, 10))),
]
EXPECTED_MANY_PES = """\
serves: {machine: host, cores: own}
rules:
  - {coll: fcollect, pes: 1..12, algo: all_push, proto: ll, from: "small.csv:4"}  # one size; extrapolated above 8
  - {coll: fcollect, pes: 12..40, algo: bruck, proto: ll, radix: 4, from: "small.csv:12"}  # one size; extrapolated above 8
  - {coll: fcollect, algo: all_push, proto: ll, from: "small.csv:7"}  # one size; extrapolated above 8
"""


# Measured twice: at 64 bytes one_shot is the best once, and slower than two_shot when it is measured again.
AGAIN = [NAMES, *(row("reduce", algo, "simple", 1, 4, size, us) for algo, size, us in (
    ("two_shot", 8, 2), ("two_shot", 8, 2.1), ("one_shot", 8, 3), ("one_shot", 8, 3.1),
    ("two_shot", 64, 2.5), ("two_shot", 64, 2.6), ("one_shot", 64, 2), ("one_shot", 64, 3),
    ("two_shot", 512, 4), ("two_shot", 512, 4.2), ("one_shot", 512, 8), ("one_shot", 512, 8)))]
# Once: the least times say how far apart two medians are.
CLOSE = [NAMES, *(row("reduce", algo, "simple", 1, 4, 64, us).replace(f",1,{us},", f",1,{least},") for algo, us, least in (
    ("two_shot", 2, 1.5), ("one_shot", 2.3, 1.9)))]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def tune(folder, lines, *options):
    path = Path(folder) / "small.csv"
    path.write_text("".join(f"{line}\n" for line in lines))
    return run(sys.executable, TUNE, "--info", INFO, *options, str(path))


def refused(folder, lines, says):
    status, _, err = tune(folder, lines)
    assert status == 1 and says in err, (status, err)


GOOD = row("reduce", "two_shot", "simple", 1, 4, 64, 2)
# What a line may not be: each fails, with its place and no traceback.
BAD = [
    (row("reduce", "two_shot", "simple", 1, "2x", 64, 2), 'small.csv:2: pes is "2x"; expected a whole number from 1'),
    (row("reduce", "two_shot", "simple", 1, -4, 64, 2), 'small.csv:2: pes is "-4"'),
    (row("reduce", "two_shot", "simple", 1, 0, 64, 2), 'small.csv:2: pes is "0"'),
    (row("reduce", "two_shot", "simple", 1, " 4", 64, 2), 'small.csv:2: pes is " 4"'),
    (row("reduce", "two_shot", "simple", 1, 4, "9" * 5000, 2), "small.csv:2: bytes is"),
    (row("reduce", "two_shot", "simple", 1, 4, "1_0", 2), 'small.csv:2: bytes is "1_0"'),
    (row("reduce", "two_shot", "simple", 0, 4, 64, 2), 'small.csv:2: ctas is "0"'),
    (row("reduce", "two_shot", "simple", 1, 4, 64, "1e999"), 'small.csv:2: time_us_p50 is "1e999"'),
    (row("reduce", "two_shot", "simple", 1, 4, 64, "0.0"), "small.csv:2: time_us_p50 is 0"),
    (row("barrier", "dissemination", "signal", 1, 4, 8, 2), 'small.csv:2: bytes is "8"; expected a whole number from 0 to 0'),
    ("reduce," + "x" * 200000, "small.csv:2: field larger than"),
    (GOOD + "\0", "holds a NUL"),
    ("coll,algo,proto,ctas,pes,bytes,wrong", "small.csv:2: heading without time_us_p50, rule"),
    ("# command: chorus-sweep --radix 100", 'small.csv:2: --radix is "100"; expected a whole number from 2 to 64'),
    ("# command: chorus-sweep --radix=2x", 'small.csv:2: --radix is "2x"'),
]
ODD = "a\"b\\, from: x}\n#\u00fc\U0001f600.csv"  # of a file, and in comments


def mutated(rng, lines):
    """The lines with a few changes that such files may have, or anything may."""
    lines = list(lines)
    for _ in range(rng.randint(1, 4)):
        i = rng.randrange(len(lines))
        cells = lines[i].split(",")
        cells[rng.randrange(len(cells))] = rng.choice(
            ["", "0", "-1", "7", "2x", "1e3", "nan", "99999999999999999999", "\"", "4096", "reduce", "ll",
             "fcollect", "ring", "simple", "# gpu: \x1b[1m", "\xe4", "1.5", "12345678901234", "forced"])
        lines[i] = ",".join(cells)
        if rng.random() < 0.2:
            del lines[rng.randrange(len(lines))]
        if rng.random() < 0.2:
            lines.insert(rng.randrange(len(lines) + 1), rng.choice([NAMES, "", "# cores: 3x", "#", GOOD]))
    return lines


def load_tune():
    loader = importlib.machinery.SourceFileLoader("chorus_tune", TUNE)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("chorus_tune", loader))
    loader.exec_module(module)
    return module


def try_mutants(folder, count):
    """Whatever a file holds, a message or a table, and chorus-info takes the table."""
    rng, tune_module, tables = random.Random(7), load_tune(), []
    tune_module.write = lambda table, options: tables.append(table)
    sys.argv = [TUNE, "--info", INFO, f"{folder}/mutant.csv"]
    for i in range(count):
        lines = mutated(rng, rng.choice([SWEEP, ON_GPUS, MANY_PES]))
        Path(folder, "mutant.csv").write_text("\n".join(lines))
        said = io.StringIO()
        tables.clear()
        try:
            with contextlib.redirect_stderr(said):
                tune_module.main()
        except SystemExit as end:
            assert end.code == 1 and said.getvalue().startswith("chorus-tune: "), (i, lines, said.getvalue())
            continue
        Path(folder, "mutant.yaml").write_text(tables[0])
        status, _, err = run(INFO, "check", f"{folder}/mutant.yaml")
        assert status == 0, (i, lines, tables, err)


def try_odd_names(folder):
    """Names of files and of machines may be anything; the table is ASCII and accepted."""
    path = Path(folder) / ODD
    path.write_text("\n".join([f"# gpu: {ODD!r}", f"# date: {ODD!r}", NAMES, GOOD]))
    status, table, err = run(sys.executable, TUNE, "--info", INFO, "--machine", ODD, str(path))
    assert (status, err) == (0, "") and table.isascii(), (status, table, err)
    (Path(folder) / "table.yaml").write_text(table)
    status, out, err = run(INFO, "check", str(Path(folder) / "table.yaml"))
    assert status == 0 and "1 rules" in out, (out, err)
    path.rename(Path(folder) / "odd.txt")
    status, _, err = run(sys.executable, TUNE, "--info", INFO, str(Path(folder) / "odd.txt"))
    assert status == 1 and "a file whose name ends in .csv" in err, err
    status, _, err = run(sys.executable, TUNE, "--info", INFO, str(folder))
    assert status == 1 and "cannot read" in err, err


with tempfile.TemporaryDirectory() as scratch:
    for line, says in BAD:
        refused(scratch, [NAMES, line, GOOD], says)
    try_odd_names(scratch)
    try_mutants(scratch, 100)
    gone = [*SWEEP, row("reduce", "bygone", "ll", 1, 4, 64, 0.001)]
    status, table, err = tune(scratch, gone, "--machine", 'four "fast" ones')
    assert (status, table) == (0, EXPECTED) and 'no "reduce:bygone:ll"; its lines are left out' in err, err
    for pes in ("1..", "3..3", "a..b", "0..4", "4..2", "1..3}"):
        status, _, err = tune(scratch, SWEEP, "--pes", pes)
        assert status == 2 and "expected LO..HI" in err, err
    status, _, err = tune(scratch, SWEEP, "--pes", "1..3")
    assert status == 1 and "4 PEs, which the table is not to serve" in err, err
    # A chorus-info that refuses is heard, and nothing is written.
    strict = Path(scratch) / "strict"
    strict.write_text(f"#!/bin/sh\ntest $1 = check && echo no >&2 && exit 2\nexec {INFO} \"$@\"\n")
    strict.chmod(0o755)
    status, table, err = tune(scratch, SWEEP, "--info", str(strict))
    assert (status, table) == (1, "") and "refuses the table: no" in err, (status, table, err)
    status, table, err = tune(scratch, SWEEP, "--machine", 'four "fast" ones')
    assert (status, table, err) == (0, EXPECTED, ""), (status, table, err)
    (Path(scratch) / "table.yaml").write_text(table)
    status, out, err = run(INFO, "check", str(Path(scratch) / "table.yaml"))
    assert status == 0 and "7 rules" in out, (out, err)
    status, table, err = tune(scratch, ON_GPUS, "--pes", "1..3")
    assert (status, table, err) == (0, EXPECTED_ON_GPUS, ""), (status, table, err)
    (Path(scratch) / "table.yaml").write_text(table)
    status, out, err = run(INFO, "check", str(Path(scratch) / "table.yaml"))
    assert status == 0 and "4 rules" in out, (out, err)
    # GPUs of two hosts: the table is for such teams, and chorus-info is asked about them.
    far = ["# reach: network", *ON_GPUS[:4], row("fcollect", "ring", "simple", 4, 2, 64, 9),
           row("fcollect", "ring", "simple", 1, 2, 64, 8), row("fcollect", "exchange", "simple", 1, 2, 64, 5)]
    status, table, err = tune(scratch, far, "--report")
    assert status == 0 and "serves: {machine: cuda, reach: network}\n" in table, (table, err)
    assert "worst 1.00 (fcollect, 2 PEs, 64 bytes: exchange:simple), mean 1.000 of 1 calls" in table, (table, err)
    (Path(scratch) / "near.csv").write_text("\n".join(ON_GPUS))
    status, _, err = tune(scratch, far, str(Path(scratch) / "near.csv"))
    assert status == 1 and "sweeps over a network and without one" in err, err
    status, table, err = tune(scratch, MANY_PES)
    assert (status, table[table.index("serves"):], err) == (0, EXPECTED_MANY_PES, ""), (table, err)
    status, table, err = tune(scratch, MANY_PES, "--near", "30")
    assert table.count("coll: fcollect") == 2 and 'radix: 4, from: "small.csv:12"' in table, table
    # What serves longest is cited where it is the best, though it is not at first.
    late = [NAMES, row("alltoall", "all_push", "ll", 1, 2, 8, 10), row("alltoall", "bruck", "ll", 1, 2, 8, 11),
            row("alltoall", "all_push", "ll", 1, 2, 64, 30), row("alltoall", "bruck", "ll", 1, 2, 64, 20)]
    status, table, err = tune(scratch, late, "--near", "30")
    assert table.endswith('coll: alltoall, algo: bruck, proto: ll, radix: 2, from: "small.csv:5"}  # extrapolated above 64\n'), table
    # What differs within noise is one rule; what a rule rests on stands behind it.
    status, table, err = tune(scratch, AGAIN)
    assert table.endswith('- {coll: reduce, algo: two_shot, proto: simple, from: "small.csv:2"}  # extrapolated above 512\n'), table
    status, table, err = tune(scratch, CLOSE)
    assert "# one size; spread overlaps that of one_shot:simple; extrapolated above 64\n" in table, table
    # One choice of its own table is worse by far, because the limit says so; the shipped tables know better or worse.
    status, table, err = tune(scratch, late, "--near", "30", "--report")
    assert "# time(chosen) / time(best): worst 1.10 (alltoall, 2 PEs, 8 bytes: bruck:ll), mean 1.050 of 2 calls\n" in table, table
    assert table.count("# with the shipped tables:   worst 1.") == 1 and "chorus-tune: with the shipped tables" in err, (table, err)
    shared = [MANY_PES[0].replace("64", "32"), *MANY_PES[1:]]
    assert "serves: {machine: host, cores: shared}" in tune(scratch, shared)[1]
    untold = [MANY_PES[0].replace("64", "unknown"), *MANY_PES[1:]]
    assert "serves: {machine: host}" in tune(scratch, untold)[1]
    (Path(scratch) / "host.csv").write_text("".join(f"{line}\n" for line in SWEEP))
    status, _, err = tune(scratch, ON_GPUS, str(Path(scratch) / "host.csv"))
    assert status == 1 and "sweeps on hosts and on GPUs" in err, err
    refused(scratch, SWEEP[:3], "sweep with --algo all")
    refused(scratch, [*SWEEP, "reduce,1"], "small.csv:27: no row of chorus-sweep")
    refused(scratch, [*SWEEP, row("reduce", "one_shot", "ll", 1, 4, 64, "nan")], 'small.csv:27: time_us_p50 is "nan"; expected a number')
    for near in ("-1", "nan"):
        status, _, err = tune(scratch, SWEEP, "--near", near)
        assert status == 2 and "expected a number from 0" in err, err
    refused(scratch, [NAMES, SWEEP[15]], "reducescatter: no line of an algorithm")
    status, _, err = run(sys.executable, TUNE, "--info", INFO, scratch + "/none.csv")
    assert status == 1 and "none.csv: cannot read" in err, err
