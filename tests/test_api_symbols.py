# SPDX-License-Identifier: Apache-2.0
"""What a library exports is what a header declares, and is what a file of golden/ holds.

usage: test_api_symbols.py LIBRARY [HEADER GOLDEN] [--write]    with --write, bring the file up to date

Without HEADER and GOLDEN, of libchorus.so: chorus/chorusx.h and symbols.txt. What another header includes of
that is expected of libchorus.so alone.
"""
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CORE = "chorus/chorusx.h"
DECLARED = re.compile(r'__attribute__\(\(visibility\("default"\)\)\)[^;]*?\b(chorusx?_\w+)\s*\(')


def exported(library):
    out = subprocess.run(["nm", "-D", "--defined-only", library], check=True, text=True,
                         capture_output=True).stdout
    symbols = {line.split()[-1] for line in out.splitlines()}
    bare = {s for s in symbols if "@@CHORUS_0" not in s} - {"CHORUS_0"}
    return bare | {s.removesuffix("@@CHORUS_0") for s in symbols if "@@" in s}


def declared(header):
    out = subprocess.run(["cc", "-E", "-P", "-I", HERE.parent / "include", "-x", "c", "-"],
                         input=f'#include "{header}"\n', check=True, text=True,
                         capture_output=True).stdout
    return set(DECLARED.findall(out)) - (declared(CORE) if header != CORE else set())


def differences(left, right, only_left, only_right):
    yield from (f"{name}: {only_left}" for name in sorted(left - right))
    yield from (f"{name}: {only_right}" for name in sorted(right - left))


def main():
    library, *rest = [a for a in sys.argv[1:] if a != "--write"]
    header, name = rest or (CORE, "symbols.txt")
    have, path = exported(library), HERE / "golden" / name
    if "--write" in sys.argv:
        path.write_text("".join(f"{name}\n" for name in sorted(have)))
    golden = set(path.read_text().split())
    found = list(differences(have, declared(header), "exported, but no header declares it",
                             "declared, but not exported"))
    found += differences(have, golden, "new; if it is meant to be, run with --write",
                         "gone, and programs may use it; if it is meant to be, run with --write")
    print("\n".join(found))
    return 1 if found else 0


sys.exit(main())
