# SPDX-License-Identifier: Apache-2.0
"""A folder includes from itself, from folders before it and from chorus/; one header knows the machine."""
import re

import style

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
CONDITION = re.compile(r"^\s*#\s*(?:el)?if.*$", re.M)
STANDARD = {"stddef.h", "stdint.h"}


def include_problem(path, quote, target):
    parts, to = path.split("/"), target.split("/")
    if path.startswith("src/") and quote == '"':
        folder = parts[1]
        if to[0] == "chorus":
            return None
        if to[0] not in style.FOLDERS or len(to) < 2:
            return f"include \"{target}\"; write it from src/, as \"{folder}/{target}\""
        if folder == "apps" and to[0] != folder:
            return f"apps/ includes {target}; it is over the public calls, and includes nothing else of src/"
        if style.FOLDERS.index(to[0]) > style.FOLDERS.index(folder):
            return f"{folder}/ includes {target}; folders go {' < '.join(style.FOLDERS)}"
    if path.startswith("include/") and path.endswith(".h"):
        if to[0] != "chorus" and target not in STANDARD and not path.startswith("include/compat/"):
            return f"include {target}; public headers need {', '.join(sorted(STANDARD))} alone"
        if to[0] in style.FOLDERS:
            return f"include {target}; the public headers know nothing of src/"
    if path.startswith("examples/") and quote == '"' and to[0] != "chorus":
        return f"include \"{target}\"; an example sees what users see"
    return None


def condition_problem(path, line):
    if "__CUDACC__" in line and not re.match(r"(src/base/exec\w*|include/compat/nvshmem\w*)\.h$", path):
        if not path.endswith((".cu", ".cuh")):
            return "__CUDACC__ outside base/exec.h; give exec.h a primitive"
    if re.search(r"\bHAVE_", line):
        return "#if HAVE_; let meson choose a file with the same symbols"
    return None


def problems(root, files):
    for path in files:
        if not path.endswith((".c", ".h", ".cu", ".cuh")):
            continue
        text = style.blank(style.read(root, path), strings=False)
        for match in INCLUDE.finditer(text):
            problem = include_problem(path, *match.groups())
            if problem:
                yield f"{path}:{style.line_of(text, match.start(2))}: {problem}"
        for match in CONDITION.finditer(text):
            problem = condition_problem(path, match.group(0))
            if problem:
                yield f"{path}:{style.line_of(text, match.start())}: {problem}"


style.run(
    problems,
    bad=[
        ("base/ includes team/team.h", {"src/base/x.c": '#include "team/team.h"\n'}),
        ("apps/ includes base/x.h", {"src/apps/x.c": '#include "base/x.h"\n'}),
        ("x.c:2: include", {"src/base/x.c": '\n#include "error.h"\n'}),
        ("public headers", {"include/chorus/x.h": "#include <stdio.h>\n"}),
        ("know nothing", {"include/compat/x.h": '#include "base/error.h"\n'}),
        ("users see", {"examples/x.c": '#include "base/error.h"\n'}),
        ("give exec.h", {"src/coll/x.h": "#ifdef __CUDACC__\n#endif\n"}),
        ("same symbols", {"src/boot/x.c": "#if defined(HAVE_PMIX)\n#endif\n"}),
    ],
    good=[
        {"src/team/x.c": '#include "team/x.h"\n#include "base/error.h"\n#include "chorus/lists.h"\n'
                         '#include <stdio.h>\n/* #include "api/context.h" */\n'},
        {"src/base/exec.h": "#ifdef __CUDACC__\n#endif\n"},
        {"include/compat/nvshmem.h": "#ifdef __CUDACC__\n#endif\n"},  # as NVSHMEM's, for hosts and kernels
        {"include/compat/shmem.h": '#include <stdio.h>\n#include "chorus/chorus.h"\n'},
    ],
)
