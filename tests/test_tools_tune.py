# SPDX-License-Identifier: Apache-2.0
"""chorus-tune on a small sweep. usage: test_tools_tune.py CHORUS-TUNE CHORUS-INFO"""
import subprocess
import sys
import tempfile
from pathlib import Path

TUNE, INFO = sys.argv[1:]
NAMES = ("coll,algo,proto,ctas,dtype,op,pes,bytes,count,time_us_min,time_us_p50,time_us_p99,"
         "algbw_GBps,busbw_GBps,wrong,rule")


def row(coll, algo, proto, ctas, pes, size, us, wrong="0", chosen="forced"):
    return f"{coll},{algo},{proto},{ctas},f32,sum,{pes},{size},1,1,{us},9,0,0,{wrong},{chosen}"


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
version: 1
machine: "four \\"fast\\" ones"
measured: "2026-01-02, small.csv, chorus-sweep --algo all, median"
serves: {machine: host}
rules:
  - {coll: barrier, algo: dissemination, proto: signal, radix: 4, from: "small.csv:18"}
  - {coll: broadcast, bytes: 0..4K, algo: tree, proto: ll, ctas: 4, radix: 4, from: "small.csv:21"}
  - {coll: broadcast, algo: tree, proto: ll, ctas: 2, radix: 4, from: "small.csv:26"}
  - {coll: reduce, bytes: 0..4K, algo: one_shot, proto: ll, from: "small.csv:4"}
  - {coll: reduce, algo: two_shot, proto: simple, ctas: 2, from: "small.csv:11"}
  - {coll: reducescatter, algo: all_pull, proto: simple, from: "small.csv:16"}
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
version: 1
machine: "2 x A GPU"
measured: "2026-01-02, small.csv, bench/gpu/run 2, median"
gpu: "A GPU"
serves: {machine: cuda, pes: 1..3}
rules:
  - {coll: alltoall, algo: copy_engine, proto: simple, from: "small.csv:9"}
  - {coll: alltoall, bytes: 0..512, algo: all_push, proto: ll, from: fallback}
  - {coll: alltoall, algo: all_push, proto: simple, ctas: 4, from: fallback}
  - {coll: reduce, algo: one_shot, proto: ll, ctas: 4, from: "small.csv:12"}
"""

# On cores of their own, for several numbers of PEs: what is as good for the next number of PEs
# serves it too, and else the middle between the two is the bound.
MANY_PES = [
    "# cores: 64, of which PE 0 may use 1", "# date: 2026-01-02T03:04:05Z", NAMES,
    *(row("fcollect", "all_push", "ll", 1, pes, 8, us) for pes, us in ((2, 1), (4, 2), (32, 9), (48, 9))),
    "# command: chorus-sweep --radix 4", NAMES,
    *(row("fcollect", "bruck", "ll", 1, pes, 8, us) for pes, us in ((2, 2), (4, 2.5), (32, 4), (48, 10))),
]
EXPECTED_MANY_PES = """\
serves: {machine: host, cores: own}
rules:
  - {coll: fcollect, pes: 1..12, algo: all_push, proto: ll, from: "small.csv:4"}
  - {coll: fcollect, pes: 12..40, algo: bruck, proto: ll, radix: 4, from: "small.csv:12"}
  - {coll: fcollect, algo: all_push, proto: ll, from: "small.csv:7"}
"""


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


with tempfile.TemporaryDirectory() as scratch:
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
    status, table, err = tune(scratch, MANY_PES)
    assert (status, table[table.index("serves"):], err) == (0, EXPECTED_MANY_PES, ""), (table, err)
    status, table, err = tune(scratch, MANY_PES, "--near", "30")
    assert table.count("coll: fcollect") == 2 and 'radix: 4, from: "small.csv:12"' in table, table
    # What serves longest is cited where it is the best, though it is not at first.
    late = [NAMES, row("alltoall", "all_push", "ll", 1, 2, 8, 10), row("alltoall", "bruck", "ll", 1, 2, 8, 11),
            row("alltoall", "all_push", "ll", 1, 2, 64, 30), row("alltoall", "bruck", "ll", 1, 2, 64, 20)]
    status, table, err = tune(scratch, late, "--near", "30")
    assert table.endswith('coll: alltoall, algo: bruck, proto: ll, radix: 2, from: "small.csv:5"}\n'), table
    shared = [MANY_PES[0].replace("64", "32"), *MANY_PES[1:]]
    assert "serves: {machine: host, cores: shared}" in tune(scratch, shared)[1]
    (Path(scratch) / "host.csv").write_text("".join(f"{line}\n" for line in SWEEP))
    status, _, err = tune(scratch, ON_GPUS, str(Path(scratch) / "host.csv"))
    assert status == 1 and "sweeps on hosts and on GPUs" in err, err
    refused(scratch, SWEEP[:3], "sweep with --algo all")
    refused(scratch, [*SWEEP, "reduce,1"], "small.csv:27: no row of chorus-sweep")
    refused(scratch, [*SWEEP, row("reduce", "one_shot", "ll", 1, 4, 64, "nan")], "small.csv:27: no row")
    for near in ("-1", "nan"):
        status, _, err = tune(scratch, SWEEP, "--near", near)
        assert status == 2 and "expected 0 or more" in err, err
    refused(scratch, [NAMES, SWEEP[15]], "reducescatter: no line of an algorithm")
    status, _, err = run(sys.executable, TUNE, "--info", INFO, scratch + "/none.csv")
    assert status == 1 and "none.csv: cannot read" in err, err
