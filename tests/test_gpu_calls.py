# SPDX-License-Identifier: Apache-2.0
"""Calls inside kernels leave room for 1,024 threads: a kernel without launch bounds that makes one
of these calls has no more than 64 registers, the functions that it calls included, and no stack of
its own. docs/device.md says which calls take more.

usage: test_gpu_calls.py [all ARCHS TYPES | table] NVCC INCLUDE...

  all         also calls of types and scopes that are alike, as `./dev archs` does: for those of sm_80 and
              sm_90 that ARCHS names, as "sm_80 sm_86 sm_90", and where they combine, for the element types
              of TYPES, as "i32,f16"; "" for all
  table       instead: the registers of kernels with several calls, as in docs/device.md
  NVCC        the compiler
  INCLUDE...  folders with chorus/ and with the headers of the algorithms
"""
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ARCHS = ("80", "90")
ALWAYS = ARCHS[:1]
THREADS, REGISTERS = 1024, 65536  # of a block; of a multiprocessor
MOST = REGISTERS // THREADS

# The call by a thread, a warp and a block: prefix, and what follows the name.
SCOPES = {"thread": ("chorus", ""), "warp": ("chorusx", "_warp"), "block": ("chorusx", "_block")}
INTEGERS = {"int8": "int8_t", "int16": "int16_t", "int32": "int32_t", "int64": "int64_t"}

COPY = ("{t} *dest, const {t} *source, size_t n, int pe", "dest, source, n, pe")
STRIDED = ("{t} *dest, const {t} *source, ptrdiff_t dst, ptrdiff_t sst, size_t n, int pe",
           "dest, source, dst, sst, n, pe")
SIGNAL = ("void *dest, const void *source, size_t n, uint64_t *sig, uint64_t value, int op, int pe",
          "dest, source, n, sig, value, op, pe")
MOVE = "int team, {t} *dest, const {t} *source, size_t n, int root, int *out"
# Of calls that move data: the part of the name, and the element type.
MOVED = {"int_": "int", "double_": "double", "mem": "void"}
COMBINE = "int team, {t} *dest, const {t} *source, size_t n, int *out"
# Of those that combine: the name of the type in the call, the type, its operators, and its short name.
COMBINED = [("int8", "int8_t", ("sum", "max"), "i8"), ("int", "int", ("sum",), "i32"), ("float", "float", ("sum",), "f32"),
            ("long", "long", ("sum",), "i64"), ("double", "double", ("sum", "max"), "f64"),
            ("half", "chorus_half", ("sum", "max"), "f16"), ("bfloat16", "chorus_bfloat16", ("sum", "max"), "bf16")]
# Those that are always tried, by scope: of reduce and reducescatter.
MOST_OF = {"thread": [], "warp": [], "block": ["half_sum"]}
LIST = "{t} *ivars, size_t n, size_t *indices, const int *status, int cmp, const {t} *values, size_t *out"


def moves(scope, is_all):
    """Those of the collectives that move data."""
    prefix, tail = SCOPES[scope]
    for coll, root in (("broadcast", ", root"), ("fcollect", ""), ("alltoall", "")):
        for name, ctype in MOVED.items():
            if not is_all and (name, scope) != ("mem", "block"):
                continue
            call = f"{prefix}_{coll}mem{tail}" if name == "mem" else f"{prefix}_{name}{coll}{tail}"
            yield f"{coll}_{name}{scope}", MOVE.format(t=ctype), f"*out = {call}(team, dest, source, n{root})"


def combines(scope, is_all, name, ctype, ops):
    """Those of the collectives that combine, of a type."""
    prefix, tail = SCOPES[scope]
    for op in ops:
        if not is_all and f"{name}_{op}" not in MOST_OF[scope]:
            continue
        for coll in ("reduce", "reducescatter"):
            yield (f"{coll}_{name}_{op}_{scope}", COMBINE.format(t=ctype),
                   f"*out = {prefix}_{name}_{op}_{coll}{tail}(team, dest, source, n)")


