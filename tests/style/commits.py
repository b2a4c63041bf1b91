# SPDX-License-Identifier: Apache-2.0
"""Titles of the commits that a change brings, and of the last: "area: what", under 60
characters; then a blank line and a body."""
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


def git(*command):
    done = subprocess.run(["git", "-C", str(style.ROOT), *command], capture_output=True, text=True,
                          check=False)
    return done.stdout if done.returncode == 0 else ""


def log():
    """Messages since the branch left the main line; where there is no such line, the last."""
    main = next((b for b in ("origin/main", "main") if git("rev-parse", "--verify", b)), "HEAD")
    fork = git("merge-base", main, "HEAD").strip()
    new = git("log", "--no-merges", "-z", "--format=%h %B", f"{fork}..HEAD")
    last = git("log", "-n", "1", "-z", "--format=%h %B")
    for entry in filter(None, (new or last).split("\0")):
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
