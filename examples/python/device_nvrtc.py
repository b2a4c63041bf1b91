# SPDX-License-Identifier: Apache-2.0
"""
Calls inside a kernel that NVRTC compiles and nvJitLink links, to LTO-IR and to PTX.

    chorusrun -n 2 python examples/python/device_nvrtc.py
"""
import ctypes
from pathlib import Path

import chorus
import chorus.device

SOURCE = Path(__file__).with_name("device.cuh")
COUNT = 128
INPUTS = {"ptx": 2, "ltoir": 3}  # of nvJitLink


def library(name):
    """CUDA's, of version 13 or 12, or as the linker finds it."""
    for file in (f"{name}.so.13", f"{name}.so.12", f"{name}.so"):
        try:
            return ctypes.CDLL(file)
        except OSError:
            continue
    raise OSError(f"no {name} here: set LD_LIBRARY_PATH to CUDA's libraries")


def strings(words):
    return (ctypes.c_char_p * len(words))(*[word.encode() for word in words])


def get(functions, name, handle):
    """What a pair of functions gives: the size of the data, and the data."""
    size = ctypes.c_size_t()
    getattr(functions, f"{name}Size")(handle, ctypes.byref(size))
    data = ctypes.create_string_buffer(size.value)
    getattr(functions, name)(handle, data)
    return data.raw


def compile_kernel(kind, arch):
    """The kernel as PTX or LTO-IR, whose calls are not resolved yet."""
    nvrtc, program = library("libnvrtc"), ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), SOURCE.read_bytes(), SOURCE.name.encode(), 1,
                             strings([chorus.device.HEADER.read_text()]), strings([chorus.device.HEADER.name]))
    options = [f"-arch=compute_{arch}", "-rdc=true"] + (["-dlto"] if kind == "ltoir" else [])
    code = nvrtc.nvrtcCompileProgram(program, len(options), strings(options))
    if code != 0:
        raise RuntimeError(f"NVRTC: {get(nvrtc, 'nvrtcGetProgramLog', program).decode()}")
    return get(nvrtc, "nvrtcGetPTX" if kind == "ptx" else "nvrtcGetLTOIR", program)


def link(kind, arch):
    """A cubin of the kernel and of the calls that it makes."""
    linker, handle = library("libnvJitLink"), ctypes.c_void_p()
    options = [f"-arch=sm_{arch}"] + (["-lto"] if kind == "ltoir" else [])
    code = linker.nvJitLinkCreate(ctypes.byref(handle), len(options), strings(options))
    kernel, calls = compile_kernel(kind, arch), chorus.device.path(kind, arch).read_bytes()
    for name, data in (("kernel", kernel), ("calls", calls)):
        code = code or linker.nvJitLinkAddData(handle, INPUTS[kind], data, ctypes.c_size_t(len(data)), name.encode())
    code = code or linker.nvJitLinkComplete(handle)
    if code != 0:
        raise RuntimeError(f"nvJitLink: {get(linker, 'nvJitLinkGetErrorLog', handle).decode()}")
    return get(linker, "nvJitLinkGetLinkedCubin", handle)


class Driver:
    """The functions of CUDA's driver, which raise their failures."""

    def __init__(self):
        self.functions = ctypes.CDLL("libcuda.so.1")

    def __getattr__(self, name):
        def call(*arguments):
            code = getattr(self.functions, name)(*arguments)
            if code != 0:
                raise RuntimeError(f"{name} fails: CUresult {code}")
        return call

    def arch(self):
        """Of the current GPU."""
        device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        self.cuCtxGetDevice(ctypes.byref(device))
        self.cuDeviceGetAttribute(ctypes.byref(major), 75, device)
        self.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)
        return 10 * major.value + minor.value

    def launch(self, function, *values):
        """One block of COUNT threads, and wait for it."""
        pointers = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
        self.cuLaunchKernel(function, 1, 1, 1, COUNT, 1, 1, 0, None, pointers, None)
        self.cuCtxSynchronize()


def run(driver, kind):
    """The number of values that are wrong, over some rounds."""
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    driver.cuModuleLoadData(ctypes.byref(module), link(kind, driver.arch()))
    driver.cuModuleGetFunction(ctypes.byref(function), module, b"exchange")
    chorus.device.give(module.value)
    arrays = [chorus.zeros(COUNT, dtype) for dtype in ("int32", "int32", "int32", "float32", "float32")]
    arrays += [chorus.zeros(1, "uint64")]
    n_wrong = chorus.zeros(1, "int32")
    chorus.barrier()
    for number in range(1, 6):
        driver.launch(function, *[ctypes.c_uint64(array.address) for array in arrays], ctypes.c_int(number),
                      ctypes.c_uint64(n_wrong.address))
    wrong = n_wrong.item()
    chorus.device.take(module.value)
    driver.cuModuleUnload(module)
    return wrong


def main():
    chorus.init(heap="cuda")
    driver = Driver()
    for kind in INPUTS:
        wrong = run(driver, kind)
        print(f"device_nvrtc, {kind}: PE {chorus.my_pe()} of {chorus.n_pes()}: {wrong} values are wrong")
        if wrong != 0:
            raise SystemExit(1)


if __name__ == "__main__":
    main()
