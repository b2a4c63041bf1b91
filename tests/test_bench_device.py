# SPDX-License-Identifier: Apache-2.0
"""The table of calls inside kernels. usage: test_bench_device.py DEVICE.py"""
import subprocess
import sys
import tempfile
from pathlib import Path

HEAD = "library,call,scope,bytes,ctas,pes,time_us,GBps,wrong"


def table(*lines):
    """Exit status, and the lines' words."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        path.write_text("".join(f"{line}\n" for line in lines))
        done = subprocess.run([sys.executable, sys.argv[1], str(path)], capture_output=True,
                              text=True, check=False)
    return done.returncode, [line.split() for line in done.stdout.splitlines()]


OURS = "chorus,reduce,block,4,1,4,1.500,0.00,0"
ALONE = "chorus,put,block,4096,8,4,2.000,2.05,0"
status, rows = table("# run: one", HEAD, OURS, ALONE, HEAD, "nvshmem,reduce,block,4,1,4,6.000,0.00,0")
assert status == 0, rows
assert rows[1] == ["reduce", "block", "4", "1", "1.50", "0.00", "-", "6.00", "0.25", "-"], rows
assert rows[2] == ["put", "block", "4096", "8", "2.00", "2.05", "-", "-", "-", "-"], rows
assert rows[3] == "chorus / nvshmem: mean 0.25, largest 0.25, 0 of 1 rows above 1.02".split(), rows
assert rows[4][0] == "2", rows
status, rows = table(HEAD, OURS, HEAD, "compat,reduce,block,4,1,4,9.000,0.00,0", HEAD,
                     "nvshmem,reduce,block,4,1,4,6.000,0.00,0")
assert rows[1][6:] == ["9.00", "6.00", "0.25", "1.50"], rows
assert rows[3] == "compat / nvshmem: mean 1.50, largest 1.50, 1 of 1 rows above 1.02".split(), rows
status, rows = table(HEAD, OURS, "nvshmem,reduce,block,4,1,4,0.000,0.00,3")
assert status == 1 and rows[-1][2] == "1", rows
assert table("# nothing")[0] == 1
