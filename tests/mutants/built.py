# SPDX-License-Identifier: Apache-2.0
"""Programs of a build with one of its sources replaced."""
import shlex
import subprocess

INSIDE = "libchorus_inside.a"


def commands_of(build, target):
    """What ninja runs for a target: lists of words, the last one links."""
    lines = subprocess.run(["ninja", "-C", str(build), "-t", "commands", target], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    return [shlex.split(line) for line in lines]


def compile_in_place_of(build, holder, file, source):
    """The object made from this source, and that of `file`, which the target `holder` has."""
    command = next(c for c in commands_of(build, holder) if c[-1].endswith("/" + file))
    at = command.index("-o") + 1
    original, command[at], command[-1] = command[at], str(source.with_suffix(".o")), str(source)
    command[command.index("-MF") + 1] = str(source.with_suffix(".d"))
    subprocess.run(command + ["-w"], cwd=build, check=True)
    return command[at], original


def link(build, target, replaced, original, out):
    """The target with this object, before what an archive has."""
    words = [word for word in commands_of(build, target)[-1] if word != original]
    at = words.index("-o") + 1
    words[at:at + 1] = [str(out), replaced]
    subprocess.run(words, cwd=build, check=True)
