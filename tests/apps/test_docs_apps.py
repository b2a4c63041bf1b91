# SPDX-License-Identifier: Apache-2.0
"""The programs of a page about libchorus-apps are compiled as they stand, and the first prints what the page says.

usage: test_docs_apps.py PAGE CHORUSRUN FOLDER FLAG...    FLAG is of the compiler; FOLDER gets the program
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path


def main():
    page, chorusrun, folder, *flags = sys.argv[1:]
    text = Path(page).read_text(encoding="utf-8")
    program = Path(folder) / Path(page).stem
    for code in re.findall(r"^    #include.*?^    }\n(?!\n    \S)", text, re.M | re.S):
        is_cplusplus = ".hpp>" in code
        compiler, suffix = (["c++", "-std=c++17"], ".cc") if is_cplusplus else (["cc", "-std=c11"], ".c")
        if "int main(" not in code or (is_cplusplus and shutil.which("c++") is None):
            continue
        source = program.with_suffix(suffix)
        source.write_text(re.sub(r"^    ", "", code, flags=re.M), encoding="utf-8")
        built = program.with_suffix(".cplusplus") if is_cplusplus else program
        subprocess.run([*compiler, "-Wall", "-Wextra", "-Werror", source, "-o", built, *flags], check=True)
        subprocess.run([chorusrun, "-n", "3", built], check=True, stdout=subprocess.DEVNULL)
    said = subprocess.run([chorusrun, "-n", "3", program], check=True, capture_output=True, text=True).stdout
    expected = re.search(r"prints on PE 1 `(.*?)`", text).group(1)
    if expected not in said.split("\n"):
        sys.exit(f"the page says {expected}, the program:\n{said}")


main()
