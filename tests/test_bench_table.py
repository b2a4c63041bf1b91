# SPDX-License-Identifier: Apache-2.0
"""The short table that a run on GPUs ends with. usage: test_bench_table.py TABLE"""
import subprocess
import sys
import tempfile
from pathlib import Path

PLAIN = "coll,algo,proto,ctas,dtype,op,pes,bytes,time_us_p50,wrong,rule"
BESIDE = "coll,algo,proto,ctas,dtype,op,pes,bytes,time_us_p50,wrong,nccl_us,nccl_ratio,nccl_windows_ratio,rule"


def table(*lines):
    """Exit status, and the lines' words."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        path.write_text("".join(f"{line}\n" for line in lines))
        done = subprocess.run([sys.executable, sys.argv[1], str(path), folder + "/none.csv"],
                              capture_output=True, text=True, check=False)
    return done.returncode, [line.split() for line in done.stdout.splitlines()]


status, rows = table(
    "# command: one", BESIDE, "fcollect,ring,ll,2,f32,none,4,16,3.5,0,7.0,0.500,0.750,t.yaml:3",
    "fcollect,ring,ll,2,f32,none,4,64,9.25,0,,,,t.yaml:3",
    "# command: two", PLAIN, "fcollect,push,ll,1,f32,none,4,16,3.0,0,forced",
    "fcollect,push,ll,8,f32,none,4,16,2.0,0,forced")
assert status == 0, rows
assert rows[1] == ["fcollect", "64", "ring:ll", "x2", "3.50", "0.500", "0.750", "-", "push:ll", "x8", "2.00"], rows
assert rows[2] == ["fcollect", "256", "ring:ll", "x2", "9.25", "-", "-", "-", "-", "-"], rows
status, rows = table(PLAIN, "fcollect,push,ll,8,f32,none,4,16,2.0,3,forced")
assert status == 1 and rows[-1][2] == "1", rows
assert rows[-1][-1] == "data", rows
status, rows = table(PLAIN, "fcollect,push,ll,8,f32,none,4,16,2.0,,forced")
assert status == 0 and rows[-1][-3:] == ["1", "not", "checked"], rows
assert table("# nothing")[0] == 1
