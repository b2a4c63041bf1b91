# SPDX-License-Identifier: Apache-2.0
"""The program of a page about libchorus-apps is compiled as it stands, and prints what the page says.

usage: test_docs_apps.py PAGE CHORUSRUN FOLDER FLAG...    FLAG is of the compiler; FOLDER gets the program
"""
import re
import subprocess
import sys
from pathlib import Path


def main():
    page, chorusrun, folder, *flags = sys.argv[1:]
    text = Path(page).read_text(encoding="utf-8")
    code = re.search(r"^    #include.*?^    }\n(?!\n    \S)", text, re.M | re.S).group(0)
    program = Path(folder) / Path(page).stem
    source = program.with_suffix(".c")
    source.write_text(re.sub(r"^    ", "", code, flags=re.M), encoding="utf-8")
    subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", source, "-o", program, *flags], check=True)
    said = subprocess.run([chorusrun, "-n", "3", program], check=True, capture_output=True, text=True).stdout
    expected = re.search(r"prints on PE 1 `(.*?)`", text).group(1)
    if expected not in said.split("\n"):
        sys.exit(f"the page says {expected}, the program:\n{said}")


main()
