# SPDX-License-Identifier: Apache-2.0
"""C as clang-format 14 writes it."""
import re

import style

TOOL = "clang-format-14"
STYLE = style.read(style.ROOT, ".clang-format")


def problems(root, files):
    sources = [f for f in files if f.endswith((".c", ".h", ".cu", ".cuh"))]
    if not sources:
        return
    if root != style.ROOT:
        (root / ".clang-format").write_text(STYLE)
    _, out = style.tool(TOOL, "--style=file", "--dry-run", "--Werror", *sources, root=root)
    for path in sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", out, re.M))):
        lines = re.findall(rf"^{re.escape(path)}:(\d+):", out, re.M)
        yield f"{path}:{lines[0]}: not as {TOOL} writes it; run {TOOL} -i {path}"


style.run(
    problems,
    bad=[("x.c:", {"x.c": "int f(void)\n{\n  return 0;\n}\n"})],
    good=[{"x.c": "int f(void)\n{\n    return 0;\n}\n"}],
    needs=[TOOL],
)
