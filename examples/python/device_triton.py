# SPDX-License-Identifier: Apache-2.0
"""
Calls inside a kernel of Triton, which links them as bitcode of LLVM.

    chorusrun -n 2 python examples/python/device_triton.py
"""
import torch
import triton
import triton.language as tl
from triton.language import core

import chorus
import chorus.device

COUNT = 128
TYPES = {"int": core.dtype("int32"), "unsigned long": core.dtype("uint64"), "void": core.dtype("int32")}


def type_of(text):
    """The type of a parameter or result for Triton, which passes addresses as numbers."""
    return core.dtype("int64") if text.endswith("*") else TYPES[text]


def call(name):
    """A call of chorus.device.SIGNATURES, as a function of kernels."""
    result, parameters = chorus.device.SIGNATURES[name]
    types = tuple(type_of(parameter.type) for parameter in parameters)

    @core.extern
    def function(*arguments, _semantic=None):
        taken = [core.cast(core.to_tensor(argument, _semantic=_semantic), kind, _semantic=_semantic)
                 for argument, kind in zip(arguments, types)]
        return core.extern_elementwise("", "", taken, {types: (name, type_of(result))}, is_pure=False,
                                       _semantic=_semantic)
    return function


my_pe = call("nvshmem_my_pe")
n_pes = call("nvshmem_n_pes")
barrier_all_block = call("nvshmemx_barrier_all_block")
putmem_block = call("nvshmemx_putmem_block")
putmem_signal_block = call("nvshmemx_putmem_signal_block")
signal_wait_until = call("nvshmem_signal_wait_until")
float_sum_reduce_block = call("nvshmemx_float_sum_reduce_block")
CMP_EQ = tl.constexpr(0)
SIGNAL_SET = tl.constexpr(0)
WORLD = tl.constexpr(0)


@triton.jit
def exchange(row, message, source, sums, number, sig, count: tl.constexpr):
    """One program: put, put with a signal and a wait, barrier, and a reduce by the block."""
    next_pe = (my_pe() + 1) % n_pes()
    i = tl.arange(0, count)
    tl.store(source + i, (1 + my_pe() * 37 + number * 11 + i).to(tl.float32))
    tl.store(row + i, -1.0)
    tl.store(message + i, -1.0)
    tl.store(sums + i, -1.0)
    barrier_all_block()
    putmem_block(row, source, count * 4, next_pe)
    putmem_signal_block(message, source, count * 4, sig, number, SIGNAL_SET, next_pe)
    signal_wait_until(sig, CMP_EQ, number)
    barrier_all_block()
    float_sum_reduce_block(WORLD, sums, source, count)
    barrier_all_block()


def expected(pe, number):
    return 1 + pe * 37 + number * 11 + torch.arange(COUNT, device="cuda", dtype=torch.float32)


def give(module, function, name, *rest):
    """A hook of Triton: a kernel gets the state of the PE when its module is loaded."""
    if name == "exchange":
        chorus.device.give(module)


def main():
    chorus.init(heap="cuda")
    me, n, device = chorus.my_pe(), chorus.n_pes(), chorus.heap_info().device
    torch.cuda.set_device(device)
    arch = 10 * torch.cuda.get_device_capability()[0] + torch.cuda.get_device_capability()[1]
    libraries = {"chorus": str(chorus.device.path("bc", arch))}
    row, message, source, sums = (torch.as_tensor(chorus.zeros(COUNT, "float32"), device="cuda") for _ in range(4))
    sig = torch.as_tensor(chorus.zeros(1, "int64"), device="cuda")
    triton.knobs.runtime.kernel_load_end_hook.add(give)
    chorus.barrier()
    wrong = 0
    for number in range(1, 6):
        exchange[(1,)](row, message, source, sums, number, sig, COUNT, num_warps=4, extern_libs=libraries)
        total = sum(expected(pe, number) for pe in range(n))
        for got, wanted in ((row, expected((me - 1) % n, number)), (message, expected((me - 1) % n, number)),
                            (sums, total)):
            wrong += int((got != wanted).sum())
    print(f"device_triton: PE {me} of {n}: {wrong} values are wrong")
    if wrong != 0:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
