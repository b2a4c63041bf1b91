# SPDX-License-Identifier: Apache-2.0
"""What the style checks share.

A check is a function problems(root, files): root is a folder, files the paths in it that the
project owns, relative to root; it yields "path:line: what is wrong; what to do". run() first
tries it on snippets, written to a folder of their own: each bad one must give a problem that
contains the text named, each good one none. Then it tries the tree.
"""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The build folder, for checks of what the compiler made; the build gives it.
BUILD = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / "build"
SKIP = 77
FOLDERS = ["base", "boot", "device", "heap", "transport", "team", "coll", "select", "api", "compat", "apps"]
PUBLIC = "include/chorus/"


def tree_files():
    """Tracked files and new ones that git does not ignore; without git, all but builds."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"],
        capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        return sorted({f for f in listed.stdout.splitlines() if (ROOT / f).is_file()})
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [d for d in folders if d != ".git" and not d.startswith("build")]
        found += [str((Path(folder) / n).relative_to(ROOT)) for n in names]
    return sorted(found)


def is_c(path):
    return path.endswith((".c", ".h"))


def read(root, path):
    return (Path(root) / path).read_text(encoding="utf-8", errors="surrogateescape")


TOKENS = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def blank(text, strings=True):
    """C text with comments, and the insides of strings if asked, turned into spaces."""
    def spaces(match):
        token = match.group(0)
        if token[0] == "/":
            return re.sub(r"[^\n]", " ", token)
        return token[0] + " " * (len(token) - 2) + token[-1] if strings else token
    return TOKENS.sub(spaces, text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def tool(*command, root=ROOT):
    """Run a tool in root; its exit status and what it printed."""
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, check=False)
    return done.returncode, done.stdout + done.stderr


def compile_commands(build, root=ROOT):
    """What a build compiles of root: source, its flags for the preprocessor and the language,
    and the folder they hold in."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = (root / entry["directory"] / entry["file"]).resolve()
        words = shlex.split(entry["command"])
        flags = [w for w in words if w.startswith(("-D", "-I", "-std="))]
        flags += [w for w in words if w.startswith("-isystem") and w != "-isystem"]
        flags += [w for i, word in enumerate(words[:-1]) if word == "-isystem"
                  for w in (word, words[i + 1])]
        if root.resolve() in source.parents and source.suffix == ".c":
            yield str(source.relative_to(root.resolve())), flags, entry["directory"]


def try_snippet(problems, snippet):
    with tempfile.TemporaryDirectory() as folder:
        for path, text in snippet.items():
            target = Path(folder) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        return list(problems(Path(folder), sorted(snippet)))


def self_test(problems, bad, good):
    for expected, snippet in bad:
        found = try_snippet(problems, snippet)
        if not any(expected in p for p in found):
            yield f"self-test: nothing about '{expected}' in {snippet}; found {found}"
    for snippet in good:
        for problem in try_snippet(problems, snippet):
            yield f"self-test: a good snippet is refused: {problem}"


def run(problems, bad, good, needs=()):
    for name in needs:
        if shutil.which(name) is None:
            print(f"skipped: {name} is not here")
            sys.exit(SKIP)
    found = list(self_test(problems, bad, good)) or list(problems(ROOT, tree_files()))
    for problem in found:
        print(problem)
    sys.exit(1 if found else 0)
