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
from ._library import c_int, c_size, c_void, failure, lib, require
from ._operand import operand

# How functions of the library are named by an element type.
_NAMES = {**_lists.RMA, "complex64": "complexf", "complex128": "complexd"}
_found = _array.of_device
_stream_of = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # none in builds for CPUs
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
    function.argtypes = [c_int, c_void, c_void, c_size, *[c_int] * (coll == "broadcast"),
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


def _find_reduce(key, team, input):
    """What an all_reduce of a tensor of this dtype, device and shape needs, in the order in which
    `reduce` takes it."""
    dtype, device, shape, op, _ = key
    part = ("reduce", op, dtype, device)
    function, _, on = _found.get(part) or _find(part, input)
    if len(_found) > _SHAPES_MAX:
        _found.clear()
    _found[key] = found = (function, team, input.numel(), on, _empty(on >= 0), tuple(shape),
                           tuple(input.stride()), dtype)
    return found


def reduce(input, op, group, team_of):
    """all_reduce of a contiguous tensor: its result. What follows from its shape is kept."""
    key = (input.dtype, input.device, input.shape, op, group)
    found = _found.get(key) or _find_reduce(key, team_of("all_reduce", group)._handle, input)
    function, team, count, device, empty, shape, strides, dtype = found
    out = empty(shape, strides, dtype)
    if device < 0:
        code = function(team, out.data_ptr(), input.data_ptr(), count)
    else:
        if out.get_device() != device:  # another GPU is current
            out = torch.empty_like(input)
        code = function(team, out.data_ptr(), input.data_ptr(), count, _stream_of(device))
    if code:
        raise failure(code)
    return out


def combine(coll, op, team, out, input, count):
    """reduce or reducescatter, on the current stream; on a host it has run."""
    key = (coll, op, input.dtype, input.device)
    function, _, device = _found.get(key) or _find(key, input)
    if device < 0:
        code = function(team, out.data_ptr(), input.data_ptr(), count)
    else:
        code = function(team, out.data_ptr(), input.data_ptr(), count, _stream_of(device))
    if code:
        raise failure(code)
    return out


def move(coll, team, out, input, count, *root):
    """fcollect or alltoall, blocks of `count` elements, or broadcast, with its root."""
    key = (coll, None, input.dtype, input.device)
    function, unit, device = _found.get(key) or _find(key, input)
    stream = () if device < 0 else (_stream_of(device),)
    code = function(team, out.data_ptr(), input.data_ptr(), count * unit, *root, *stream)
    if code:
        raise failure(code)
    return out
