# SPDX-License-Identifier: Apache-2.0
"""How the kernels of collectives came out of the compiler: whole, with no call, no stack and no
spill, and with registers for all lanes that they may be launched with; touching no memory before
their turn has come, where the GPU has turns; and those for multicast in hardware, and no others,
with its instructions. All that for every architecture that they were compiled for. Kernels of
programs (tests/gpu) have calls, of what is done for peers that are not near.

usage: test_gpu_kernels.py ARCHS KERNELS.ptx KERNELS.usage...

  ARCHS   what they were compiled for, as "sm_80 sm_90 compute_90"
"""
import re
import sys

REGISTERS = 65536  # of a multiprocessor
GRAIN = 8  # a lane's registers come in multiples of this
RUN_ON = {90}  # architectures that the kernels were run on
SPILL_ELSEWHERE = 32  # bytes that one may spill on others, which is slower and not wrong

OURS = re.compile(r"ch_k\w*")  # a kernel of the library; others are of programs
MODULE = re.compile(r"^\.target sm_(\d+)", re.M)  # PTX of one architecture begins so
ENTRY = re.compile(r"^\.visible \.entry (\w+)\(.*?\n(.*?)^\{(.*?)^\}", re.M | re.S)
USAGE = re.compile(r"Compiling entry function '(\w+)' for 'sm_(\d+)'.*?(\d+) bytes stack frame, "
                   r"(\d+) bytes spill stores, (\d+) bytes spill loads.*?Used (\d+) registers", re.S)

# Kernels for multicast in hardware: algorithm, type, and the instructions that each has.
NVLS = re.compile(r"ch_k_nvls_ch_(\w+)_([a-z]+\d+)")
MULTIMEM = re.compile(r"\bmultimem\.(ld_reduce|st|red)\.(?:relaxed|release)\.sys\.global\.(\S+)")
INSTRUCTIONS = {
    "broadcast_multicast": {"red", "st"},
    "fcollect_multicast": {"red", "st"},
    "reduce_multicast_one": {"ld_reduce", "red"},
    "reduce_multicast_two": {"ld_reduce", "red", "st"},
    "reducescatter_multicast": {"ld_reduce", "red"},
}
COMBINES = {
    "i32": {"and.b32", "or.b32", "xor.b32", "min.s32", "max.s32", "add.s32"},
    "u32": {"and.b32", "or.b32", "xor.b32", "min.u32", "max.u32", "add.u32"},
    "i64": {"and.b64", "or.b64", "xor.b64", "min.s64", "max.s64", "add.u64"},
    "u64": {"and.b64", "or.b64", "xor.b64", "min.u64", "max.u64", "add.u64"},
    "f16": {"add.acc::f32.v4.f16x2"},
    "bf16": {"add.acc::f32.v4.bf16x2"},
    "f32": {"add.v4.f32"},
    "f64": {"add.f64"},
}


def multimem_faults(name, body):
    """What does not hold of a kernel's multimem instructions."""
    found = MULTIMEM.findall(body)
    kinds = {kind for kind, _ in found}
    if len(found) != body.count("multimem."):
        yield f"{name} has a multimem instruction that is not for all of the system"
    match = NVLS.fullmatch(name)
    if match is None:
        if found:
            yield f"{name} has multimem instructions, and is not for multicast in hardware"
        return
    algo, kind_of_element = match.groups()
    if kinds != INSTRUCTIONS.get(algo):
        yield f"{name} has multimem.{'/'.join(sorted(kinds)) or 'nothing'}"
    combines = {how for kind, how in found if kind == "ld_reduce"}
    if "ld_reduce" in kinds and combines != COMBINES.get(kind_of_element):
        yield f"{name} combines by {', '.join(sorted(combines))}"
    if any(how != "v4.f32" for kind, how in found if kind == "st"):
        yield f"{name} stores less than 16 bytes at once"
    if any(how != "max.u64" for kind, how in found if kind == "red"):
        yield f"{name} tells what is no word"


# A collective's kernel may be launched while what comes before it still runs, where GPUs do that.
COLLECTIVE = re.compile(r"ch_k_(?:nvls_)?ch_\w+")
TURN, ARCH_OF_TURNS = "griddepcontrol.wait", 90
MEMORY = re.compile(r"^\s*(?:@!?%\w+\s+)?((?:ld|st|atom|red|multimem)\b(?!\.(?:param|shared|const))\S*)", re.M)


