#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the time of `./dev test` went, by what builds and tests wrote down.

usage: times.py [BUILD...]

  BUILD...  build folders; those of `./dev test` that are here, if none is named

Seconds are those that compilers and tests ran, several at once: of compilers as many as there are
cores, of tests four for each core.
"""
import collections
import json
import pathlib
import sys

FOLDERS = ("build", "build-asan", "build-tsan")
LOGS = ("testlog", "testlog-asan", "testlog-tsan")
LONGEST = 12


def part_of(output):
    """The part of a build to which a file belongs."""
    path = pathlib.PurePath(output)
    if "kernels_" in path.name or path.match("tests/gpu/*"):
        return "code of GPUs"
    if path.parts[0] == "tests":
        return "tests" if path.suffix == ".o" else "tests, linked"
    return "the library" if path.name.startswith("src_") or path.parts[0] == "src" else "all else"


def compiled(build):
    """(file, seconds) of each command of the last complete build."""
    last = {}
    for line in (build / ".ninja_log").read_text(encoding="ascii").splitlines()[1:]:
        start, end, _, output, command = line.split("\t")
        last[output] = (command, (int(end) - int(start)) / 1000)
    return {command: (output, seconds) for output, (command, seconds) in last.items()}.values()


def tested(build):
    """(name, seconds) of each test of the last runs."""
    for log in filter(pathlib.Path.exists, (build / f"meson-logs/{name}.json" for name in LOGS)):
        for line in log.read_text(encoding="utf-8").splitlines():
            test = json.loads(line)
            yield test["name"], test["duration"]


def show(title, rows):
    rows = sorted(rows, key=lambda row: -row[1])
    if not rows:
        return
    print(f"{title}: {sum(seconds for _, seconds in rows):.0f} s for {len(rows)}")
    for name, seconds in rows[:LONGEST]:
        print(f"{seconds:9.1f}  {name}")


def main(folders):
    builds = [pathlib.Path(folder) for folder in folders or FOLDERS if pathlib.Path(folder, ".ninja_log").exists()]
    if not builds:
        sys.exit("times.py: no build folder here; run ./dev test first")
    for build in builds:
        commands = list(compiled(build))
        parts = collections.Counter()
        for output, seconds in commands:
            parts[part_of(output)] += seconds
        show(f"{build}, parts", parts.items())
        show(f"{build}, files", commands)
        show(f"{build}, tests", tested(build))


if __name__ == "__main__":
    main(sys.argv[1:])
