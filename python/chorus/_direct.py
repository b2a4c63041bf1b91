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
