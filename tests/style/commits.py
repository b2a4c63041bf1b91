# SPDX-License-Identifier: Apache-2.0
"""Commit titles: "area: what", under 60 characters; then a blank line and a body."""
import re
import subprocess

import style

TITLE_MAX = 59


def faults(title, body):
    if len(title) > TITLE_MAX:
        yield f"{len(title)} characters; under 60"
    if not re.match(r"^[a-z0-9_./-]+(?:, [a-z0-9_./-]+)*: \S", title):
        yield "not 'area: what'"
    if title.endswith("."):
        yield "ends in a full stop"
    if body and not body.startswith("\n"):
        yield "no blank line before the body"


def problems(root, files):
    """The snippets are messages in files; the tree's messages are git's."""
    messages = [(f, style.read(root, f)) for f in files] if root != style.ROOT else log()
    for name, message in messages:
        title, _, body = message.strip("\n").partition("\n")
        yield from (f"{name}: '{title}': {fault}" for fault in faults(title, body))


def log():
    done = subprocess.run(["git", "-C", str(style.ROOT), "log", "--no-merges", "-n", "500", "-z",
                           "--format=%h %B"], capture_output=True, text=True, check=False)
    for entry in filter(None, done.stdout.split("\0")):
        yield tuple(entry.split(" ", 1))


style.run(
    problems,
    bad=[
        ("under 60", {"m": "heap: " + 54 * "x" + "\n"}),
        ("not 'area", {"m": "Fix the heap\n"}),
        ("full stop", {"m": "heap: coalesce both neighbours.\n"}),
        ("no blank", {"m": "heap: coalesce\nboth neighbours\n"}),
    ],
    good=[{"m": "heap: coalesce both neighbours\n\nWithout it the heap shatters.\n"}],
    needs=["git"],
)
