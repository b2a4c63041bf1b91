# SPDX-License-Identifier: Apache-2.0
"""clang finds nothing to warn of in what gcc compiled without a warning."""
from concurrent.futures import ThreadPoolExecutor

import style

CLANG = "clang-14"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wstrict-prototypes",
            "-Wcast-function-type", "-Werror", "-Wno-unknown-attributes", "-Wno-unknown-warning-option"]


def problem(source, flags, folder):
    status, out = style.tool(CLANG, "-fsyntax-only", *WARNINGS, *flags, source, root=folder)
    return out.strip() if status != 0 else None


def problems(root, files):
    if root != style.ROOT:
        jobs = [(f, [], root) for f in files]
    else:
        jobs = [(str(root / s), f, d) for s, f, d in style.compile_commands(style.BUILD)]
    with ThreadPoolExecutor(2) as pool:
        yield from filter(None, pool.map(lambda job: problem(*job), jobs))


style.run(
    problems,
    bad=[("conversion", {"x.c": "int f(long x);\nint f(long x)\n{\n    return x;\n}\n"})],
    good=[{"x.c": "int f(long x);\nint f(long x)\n{\n    return (int)x;\n}\n"}],
    needs=[CLANG],
)