def no_collectives(is_all):
    """A kernel of each body that is no collective: its name, parameters and statement."""
    for scope, (prefix, tail) in SCOPES.items():
        for which in ("put", "get"):
            yield f"{which}mem_{scope}", COPY[0].format(t="void"), f"{prefix}_{which}mem{tail}({COPY[1]})"
            for name, ctype in INTEGERS.items() if is_all else []:
                yield (f"{which}_{name}_{scope}", COPY[0].format(t=ctype),
                       f"{prefix}_{name}_{which}{tail}({COPY[1]})")
            for name in ("int8", "int64") if is_all else ("int8",):
                yield (f"i{which}_{name}_{scope}", STRIDED[0].format(t=INTEGERS[name]),
                       f"{prefix}_{name}_i{which}{tail}({STRIDED[1]})")
        yield f"putmem_signal_{scope}", SIGNAL[0], f"{prefix}_putmem_signal{tail}({SIGNAL[1]})"
        yield f"barrier_{scope}", "int team, int *out", f"*out = {prefix}_barrier{tail}(team)"
        if is_all:
            yield f"team_sync_{scope}", "int team, int *out", f"*out = {prefix}_team_sync{tail}(team)"
            yield f"barrier_all_{scope}", "", f"{prefix}_barrier_all{tail}()"
    yield ("signal", "uint64_t *sig, uint64_t value, int op, int pe",
           "chorusx_signal_op(sig, value, op, pe)")
    yield ("signal_wait", "uint64_t *sig, int cmp, uint64_t value, uint64_t *out",
           "*out = chorus_signal_wait_until(sig, cmp, value)")
    for name, ctype in (("int32", "int32_t"), ("int64", "int64_t"))[0 if is_all else 1:]:
        yield (f"wait_{name}", f"{ctype} *ivar, int cmp, {ctype} value",
               f"chorus_{name}_wait_until(ivar, cmp, value)")
        yield (f"wait_some_{name}", LIST.format(t=ctype),
               f"*out = chorus_{name}_wait_until_some_vector(ivars, n, indices, status, cmp, values)")
        yield (f"wait_any_{name}", LIST.format(t=ctype),
               f"*out = chorus_{name}_wait_until_any_vector(ivars, n, status, cmp, values)")
        yield (f"fetch_add_{name}", f"{ctype} *dest, {ctype} value, int pe, {ctype} *out",
               f"*out = chorus_{name}_atomic_fetch_add(dest, value, pe)")
        yield (f"compare_swap_{name}", f"{ctype} *dest, {ctype} cond, {ctype} value, int pe, {ctype} *out",
               f"*out = chorus_{name}_atomic_compare_swap(dest, cond, value, pe)")
    yield "quiet", "", "chorus_quiet()"


def files(is_all, types):
    """The bodies, by file: a kernel has a copy of all functions that others of its file have for peers that are not near."""
    yield list(no_collectives(is_all))
    for scope in SCOPES:
        yield list(moves(scope, is_all))
    for name, ctype, ops, short in COMBINED:
        if not types or short in types:
            yield [body for scope in SCOPES for body in combines(scope, is_all, name, ctype, ops)]


# Kernels for a block that make several calls.
PARAMETERS = "int team, double *dest, const double *source, size_t n, int rounds, int *out"
SEVERAL = {
    "a put and a barrier in a loop": "for (int i = 0; i < rounds; i++) { chorusx_double_put_block(dest, source, n, i); "
                                     "*out = chorusx_barrier_block(team); }",
    "a get and a barrier in a loop": "for (int i = 0; i < rounds; i++) { chorusx_double_get_block(dest, source, n, i); "
                                     "*out = chorusx_barrier_block(team); }",
    "a sum reduce in a loop": "for (int i = 0; i < rounds; i++) "
                              "*out = chorusx_double_sum_reduce_block(team, dest + i * n, source, n);",
    "`broadcast`, `fcollect`, `alltoall`, `reduce` and `reducescatter`, one after the other":
        "*out = chorusx_double_broadcast_block(team, dest, source, n, 0)"
        " + chorusx_double_fcollect_block(team, dest, source, n) + chorusx_double_alltoall_block(team, dest, source, n)"
        " + chorusx_double_sum_reduce_block(team, dest, source, n)"
        " + chorusx_double_sum_reducescatter_block(team, dest, source, n);",
    "`reducescatter`, `fcollect` and a barrier in a loop":
        "for (int i = 0; i < rounds; i++) *out = chorusx_double_sum_reducescatter_block(team, dest + i * n, source, n)"
        " + chorusx_double_fcollect_block(team, dest, source, n) + chorusx_barrier_block(team);",
}

