# SPDX-License-Identifier: Apache-2.0
"""
The shortest way from a tensor of PyTorch to the library: a function of it for each kind of call,
found once. Small calls take longer in Python than in the library, so operands are looked at when
a function is found, and no structure is filled for a call. Operands are contiguous, of one dtype,
and have the lengths that the call expects, which the caller sees to.
"""
from __future__ import annotations

import torch

from . import _array, _dtype, _lists
from ._library import c_int, c_void, failure, lib, require
from ._operand import operand

# How functions of the library are named by an element type.
_NAMES = {**_lists.RMA, "complex64": "complexf", "complex128": "complexd"}
_found = shapes = _array.of_device
stream_of = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # none in builds for CPUs
_SHAPES_MAX = 4096  # that are kept


def _function(coll, op, name, on_gpu):
    """The function of the library, and the bytes by which it counts; 1 where it counts elements."""
    if op is None:
        symbol, unit = f"{coll}mem", _dtype.itemsize(name)
    else:
        _dtype.require_operator(coll, op, name)
        symbol, unit = f"{_NAMES[name]}_{op}_{coll}", 1
    full = f"chorusx_{symbol}_on_stream" if on_gpu else f"chorus_{symbol}"
    function = lib[full]  # one of its own, unlike lib.name
    function.restype = c_int
    # Registers hold a team and a count as they hold an address, which ctypes converts fastest.
    function.argtypes = [c_void, c_void, c_void, c_void, *[c_int] * (coll == "broadcast"),
                         *[c_void] * on_gpu]
    return function, unit


def _find(key, input):
    """What `key` stands for: a function, its unit, and the GPU whose current stream it takes, or -1."""
    coll, op, _, _ = key
    require(coll)
    name = operand(input, "input").dtype
    device = _array.heap_device()
    _found[key] = found = (*_function(coll, op, name, device >= 0), device)
    return found


def _empty(on_gpu):
    """Makes a tensor of a shape, strides and dtype, on the current GPU or the host: the one of compiled
    programs, which does not go through PyTorch's dispatcher, or else the public one."""
    name = "_empty_strided_cuda" if on_gpu else "_empty_strided_cpu"
    made = getattr(getattr(torch._C._dynamo, "guards", None), name, None)
    device = "cuda" if on_gpu else "cpu"
    return made or (lambda shape, strides, dtype: torch.empty_strided(shape, strides, dtype=dtype, device=device))


def forget():
    """Look everything up again."""
    _found.clear()


# What an element of a complex tensor consists of: a view of one half may stand for its negative.
_PARTS = (torch.float16, torch.float32, torch.float64)


def remember_reduce(key, input, team):
    """Keep what an all_reduce of a contiguous tensor of this shape, dtype and device needs, in the
    order in which chorus.torch takes it. None is kept for complex tensors, which may stand for their
    conjugates."""
    shape, dtype, device, op, _ = key
    if dtype.is_complex:
        return
    if len(shapes) > _SHAPES_MAX:
        shapes.clear()
    part = ("reduce", op, dtype, input.device)
    function, _, _ = _found.get(part) or _find(part, input)
    shapes[key] = (function, team, input.numel(), device, dtype in _PARTS, _empty(device >= 0),
                   tuple(shape), tuple(input.stride()), dtype)


def combine(coll, op, team, out, input, count):
    """reduce or reducescatter, on the current stream; on a host it has run."""
    key = (coll, op, input.dtype, input.device)
    function, _, device = _found.get(key) or _find(key, input)
    if device < 0:
        code = function(team, out.data_ptr(), input.data_ptr(), count)
    else:
        code = function(team, out.data_ptr(), input.data_ptr(), count, stream_of(device))
    if code:
        raise failure(code)
    return out


def move(coll, team, out, input, count, *root):
    """fcollect or alltoall, blocks of `count` elements, or broadcast, with its root."""
    key = (coll, None, input.dtype, input.device)
    function, unit, device = _found.get(key) or _find(key, input)
    stream = () if device < 0 else (stream_of(device),)
    code = function(team, out.data_ptr(), input.data_ptr(), count * unit, *root, *stream)
    if code:
        raise failure(code)
    return out
