# SPDX-License-Identifier: Apache-2.0
"""The table of calls inside kernels to far peers. usage: test_bench_device_far.py FAR.py"""
import subprocess
import sys
import tempfile
from pathlib import Path

HEAD = "library,call,scope,bytes,ctas,pes,time_us,GBps,wrong,refused"


def table(*lines):
    """Exit status, the words of the table's lines, and the lines of the CSV."""
    with tempfile.TemporaryDirectory() as folder:
        rows, out = Path(folder) / "rows.csv", Path(folder) / "out.csv"
        rows.write_text("".join(f"{line}\n" for line in lines))
        done = subprocess.run([sys.executable, sys.argv[1], str(rows), str(out)], capture_output=True, text=True,
                              check=False)
        assert done.stderr == "", done.stderr
        return done.returncode, [line.split() for line in done.stdout.splitlines()], out.read_text().splitlines()


def ours(call, scope, count, ctas, us, end="0,"):
    return f"chorus,{call},{scope},{count},{ctas},2,{us},0.00,{end}"


def theirs(who, call, count, us):
    return f"{who},{call},host,{count},1,2,{us},0.00,0,"


# The medians of three rounds; what is within its target, and what is not.
status, said, found = table(
    "# run: three rounds", HEAD, ours("put_signal", "thread", 8, 1, 9), ours("put_signal", "thread", 8, 1, 11),
    HEAD, ours("put_signal", "thread", 8, 1, 30), theirs("host", "put_signal", 8, 8), HEAD,
    ours("barrier", "block", 0, 1, "14.500"), theirs("host", "barrier", 0, 11), ours("put", "block", 1048576, 1, 200),
    ours("put", "block", 1048576, 4, 200), theirs("stream", "put", 1048576, 160), theirs("host", "put", 1048576, 150))
assert status == 0, said
assert said[2] == "put_signal thread 8 1 11.00 0.00 0.091 8.00 3.00 1.38 - -".split(), said[2]
assert said[3] == "barrier block 0 1 14.50 0.00 0.069 11.00 3.50! 1.32 - -".split(), said[3]
assert said[4] == "put block 1048576 1 200.00 5.24 0.005 150.00 50.00 1.33 160.00 0.80!".split(), said[4]
assert said[5][-1] == "0.80", said[5]
assert found[1] == "put_signal,thread,8,1,11.000,9.000,30.000,0.001,0.091,8.000,3.000,1.375,,,", found[1]
assert found[3].endswith(",1.333,160.000,0.800,"), found[3]
# What is refused is no failure; wrong data and other codes are.
status, said, found = table(HEAD, ours("p", "thread", 8, 1, 9), ours("reduce", "block", 8, 1, 0, "0,ERR_UNSUPPORTED"),
                            theirs("host", "reduce", 8, 12))
assert status == 0 and said[3] == "reduce block 8 1 refused 12.00 ERR_UNSUPPORTED".split(), said
assert said[-1][:4] == ["2", "rows,", "1", "refused,"] and found[2] == "reduce,block,8,1,,,,,,12.000,,,,,ERR_UNSUPPORTED", found
status, said, _ = table(HEAD, ours("p", "thread", 8, 1, 9), ours("p", "thread", 8, 1, 0, "3,"))
assert status == 1 and said[-2][:3] == ["fault:", "chorus:", "p"], said
assert table(HEAD, ours("p", "thread", 8, 1, 9), ours("sync", "block", 0, 1, 0, "0,ERR_TIMEOUT"))[0] == 1
# Hosts alone are no table, and neither is nothing.
assert table(HEAD, theirs("host", "p", 8, 9))[0] == 1
assert table("# nothing")[0] == 1
