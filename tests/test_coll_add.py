# SPDX-License-Identifier: Apache-2.0
"""Adding an algorithm takes its header and its row, and nothing else.

usage: test_coll_add.py FOLDER COMPILER...

A copy of the sources gets a broadcast of its own in that way, as CONTRIBUTING.md shows it. The
simulator must then run it, right and by the formulas of its row; with a wrong formula it must
say so. No file that the library's kernels include may be written again, unless the row has a kernel,
and none that kernels of programs include in any case.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-DCH_SIM", "-O0", "-w"]
FORMULAS = "src/coll/algorithm.c"  # all that sees what the row says of steps and wire
OTHERS = ["tests/sim/atomic.c", "tests/sim/clock.c", "tests/sim/fiber.c", "tests/sim/memory.c", "tests/sim/net.c",
          "tests/sim/drive.c", "tests/sim/plan.c", "tests/sim/instance.c", "tests/test_sim_coll.c",
          "tests/ref/ref_coll.c", "src/coll/reduce.c", "src/team/sync.c"]
ROW = """    X(broadcast, example, simple, ch_broadcast_example, CH_NEED_map, 0, 1, {wire}, {kernel}) \\
"""
HEADER = """#ifndef CH_BROADCAST_EXAMPLE_H
#define CH_BROADCAST_EXAMPLE_H

#include "coll/primitives/primitives.h"

{body}
#endif
"""
BEFORE = "    X(broadcast, tree, simple,"


def add(src):
    """The header, whose algorithm is ch_broadcast_pull under another name."""
    text = (src / "coll/algo/inside_kernels.h").read_text()
    [body] = re.findall(r"^CH_FN chorus_status ch_broadcast_pull\(.*?^}\n", text, re.M | re.S)
    body = body.replace("ch_broadcast_pull", "ch_broadcast_example")
    (src / "coll/algo/broadcast_example.h").write_text(HEADER.format(body=body))


def add_row(src, wire, kernel="plain"):
    rows = (TOP / "src/coll/algorithm.h").read_text()
    assert rows.count(BEFORE) == 1
    (src / "coll/algorithm.h").write_text(rows.replace(BEFORE, ROW.format(wire=wire, kernel=kernel) + BEFORE))


def included(src, compiler, files):
    """All that these files of CUDA include, and when each was last written."""
    rules = subprocess.run([*compiler, "-x", "c", "-MM", "-MG", "-D__CUDACC__", f"-I{src}", f"-I{TOP}/include",
                            *files], check=True, capture_output=True, text=True).stdout
    return {file: os.stat(file).st_mtime_ns for file in rules.replace("\\\n", " ").split() if os.path.exists(file)}


def seen_by_kernels(src, compiler):
    """What the kernels of the library and those of programs are made of."""
    made = [src / "coll/kernel_list.h", src / "coll/kernel_bodies.h"]
    subprocess.run([TOP / "src/coll/all-headers", src, src / "coll/all.h", src / "all.d"], check=True)
    subprocess.run([TOP / "src/coll/kernel-headers", src, TOP / "include/chorus/lists.h", *made,
                    src / "coll/routed_list.h", src / "coll/routed_bodies.h", src / "kernels.d"], check=True)
    library = included(src, compiler, sorted(src.glob("coll/cuda/*.cu")))
    programs = included(src, compiler, [TOP / "include/chorus/chorus_device.cuh"])
    assert {*map(str, made)} < {*library}, library
    assert str(src / "coll/coll.h") in programs, programs
    return library, programs


def compiles_kernels(src, compiler):
    """The files by which a row compiles kernels again: the library's without and with a kernel, programs'."""
    library, programs = seen_by_kernels(src, compiler)
    add(src)
    again = []
    for kernel in "none", "plain":
        add_row(src, "m", kernel)
        after, of_programs = seen_by_kernels(src, compiler)
        again += [sorted(file for file in after if after[file] != library.get(file))]
    return *again, sorted(file for file in of_programs if of_programs[file] != programs.get(file))


def compile_all(folder, compiler, names, out):
    """Objects in the folder `out`."""
    out.mkdir()
    files = [folder / name if name.startswith("src") else TOP / name for name in names]
    subprocess.run([*compiler, *FLAGS, f"-I{folder}/src", f"-I{TOP}/include", f"-I{TOP}/tests", "-c",
                    *map(str, files)], check=True, cwd=out)
    return [str(path) for path in out.iterdir()]


def run(folder, compiler, objects):
    program = str(folder / "sim")
    subprocess.run([*compiler, *objects, "-lm", "-o", program], check=True)
    return subprocess.run([program, "--algo", "broadcast:example:simple", "--pes", "3", "--seeds",
                           "200"], capture_output=True, text=True, timeout=120)


def main():
    folder, compiler = pathlib.Path(sys.argv[1]), sys.argv[2:]
    src = folder / "src"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(TOP / "src", src)
    without, with_kernel, programs = compiles_kernels(src, compiler)
    if without or not with_kernel or programs:
        print(f"of the files that kernels include, a row changes {without} without a kernel, {with_kernel} with one, "
              f"and {programs} of programs")
        return 1
    others = []
    for name, wire, says in [("right", "m", ""), ("wrong", "2 * m", "by the formula 2 * m")]:
        add_row(src, wire)
        if not others:
            others = compile_all(folder, compiler, OTHERS, folder / "others")
        result = run(folder, compiler, others + compile_all(folder, compiler, [FORMULAS], folder / name))
        if (result.returncode == 0) != (says == "") or says not in result.stdout:
            print(f"{name}: {result.stdout}{result.stderr}")
            return 1
    return 0


sys.exit(main())
