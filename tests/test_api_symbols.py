# SPDX-License-Identifier: Apache-2.0
"""What libchorus.so exports is what the headers declare, and is what golden/symbols.txt holds.

usage: test_api_symbols.py LIBRARY [--write]    with --write, bring symbols.txt up to date
"""
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
GOLDEN = HERE / "golden" / "symbols.txt"
DECLARED = re.compile(r'__attribute__\(\(visibility\("default"\)\)\)[^;]*?\b(chorusx?_\w+)\s*\(')


def exported(library):
    out = subprocess.run(["nm", "-D", "--defined-only", library], check=True, text=True,
                         capture_output=True).stdout
    symbols = {line.split()[-1] for line in out.splitlines()}
    bare = {s for s in symbols if "@@CHORUS_0" not in s} - {"CHORUS_0"}
    return bare | {s.removesuffix("@@CHORUS_0") for s in symbols if "@@" in s}


def declared():
    out = subprocess.run(["cc", "-E", "-P", "-I", HERE.parent / "include", "-x", "c", "-"],
                         input='#include "chorus/chorusx.h"\n', check=True, text=True,
                         capture_output=True).stdout
    return set(DECLARED.findall(out))


def differences(left, right, only_left, only_right):
    yield from (f"{name}: {only_left}" for name in sorted(left - right))
    yield from (f"{name}: {only_right}" for name in sorted(right - left))


def main():
    have = exported(sys.argv[1])
    if sys.argv[2:] == ["--write"]:
        GOLDEN.write_text("".join(f"{name}\n" for name in sorted(have)))
    golden = set(GOLDEN.read_text().split())
    found = list(differences(have, declared(), "exported, but no header declares it",
                             "declared, but not exported"))
    found += differences(have, golden, "new; if it is meant to be, run with --write",
                         "gone, and programs may use it; if it is meant to be, run with --write")
    print("\n".join(found))
    return 1 if found else 0


sys.exit(main())