def turn_faults(name, body, arch):
    """What a kernel does before its turn, as its text stands."""
    if not COLLECTIVE.fullmatch(name) or arch < ARCH_OF_TURNS:
        return
    if body.count(TURN) != 1:
        yield f"{name} waits {body.count(TURN)} times for its turn"
        return
    early = MEMORY.search(body[:body.index(TURN)])
    if early:
        yield f"{name} has {early.group(1)} before its turn"


def modules(text):
    """The PTX of each architecture."""
    parts = MODULE.split(text)
    return {int(arch): body for arch, body in zip(parts[1::2], parts[2::2])}


def ptx_faults(text, arch):
    """What does not hold in the PTX of an architecture."""
    entries = ENTRY.findall(text)
    if not entries:
        yield "no kernel"
    for name, _, body in entries:
        if OURS.fullmatch(name) and re.search(r"^\s*(?:@!?%\w+\s+)?call\b", body, re.M):
            yield f"{name} calls a function; all is to be inlined"
        if ".local" in body:
            yield f"{name} keeps an array in local memory; index it by constants"
        yield from multimem_faults(name, body)
        yield from turn_faults(name, body, arch)


def lanes_of(text):
    """The most lanes of each kernel, by its launch bound."""
    for name, head, _ in ENTRY.findall(text):
        bound = re.search(r"\.maxntid\s+(\d+)", head)
        yield name, int(bound.group(1)) if bound else None


