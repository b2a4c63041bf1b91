#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""failed_tests.py LOG: the tests that failed, from a testlog.json of Meson: for each its name, its result, and the
last lines that it wrote. Where output is cut, what a run of tests prints last is what is read."""
import json
import sys
from pathlib import Path

LINES = 12  # of a test


def main():
    for line in Path(sys.argv[1]).read_text(encoding="utf-8", errors="replace").splitlines():
        test = json.loads(line)
        if test["result"] in ("OK", "SKIP", "EXPECTEDFAIL"):
            continue
        print(f"{test['result']}: {test['name']}, after {test['duration']:.1f} s, exit status {test['returncode']}")
        wrote = (test.get("stdout") or "") + (test.get("stderr") or "")
        for said in wrote.rstrip().splitlines()[-LINES:]:
            print(f"    {said[:200]}")


main()
