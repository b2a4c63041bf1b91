# SPDX-License-Identifier: Apache-2.0
"""clang-tidy, with the checks of .clang-tidy: likely bugs, unchecked results, long functions."""
import json
import os
import re
from concurrent.futures import ThreadPoolExecutor

import style

TIDY = "clang-tidy-14"
CONFIG = style.read(style.ROOT, ".clang-tidy")


def findings(root, build, source):
    _, out = style.tool(TIDY, "--quiet", "-p", str(build), source, root=root)
    found = re.findall(r"^(\S+?)(:\d+):\d+: (?:warning|error)(: .*)$", out, re.M)
    return [os.path.relpath(os.path.join(build, path), root) + at + what for path, at, what in found]


def problems(root, files):
    if root == style.ROOT:
        build, sources = style.BUILD, {s for s, _, _ in style.compile_commands(style.BUILD)}
    else:
        (root / ".clang-tidy").write_text(CONFIG)
        build, sources = root, files
        commands = [{"directory": str(root), "file": f, "command": f"cc -c {f}"} for f in files]
        (root / "compile_commands.json").write_text(json.dumps(commands))
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda s: findings(root, build, s), sorted(sources))
        yield from sorted({line for lines in found for line in lines})


LONG = "void g(void);\nvoid f(void);\nvoid f(void)\n{\n" + 71 * "    g();\n" + "}\n"

style.run(
    problems,
    bad=[
        ("cert-err33-c", {"x.c": "#include <stdio.h>\nvoid f(FILE *x);\n"
                                 "void f(FILE *x)\n{\n    fflush(x);\n}\n"}),
        ("function-size", {"x.c": LONG}),
        ("clang-analyzer", {"x.c": "int f(int *p);\nint f(int *p)\n{\n    if (p) return 0;\n"
                                   "    return *p;\n}\n"}),
    ],
    good=[{"x.c": "#include <stdio.h>\nvoid f(FILE *x);\nvoid f(FILE *x)\n{\n    (void)fflush(x);\n}\n"}],
    needs=[TIDY],
)