USAGE = re.compile(r"Compiling entry function '(\w+)' for '(sm_\d+)'.*?(\d+) bytes stack frame"
                   r".*?Used (\d+) registers", re.S)


def usage_of(report):
    """By kernel and architecture: bytes of stack, and registers."""
    return {(name, arch): (int(stack), int(registers))
            for name, arch, stack, registers in USAGE.findall(report)}


def faults(report, names, archs=ARCHS):
    """What does not hold of these kernels in the assembler's report."""
    found = usage_of(report)
    for arch in archs:
        for name in names:
            stack, registers = found.get((name, f"sm_{arch}"), (None, None))
            if registers is None:
                yield f"{name} is not in the report for sm_{arch}"
            elif registers > MOST or stack != 0:
                yield (f"{name} has {registers} registers and {stack} bytes of stack for sm_{arch}; "
                       f"{THREADS} threads have {MOST} each")


def try_itself():
    report = ("ptxas info    : Compiling entry function 'k' for 'sm_80'\n"
              "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
              "ptxas info    : Used 64 registers, used 1 barriers\n")
    both = report + report.replace("sm_80", "sm_90")
    assert not list(faults(both, ["k"]))
    assert any("not in the report for sm_90" in fault for fault in faults(report, ["k"]))
    assert any("65 registers" in fault for fault in faults(both.replace("Used 64", "Used 65"), ["k"]))
    assert any("8 bytes of stack" in fault for fault in faults(both.replace("0 bytes stack", "8 bytes stack"), ["k"]))


def compiled(kernels, nvcc, folders, archs=ARCHS):
    """The assembler's report of these: by name, the parameters and the body; or what the compiler says against them."""
    text = "#include <chorus/chorus_device.cuh>\n" + "".join(
        f'extern "C" __global__ void {name}{rest}\n' for name, rest in kernels.items())
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/calls.cu", "w", encoding="utf-8") as source:
            source.write(text)
        run = subprocess.run(
            [nvcc, "-std=c++17", "-O3", "-Xptxas", "-v", "-c"]
            + [word for arch in archs for word in ("-gencode", f"arch=compute_{arch},code=sm_{arch}")]
            + [word for path in folders for word in ("-I", path)] + [f"{folder}/calls.cu", "-o", f"{folder}/calls.o"],
            capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(run.stderr)
    return run.stderr + run.stdout


def table(nvcc, folders):
    kernels = {f"k{i}": f"({PARAMETERS}) {{ {body} }}" for i, body in enumerate(SEVERAL.values())}
    found = usage_of(compiled(kernels, nvcc, folders))
    for i, name in enumerate(SEVERAL):
        print(f"| {name} | " + " | ".join(str(found[f"k{i}", f"sm_{arch}"][1]) for arch in ARCHS) + " |")


def main(archs, is_all, types, nvcc, folders):
    """Each file for each architecture, as many at once as there are cores."""
    def check(file, arch):
        kernels = {"k_" + name: f"({parameters}) {{ {statement}; }}" for name, parameters, statement in file}
        return list(faults(compiled(kernels, nvcc, folders, [arch]), kernels, [arch]))

    try_itself()
    with ThreadPoolExecutor(int(os.environ.get("JOBS", len(os.sched_getaffinity(0))))) as pool:
        tried = [pool.submit(check, file, arch) for file in files(is_all, types) if file for arch in archs]
        bad = [fault for trial in tried for fault in trial.result()]
    for fault in bad:
        print(fault)
    return 1 if bad else 0


if sys.argv[1] == "table":
    table(sys.argv[2], sys.argv[3:])
elif sys.argv[1] == "all":
    named = [arch for arch in ARCHS if f"sm_{arch}" in sys.argv[2].split()]
    sys.exit(main(named, True, [kind for kind in sys.argv[3].split(",") if kind], sys.argv[4], sys.argv[5:]))
else:
    sys.exit(main(ALWAYS, False, [], sys.argv[1], sys.argv[2:]))
