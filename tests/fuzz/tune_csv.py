#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Any file is a sweep for chorus-tune, or refused with the file's name and no traceback.

    tune_csv.py CHORUS-TUNE CHORUS-INFO [--seconds S] [--seed N]

Each input is a file of the corpus with some random changes, made from its number alone. What is
written for it must be a table that chorus-info takes.
"""
import argparse
import contextlib
import functools
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import traceback

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus/tune_csv"
VALUES = ["", "0", "-1", "1e999", "nan", "inf", "1.5", "18446744073709551616", "0x10", " 7", "1_000", "x",
          "\u0663", "forced", "barrier", "\"", "a\"b", "9" * 5000]


def change_cell(dice, lines):
    i = dice.randrange(len(lines))
    cells = lines[i].split(",")
    cells[dice.randrange(len(cells))] = dice.choice(VALUES)
    lines[i] = ",".join(cells)


def drop_line(dice, lines):
    del lines[dice.randrange(len(lines))]


def repeat_line(dice, lines):
    lines.insert(dice.randrange(len(lines)), dice.choice(lines))


def swap_cells(dice, lines):
    i = dice.randrange(len(lines))
    cells = lines[i].split(",")
    dice.shuffle(cells)
    lines[i] = ",".join(cells)


def change_bytes(dice, lines):
    i = dice.randrange(len(lines))
    at = dice.randrange(len(lines[i]) + 1)
    lines[i] = lines[i][:at] + chr(dice.randrange(256)) + lines[i][at + dice.randrange(3):]


def cut_off(dice, lines):
    i = dice.randrange(len(lines))
    lines[i:] = [lines[i][:dice.randrange(len(lines[i]) + 1)]]


CHANGES = [change_cell, change_cell, drop_line, repeat_line, swap_cells, change_bytes, cut_off]


def input_of(number):
    dice = random.Random(number)
    lines = dice.choice(sorted(CORPUS.iterdir())).read_text(encoding="ascii").splitlines()
    for _ in range(dice.randint(0, 4)):
        dice.choice(CHANGES)(dice, lines) if lines else None
    return "\n".join(lines).encode("utf-8" if dice.random() < 0.5 else "latin-1", "replace")


def load(path, info):
    """chorus-tune as a module that asks chorus-info once."""
    loader = importlib.machinery.SourceFileLoader("tune", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("tune", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    module.known_algorithms = functools.lru_cache(module.known_algorithms)
    return module, [path, "--info", info]


def problem_with(tune, command, info, path):
    """What chorus-tune does wrong with a file, or nothing."""
    out, err = io.StringIO(), io.StringIO()
    sys.argv = [*command, str(path)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            tune.main()
    except SystemExit as end:
        said = err.getvalue()
        is_refusal = end.code == 1 and all(line.startswith("chorus-tune: ") for line in said.splitlines())
        return "" if is_refusal else f"ended with {end.code} and: {said}"
    except Exception:
        return traceback.format_exc()
    table = path.with_suffix(".yaml")
    table.write_text(out.getvalue(), encoding="utf-8")
    done = subprocess.run([info, "check", str(table)], capture_output=True, text=True, check=False)
    return f"a table that is refused: {done.stderr}" if done.returncode != 0 else ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tune")
    parser.add_argument("info", type=os.path.abspath)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    tune, command = load(args.tune, args.info)
    end, number = time.monotonic() + args.seconds, args.seed
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "fuzz.csv"
        while time.monotonic() < end:
            path.write_bytes(input_of(number))
            problem = problem_with(tune, command, args.info, path)
            if problem:
                print(f"input {number} (again: --seed {number}):\n{problem}")
                return 1
            number += 1
    print(f"tune_csv: {number - args.seed} inputs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
