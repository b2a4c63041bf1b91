# SPDX-License-Identifier: Apache-2.0
"""The program chorusrun of the package."""
import os
import sys
from pathlib import Path


def main():
    program = Path(__file__).resolve().parent / "chorusrun"
    os.execv(program, [str(program), *sys.argv[1:]])
