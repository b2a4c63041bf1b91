# SPDX-License-Identifier: Apache-2.0
"""How the kernels of collectives came out of the compiler: whole, with no call, no stack and no
spill, and with registers for all lanes that they may be launched with.

usage: test_gpu_kernels.py KERNELS.ptx KERNELS.usage...
"""
import re
import sys

REGISTERS = 65536  # of a multiprocessor
GRAIN = 8  # a lane's registers come in multiples of this

ENTRY = re.compile(r"^\.visible \.entry (\w+)\(.*?\n(.*?)^\{(.*?)^\}", re.M | re.S)
USAGE = re.compile(r"Function properties for (\w+)\s+(\d+) bytes stack frame, (\d+) bytes spill "
                   r"stores, (\d+) bytes spill loads.*?Used (\d+) registers", re.S)


def ptx_faults(text):
    """What does not hold in PTX."""
    entries = ENTRY.findall(text)
    if not entries:
        yield "no kernel"
    for name, _, body in entries:
        if re.search(r"^\s*(?:@!?%\w+\s+)?call\b", body, re.M):
            yield f"{name} calls a function; all is to be inlined"
        if ".local" in body:
            yield f"{name} keeps an array in local memory; index it by constants"


def lanes_of(text):
    """The most lanes of each kernel, by its launch bound."""
    for name, head, _ in ENTRY.findall(text):
        bound = re.search(r"\.maxntid\s+(\d+)", head)
        yield name, int(bound.group(1)) if bound else None


def usage_faults(text, lanes):
    """What does not hold in the assembler's report on kernels with these launch bounds."""
    found = {name: [int(n) for n in numbers] for name, *numbers in USAGE.findall(text)}
    for name, most in lanes.items():
        if name not in found:
            yield f"{name} is not in the report"
            continue
        stack, stores, loads, registers = found[name]
        if stack or stores or loads:
            yield (f"{name} has {stack} bytes of stack and spills {stores + loads}; give it fewer "
                   "lanes in coll/kernel.h, or smaller batches")
        if most is None:
            yield f"{name} has no launch bound"
        elif -(-registers // GRAIN) * GRAIN * most > REGISTERS:
            yield f"{name} has {registers} registers, too many for {most} lanes"


def faults(ptx, usage):
    yield from ptx_faults(ptx)
    yield from usage_faults(usage, dict(lanes_of(ptx)))


PTX = """.visible .entry ch_k(
    .param .align 8 .b8 a[8]
)
.maxntid 512
.minnctapersm 1
{
    @%p1 bra     $L1;
    ret;
}
"""
REPORT = """ptxas info    : Function properties for ch_k
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 90 registers, used 1 barriers
"""


def try_itself():
    assert not list(faults(PTX, REPORT))
    for part, ptx, usage in [
            ("no kernel", "", REPORT),
            ("calls a function", PTX.replace("ret;", "call.uni f, ();"), REPORT),
            ("calls a function", PTX.replace("ret;", "@%p2 call f, ();"), REPORT),
            ("local memory", PTX.replace("ret;", ".local .b8 x[8];"), REPORT),
            ("not in the report", PTX, ""),
            ("of stack", PTX, REPORT.replace("0 bytes stack", "64 bytes stack")),
            ("spills 8", PTX, REPORT.replace("0 bytes spill loads", "8 bytes spill loads")),
            ("no launch bound", PTX.replace(".maxntid 512\n", ""), REPORT),
            ("too many", PTX, REPORT.replace("90", "129"))]:
        assert any(part in fault for fault in faults(ptx, usage)), part


def main(paths):
    try_itself()
    texts = [open(path, encoding="utf-8").read() for path in paths]
    bad = [fault for ptx, usage in zip(texts[::2], texts[1::2]) for fault in faults(ptx, usage)]
    for fault in bad:
        print(fault)
    return 1 if bad or not texts else 0


sys.exit(main(sys.argv[1:]))
