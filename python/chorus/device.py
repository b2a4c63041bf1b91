# SPDX-License-Identifier: Apache-2.0
"""
Calls inside kernels that are compiled by NVRTC, CuPy, Triton or others than nvcc.

    cubin = link(kernel, chorus.device.path("ltoir", 90))   # by nvJitLink, cuLink, or Triton
    chorus.device.give(module)                              # the handle, a CUmodule, after loading it

`SIGNATURES` has the calls, by NVSHMEM's names: what each returns, and its parameters. `HEADER` declares them for NVRTC.
A module links one of the files of `path`, is given the state of this PE before its kernels make calls, and has it
taken away before `chorus.finalize`, unless it is unloaded.
"""
from __future__ import annotations

import ctypes
from pathlib import Path
from typing import NamedTuple

from . import _calls
from ._library import ArgumentError, Error, check, lib

_folder = Path(__file__).resolve().parent


class Parameter(NamedTuple):
    """A parameter of a call; the type is C's."""

    type: str
    name: str


class Signature(NamedTuple):
    """What a call returns, and its parameters; types are C's."""

    result: str
    parameters: tuple[Parameter, ...]


SIGNATURES = {name: Signature(result, tuple(Parameter(*pair) for pair in parameters))
              for name, (result, parameters) in _calls.CALLS.items()}
HEADER = _folder / "nvshmem_calls.cuh"
KINDS = ("ptx", "ltoir", "bc")


def path(kind: str, arch: int) -> Path:
    """The file that kernels for an architecture (90 for sm_90) link: that of the latest architecture up to it.

    `kind` is "ptx", "ltoir" (for nvJitLink), or "bc" (bitcode of LLVM, for Triton).
    """
    if kind not in KINDS:
        raise ArgumentError(f'there is no kind "{kind}" of device code; take one of {", ".join(KINDS)}')
    found = {int(file.stem.rpartition("_sm")[2]): file for file in _folder.glob(f"chorus_device_sm*.{kind}")}
    fitting = [number for number in found if number <= arch]
    if not fitting:
        there = ", ".join(f"sm_{number}" for number in sorted(found)) or "no architecture"
        raise Error(f"the package has device code of kind {kind} for {there}, not for sm_{arch}; build it with "
                    f"-Dgpu_archs=sm_{arch}" + (", where clang 19 or later is found" if kind == "bc" else ""))
    return found[max(fitting)]


def _state(module):
    """The variable of a module that the calls read: its address and its bytes."""
    address, size = ctypes.c_uint64(), ctypes.c_size_t()
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as why:
        raise Error(f"CUDA's driver cannot be loaded: {why}") from why
    code = driver.cuModuleGetGlobal_v2(ctypes.byref(address), ctypes.byref(size), ctypes.c_void_p(module),
                                       b"ch_state")
    if code != 0:
        raise Error(f"cuModuleGetGlobal finds no ch_state in the module (CUresult {code}); link "
                    f"chorus.device.path(...) to its kernels, and pass the CUmodule")
    return ctypes.c_void_p(address.value), size


def give(module: int) -> None:
    """Give the kernels of a loaded module what they need to make calls; not collective.

    `module` is the CUmodule, as a number. This PE's GPU is current, and no kernel of the module is running.
    """
    state = _state(module)
    check(lib.chorusx_module_give(*state))


def take(module: int) -> None:
    """Take it away again, before the job ends and the module is used by another one."""
    state = _state(module)
    check(lib.chorusx_module_take(*state))
