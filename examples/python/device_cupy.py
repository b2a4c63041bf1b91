# SPDX-License-Identifier: Apache-2.0
"""
Calls inside a kernel of CuPy: NVRTC compiles it, and the driver links it with the calls.

    chorusrun -n 2 python examples/python/device_cupy.py
"""
from pathlib import Path

import cupy
from cupy.cuda.function import LinkState, Module
from cupy_backends.cuda.libs import nvrtc

import chorus
import chorus.device

SOURCE = Path(__file__).with_name("device.cuh")
COUNT = 128


def compile_kernel(arch):
    """PTX, whose calls are not resolved yet."""
    header = chorus.device.HEADER
    program = nvrtc.createProgram(SOURCE.read_text(), SOURCE.name, [header.read_bytes()], [header.name.encode()])
    nvrtc.compileProgram(program, (f"-arch=compute_{arch}", "-rdc=true"))
    return nvrtc.getPTX(program).rstrip(b"\0") + b"\0"


def load(arch):
    """A module with the kernel and the calls that it makes, which has the state of this PE."""
    linker, module = LinkState(), Module()
    linker.add_ptr_data(compile_kernel(arch), "kernel")
    linker.add_ptr_data(chorus.device.path("ptx", arch).read_bytes() + b"\0", "calls")
    module.load(linker.complete())
    chorus.device.give(module.ptr)
    return module


def main():
    chorus.init(heap="cuda")
    cupy.cuda.Device(chorus.heap_info().device).use()
    module = load(int(cupy.cuda.Device().compute_capability))
    exchange = module.get_function("exchange")
    arrays = [cupy.asarray(chorus.zeros(COUNT, dtype))
              for dtype in ("int32", "int32", "int32", "float32", "float32")]
    sig, n_wrong = cupy.asarray(chorus.zeros(1, "uint64")), cupy.zeros(1, "int32")
    chorus.barrier()
    for number in range(1, 6):
        exchange((1,), (COUNT,), (*arrays, sig, cupy.int32(number), n_wrong))
    wrong = int(n_wrong[0])
    chorus.device.take(module.ptr)
    print(f"device_cupy: PE {chorus.my_pe()} of {chorus.n_pes()}: {wrong} values are wrong")
    if wrong != 0:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
