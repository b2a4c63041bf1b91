#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tests that what changed can touch: those that run a program, library or script that is newer
than the last run of the tests, or is made of something newer. A line of output for each.

usage: changed.py BUILD BEGUN ENDED [--suite NAME]... [--no-suite NAME]...

  BUILD  a build folder, in which ninja has nothing left to do
  BEGUN  a file made when the last run began that passed, before it compiled anything; what is not in
         BUILD is compared with it; if there is none, all tests are printed
  ENDED  a file made when that run ended, with which what is in BUILD is compared

Files that a test reads and neither the build nor its command names, such as those in tests/golden,
count for all tests.
"""
import functools
import json
import os
import pathlib
import subprocess
import sys

READ_BY_TESTS = ("tests/golden", "tests/launch_here", "tests/ports.py", "examples", "README.md", "docs", "tuning/raw")


class Build:
    def __init__(self, folder, begun, ended):
        self.folder = folder
        self.root = pathlib.Path(__file__).resolve().parent.parent
        self.begun, self.ended = (os.stat(file).st_mtime for file in (begun, ended))
        self.made = {target["id"]: target["filename"] for target in self.introspect("--targets")}

    def introspect(self, what):
        return json.loads(self.output("meson", "introspect", what, str(self.folder)))

    @staticmethod
    def output(*command):
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout

    @functools.lru_cache(maxsize=None)
    def is_newer(self, path):
        path = pathlib.Path(os.path.normpath(self.folder / path))  # an absolute one stays as it is
        since = self.ended if self.folder in path.parents else self.begun
        return path.is_file() and path.stat().st_mtime > since

    @functools.lru_cache(maxsize=None)
    def is_remade(self, path):
        """Is the file, or anything that ninja makes it of, newer?"""
        inputs = self.output("ninja", "-C", str(self.folder), "-t", "inputs", os.path.relpath(path, self.folder))
        return self.is_newer(path) or any(map(self.is_newer, inputs.splitlines()))

    def is_touched(self, test):
        made = [path for target in test["depends"] for path in self.made[target]]
        return any(map(self.is_newer, test["cmd"])) or any(map(self.is_remade, made))

    def has_new_data(self):
        return any(self.is_newer(path)
                   for name in READ_BY_TESTS for path in [self.root / name, *(self.root / name).rglob("*")])


def is_asked(test, options):
    """Do `--suite NAME` and `--no-suite NAME`, each as often as one likes, let the test run, as in `meson test`?"""
    suites = {suite.rpartition(":")[2] for suite in test["suite"]}
    wanted, unwanted = ({name for word, name in options if word == which} for which in ("--suite", "--no-suite"))
    return (not wanted or bool(wanted & suites)) and not unwanted & suites


def main(folder, begun, ended, *words):
    options = list(zip(words[::2], words[1::2]))
    if not (os.path.exists(begun) and os.path.exists(ended)):
        build, tests = None, json.loads(Build.output("meson", "introspect", "--tests", folder))
    else:
        build = Build(pathlib.Path(folder).resolve(), begun, ended)
        tests = build.introspect("--tests")
    everything = build is None or build.has_new_data()
    asked = [test for test in tests if is_asked(test, options)]
    for name in sorted({test["name"] for test in asked if everything or build.is_touched(test)}):
        print(name)


if __name__ == "__main__":
    main(*sys.argv[1:])
