#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands that docs/tuning.md and docs/howto.md show print what the pages say.

test_docs_examples.py ROOT CHORUS_INFO: runs each chorus-info of these pages, with the table that
docs/tuning.md shows as mine.yaml. Lines that follow a command are its output, up to an empty one;
"..." stands for any lines.
"""
import os
import subprocess
import sys
import tempfile

root, program = sys.argv[1], os.path.abspath(sys.argv[2])
faults = []


def blocks(path):
    """The indented blocks of a page, as lists of lines with the number of the first."""
    block, first = [], 0
    with open(f"{root}/{path}", encoding="utf-8") as page:
        for number, line in enumerate(list(page) + ["\n"], 1):
            if line.startswith("    "):
                first = first if block else number
                block.append(line[4:].rstrip("\n"))
            elif block:
                yield first, block
                block = []


def run(command, folder):
    """What a command says, with the program of this build."""
    command = command.split("#")[0].replace("chorus-info", program, 1)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CHORUS_")}
    environment["XDG_CONFIG_HOME"] = folder
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, text=True, timeout=20,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.stdout.replace(program, "chorus-info").splitlines()


def matches(shown, said):
    """Are these the lines shown, where "..." may be any?"""
    at = 0
    for i, line in enumerate(shown):
        if line == "...":
            at = next((k for k in range(at, len(said)) if said[k] in shown[i + 1:i + 2]), len(said))
        elif at >= len(said) or said[at] != line:
            return False
        else:
            at += 1
    return True


with tempfile.TemporaryDirectory() as folder:
    for path in ("docs/tuning.md", "docs/howto.md"):
        for first, block in blocks(path):
            if block[0] == "version: 1":
                with open(f"{folder}/mine.yaml", "w", encoding="utf-8") as table:
                    table.write("\n".join(block) + "\n")
            for i, line in enumerate(block):
                command = line.removeprefix("$ ")
                if "chorus-info explain" not in command and command != "chorus-info check mine.yaml":
                    continue
                said = run(command, folder)
                if not said or not matches(block[i + 1:], said):
                    faults.append(f"{path}:{first + i}: {command} prints\n    " + "\n    ".join(said))
                if not line.startswith("$ "):
                    break
sys.exit("\n".join(faults) or 0)
