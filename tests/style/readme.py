# SPDX-License-Identifier: Apache-2.0
"""What the documents show is so: programs are the files they name and compile, commands and
paths exist."""
import re
import tempfile

import style

PROGRAM = "examples/hello.c"
LINES_MAX = 20
CODE = re.compile(r"^```c\n(.*?)^```$", re.M | re.S)
FLAGS = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-Iinclude"]
FOLDERS = "include|src|tests|tools|bench|examples|tuning|docs"
NAMED = re.compile(rf"`((?:{FOLDERS})/[\w./-]*|[A-Z]+\.md)`")


def program_problems(root, readme, files):
    blocks = CODE.findall(readme)
    program = style.read(root, PROGRAM) if PROGRAM in files else ""
    if not blocks or blocks[0] != program:
        yield f"README.md: its first program is not {PROGRAM}"
    if program.count("\n") > LINES_MAX:
        yield f"{PROGRAM}: {program.count(chr(10))} lines; at most {LINES_MAX}"


def compile_problems(root, path, text):
    for match in CODE.finditer(text):
        at = style.line_of(text, match.start()) + 1
        with tempfile.NamedTemporaryFile("w", suffix=".c") as snippet:
            snippet.write(f'#line {at} "{path}"\n{match.group(1)}')
            snippet.flush()
            status, out = style.tool("cc", *FLAGS, snippet.name, root=root)
        if status != 0:
            yield out.strip()


def name_problems(root, path, text, files):
    commands = re.findall(r"^([a-z |-]+)\)", style.read(root, "dev"), re.M) if "dev" in files else []
    known = {c for line in commands for c in re.findall(r"[a-z]+", line)}
    for match in re.finditer(r"\./dev ([a-z]+)", text):
        if match.group(1) not in known:
            yield f"{path}:{style.line_of(text, match.start())}: ./dev has no {match.group(1)}"
    for match in NAMED.finditer(text):
        if not any(f == match.group(1) or f.startswith(match.group(1)) for f in files):
            yield f"{path}:{style.line_of(text, match.start())}: no file {match.group(1)}"


def problems(root, files):
    if "README.md" in files:
        yield from program_problems(root, style.read(root, "README.md"), files)
    for path in files:
        if path.endswith(".md"):
            text = style.read(root, path)
            yield from compile_problems(root, path, text)
            yield from name_problems(root, path, text, files)


HELLO = "int main(void)\n{\n    return 0;\n}\n"
README = f"A library.\n\n```c\n{HELLO}```\n"
GOOD = {"README.md": README + "`docs/a.md`, `./dev test`\n", PROGRAM: HELLO,
        "dev": "case $1 in\nasan | test)\n", "docs/a.md": "text\n"}

style.run(
    problems,
    bad=[
        ("is not examples", {**GOOD, PROGRAM: HELLO.replace("0", "1")}),
        ("at most", {**GOOD, PROGRAM: HELLO + 20 * "\n"}),
        ("docs/a.md:2", {**GOOD, "docs/a.md": "```c\nint x = y;\n```\n"}),
        ("no lint", {**GOOD, "docs/a.md": "./dev lint\n"}),
        ("no file docs/b.md", {**GOOD, "docs/a.md": "See `docs/b.md`.\n"}),
    ],
    good=[GOOD],
    needs=["cc"],
)
