#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the harnesses of a build by clang, each for its share of the time, from the committed corpus.

    fuzz.py BUILD_DIR CHORUS-INFO [--seconds S] [--jobs N] [NAME...]

The seed is fixed, so that runs on one machine try much the same. Inputs that reach something new
are kept in BUILD_DIR/found/NAME, an input that fails in BUILD_DIR/found/NAME-crash-...
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
PYTHON = ["tune_csv"]  # what it feeds is no C
FLAGS = ["-seed=1", "-timeout=10", "-rss_limit_mb=2048", "-max_len=4096", "-close_fd_mask=1",
         "-print_final_stats=1"]
TAIL_BYTES = 64 << 10


def command_of(args, name, seconds):
    if name in PYTHON:
        return [sys.executable, HERE / f"{name}.py", TOP / "tools/chorus-tune",
                args.info, "--seconds", str(seconds)]
    found = args.build / "found" / name
    shutil.rmtree(found, ignore_errors=True)
    found.mkdir(parents=True)
    return [args.build / f"tests/fuzz/fuzz_{name}", *FLAGS, f"-max_total_time={max(1, int(seconds))}",
            f"-artifact_prefix={found}-", found, HERE / "corpus" / name]


def run(args, name, seconds):
    """Did it hold, and what it said."""
    words = [str(word) for word in command_of(args, name, seconds)]
    # To a file: some print megabytes a second, and the memory of this process would count as theirs.
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(words, stdout=output, stderr=output, check=False, timeout=seconds + 120,
                              env=os.environ | {"UBSAN_OPTIONS": "halt_on_error=1"})
        output.seek(max(0, output.seek(0, os.SEEK_END) - TAIL_BYTES))
        text = output.read().decode(errors="replace")
    if done.returncode != 0:
        said = text[max(0, text.find("rror:") - 100):][:4000]
        unit = re.search(r"Test unit written to (\S+)", text)
        again = f"\n  again: {words[0]} {unit.group(1)}" if unit else ""
        return False, f"{name} FAILED with {done.returncode}:\n{said}{again}"
    runs = re.search(r"number_of_executed_units: (\d+)", text)
    return True, f"{name}: {runs.group(1)} inputs" if runs else text.strip()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("info", metavar="CHORUS-INFO")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("names", nargs="*")
    args = parser.parse_intermixed_args()
    known = sorted(folder.name for folder in (HERE / "corpus").iterdir())
    unknown = [name for name in args.names if name not in known]
    if unknown:
        sys.exit(f"fuzz.py: no harness {unknown[0]}; there are {', '.join(known)}")
    names, failed = args.names or known, 0
    each = args.seconds * min(args.jobs, len(names)) / len(names)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for holds, text in pool.map(lambda name: run(args, name, each), names):
            print(text, flush=True)
            failed += not holds
    print(f"{len(names) - failed} harnesses held, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
