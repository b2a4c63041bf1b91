# SPDX-License-Identifier: Apache-2.0
"""Every header compiles alone and has its guard."""
import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor

import style

WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-Wno-psabi"]


def command(path):
    flags = ["-std=gnu11", "-D_GNU_SOURCE"]
    if path.startswith(style.PUBLIC):
        flags = ["-std=c99", "-Wstrict-prototypes"]
    return ["cc", *flags, *WARNINGS, "-fsyntax-only", "-Iinclude", "-Iinclude/compat", "-Isrc", "-Itests", "-I.",
            f"-I{style.BUILD / 'src'}", "-x", "c"]


# Those that need CUDA end in _cuda.h; without its compiler their guard alone is looked at.
NVCC = shutil.which("nvcc", path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin")


def compile_alone(root, path):
    if not path.endswith("_cuda.h"):
        return style.tool(*command(path), path, root=root)
    if NVCC is None:
        return 0, ""
    return style.tool(NVCC, "-arch=sm_90", "-std=c++17", "-x", "cu", "-ptx", "-o", os.devnull,
                      "-Iinclude", "-Isrc", path, root=root)


def problem(root, path):
    text = style.read(root, path)
    code = style.blank(text, strings=False)
    guard = re.search(r"^\s*#ifndef (\w+_H)\n#define \1\n", code)
    if guard is None or not re.search(rf"#endif /\* {guard.group(1)} \*/\s*$", text):
        return f"{path}: no guard '#ifndef X_H, #define X_H ... #endif /* X_H */' around it"
    status, out = compile_alone(root, path)
    return out.strip() if status != 0 else None


def problems(root, files):
    headers = [f for f in files if f.endswith(".h")]
    with ThreadPoolExecutor(2) as pool:
        yield from filter(None, pool.map(lambda path: problem(root, path), headers))


GUARDED = "/* {0} */\n#ifndef X_H\n#define X_H\n\n{0}\n\n#endif /* X_H */\n"

style.run(
    problems,
    bad=[
        ("no guard", {"src/x.h": "int x;\n"}),
        ("no guard", {"src/x.h": "#pragma once\nint x;\n"}),
        ("size_t", {"src/x.h": GUARDED.format("size_t x;")}),
        ("prototype", {"include/chorus/x.h": GUARDED.format("int f();")}),
    ],
    good=[{"src/x.h": GUARDED.format("#include <stddef.h>\nsize_t f(void);")}],
    needs=["cc"],
)
