# SPDX-License-Identifier: Apache-2.0
"""The code that docs/solvers.md explains is that of bench/apps.

usage: test_docs_solvers.py PAGE FOLDER
"""
import re
import sys
from pathlib import Path


def main():
    page, folder = map(Path, sys.argv[1:])
    sources = "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.c")))
    functions = re.findall(r"^    static .*?^    }$", page.read_text(encoding="utf-8"), re.M | re.S)
    if not functions:
        sys.exit(f"{page} has no function")
    for function in functions:
        code = re.sub(r"^    ", "", function, flags=re.M)
        if code not in sources:
            sys.exit(f"{folder} does not have this function of {page}:\n{code}")


main()
