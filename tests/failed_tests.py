#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""failed_tests.py LOG: the tests that failed, from a testlog.json of Meson: for each its name, its result, and the
first and last lines that it wrote. Where output is cut, what a run of tests prints last is what is read."""
import json
import sys
from pathlib import Path

FIRST, LAST = 8, 12  # lines of a test


def some_of(lines):
    if len(lines) <= FIRST + LAST:
        return lines
    return lines[:FIRST] + [f"({len(lines) - FIRST - LAST} lines)"] + lines[-LAST:]


def main():
    for line in Path(sys.argv[1]).read_text(encoding="utf-8", errors="replace").splitlines():
        test = json.loads(line)
        if test["result"] in ("OK", "SKIP", "EXPECTEDFAIL"):
            continue
        print(f"{test['result']}: {test['name']}, after {test['duration']:.1f} s, exit status {test['returncode']}")
        for stream in ("stdout", "stderr"):
            for said in some_of((test.get(stream) or "").rstrip().splitlines()):
                print(f"    {said[:200]}")


main()