def usage_faults(text, arch, lanes):
    """What does not hold in the assembler's report on kernels with these launch bounds."""
    found = {name: [int(n) for n in numbers] for name, of, *numbers in USAGE.findall(text)
             if int(of) == arch}
    for name, most in lanes.items():
        if name not in found:
            yield f"{name} is not in the report"
            continue
        stack, stores, loads, registers = found[name]
        most_spilled = 0 if arch in RUN_ON else SPILL_ELSEWHERE
        if max(stack, stores, loads) > most_spilled:
            yield (f"{name} has {stack} bytes of stack and spills {stores + loads}; give it fewer "
                   "lanes in coll/cuda/kernel.h, or smaller batches")
        if most is None:
            yield f"{name} has no launch bound"
        elif -(-registers // GRAIN) * GRAIN * most > REGISTERS:
            yield f"{name} has {registers} registers, too many for {most} lanes"


def faults(archs, ptx, usage):
    """What does not hold of one file; archs: sm_N is assembled, compute_N stays PTX."""
    ptx_of = modules(ptx)
    if not ptx_of:
        yield "no PTX"
    for arch, text in ptx_of.items():
        yield from (f"compute_{arch}: {fault}" for fault in ptx_faults(text, arch))
        if f"sm_{arch}" in archs:
            yield from (f"sm_{arch}: {fault}"
                        for fault in usage_faults(usage, arch, dict(lanes_of(text))))


def missing(archs, files):
    """Architectures of the build that no file has; algorithms without a kernel for multicast in
    hardware, where an architecture has that."""
    wanted = {int(arch.split("_")[1]) for arch in archs}
    files = [modules(ptx) for ptx in files]
    yield from (f"no PTX for {arch}" for arch in wanted - {arch for found in files for arch in found})
    for arch in wanted:
        algos = {match.group(1) for found in files for match in NVLS.finditer(found.get(arch, ""))}
        lacks = INSTRUCTIONS.keys() - algos if arch >= ARCH_OF_TURNS else set()
        yield from (f"{arch}: no kernel of {algo} for multicast in hardware" for algo in lacks)


ARCHS = ["sm_90", "compute_90"]
PTX = """.target sm_90
.visible .entry ch_k(
    .param .align 8 .b8 a[8]
)
.maxntid 512
.minnctapersm 1
{
    @%p1 bra     $L1;
    ret;
}
"""
REPORT = """ptxas info    : Compiling entry function 'ch_k' for 'sm_90'
ptxas info    : Function properties for ch_k
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 90 registers, used 1 barriers
"""

NVLS_PTX = PTX.replace("ch_k(", "ch_k_nvls_ch_reduce_multicast_two_f32(").replace(
    "    ret;", """    griddepcontrol.wait;
    multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];
    multimem.st.relaxed.sys.global.v4.f32 [%rd1], {%f1, %f2, %f3, %f4};
    multimem.red.release.sys.global.max.u64 [%rd2], %rd3;
    ret;""")


def try_multimem():
    assert not list(faults(["compute_90"], NVLS_PTX, ""))
    for part, ptx in [
            ("is not for multicast", NVLS_PTX.replace("_nvls", "")),
            ("has multimem.ld_reduce/red", NVLS_PTX.replace("multimem.st", "st")),
            ("has multimem.nothing", NVLS_PTX.replace("multimem.", "")),
            ("has multimem.ld_reduce/red/st", NVLS_PTX.replace("reduce_multicast_two", "fcollect_multicast")),
            ("combines by add.v4.f32", NVLS_PTX.replace("two_f32", "two_f16")),
            ("stores less", NVLS_PTX.replace("global.v4.f32 [", "global.f32 [")),
            ("waits 0 times for its turn", NVLS_PTX.replace(TURN, "membar")),
            ("has ld.global.u64 before its turn", NVLS_PTX.replace(TURN, "ld.global.u64 %rd1, [%rd2];\n" + TURN)),
            ("has st.u32 before its turn", NVLS_PTX.replace(TURN, "@%p1 st.u32 [%rd2], %r1;\n" + TURN)),
            ("tells what is no word", NVLS_PTX.replace("max.u64", "add.u64")),
            ("not for all of the system", NVLS_PTX.replace("st.relaxed.sys", "st.relaxed.gpu"))]:
        assert any(part in fault for fault in faults(["compute_90"], ptx, "")), part


def try_archs():
    older, older_report = PTX.replace("sm_90", "sm_80"), REPORT.replace("sm_90", "sm_80")
    both = ["sm_80"] + ARCHS
    assert not list(faults(both, older + PTX, older_report + REPORT))
    assert any("sm_80: ch_k is not in the report" in fault for fault in faults(both, older + PTX, REPORT))
    assert not list(faults(["compute_80"], older, ""))
    spilled = REPORT.replace("0 bytes s", "8 bytes s")
    assert any("spills 16" in fault for fault in faults(ARCHS, PTX, spilled))
    assert not list(faults(["sm_80"], older, spilled.replace("sm_90", "sm_80")))
    spilled = spilled.replace("8 bytes", "48 bytes")
    assert any("spills 96" in fault for fault in faults(["sm_80"], older, spilled.replace("sm_90", "sm_80")))
    turns = PTX.replace("ch_k(", "ch_k_ch_x(")
    assert any("turn" in fault for fault in faults(["compute_90"], turns, ""))
    assert not list(faults(["compute_80"], turns.replace("sm_90", "sm_80"), ""))
    assert "no PTX for 80" in missing(both, [PTX])
    assert "90: no kernel of broadcast_multicast for multicast in hardware" in missing(both, [PTX])
    assert not list(missing(["sm_80"], [older]))


def try_itself():
    assert not list(faults(ARCHS, PTX, REPORT))
    calls = PTX.replace("ch_k(", "program(").replace("ret;", "call.uni f, ();")
    assert not list(faults(ARCHS, calls, REPORT.replace("ch_k", "program")))
    try_multimem()
    try_archs()
    for part, ptx, usage in [
            ("no PTX", "", REPORT),
            ("no kernel", ".target sm_90", REPORT),
            ("calls a function", PTX.replace("ret;", "call.uni f, ();"), REPORT),
            ("calls a function", PTX.replace("ret;", "@%p2 call f, ();"), REPORT),
            ("local memory", PTX.replace("ch_k(", "program(").replace("ret;", ".local .b8 x[8];"), REPORT),
            ("local memory", PTX.replace("ret;", ".local .b8 x[8];"), REPORT),
            ("not in the report", PTX, ""),
            ("of stack", PTX, REPORT.replace("0 bytes stack", "64 bytes stack")),
            ("spills 8", PTX, REPORT.replace("0 bytes spill loads", "8 bytes spill loads")),
            ("no launch bound", PTX.replace(".maxntid 512\n", ""), REPORT),
            ("too many", PTX, REPORT.replace("Used 90", "Used 129"))]:
        assert any(part in fault for fault in faults(ARCHS, ptx, usage)), part


def main(archs, paths):
    try_itself()
    texts = [open(path, encoding="utf-8").read() for path in paths]
    bad = [f"{path}: {fault}" for path, ptx, usage in zip(paths[::2], texts[::2], texts[1::2])
           for fault in faults(archs, ptx, usage)]
    bad += missing(archs, texts[::2])
    for fault in bad:
        print(fault)
    return 1 if bad or not texts else 0


sys.exit(main(sys.argv[1].split(), sys.argv[2:]))
