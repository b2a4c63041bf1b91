# SPDX-License-Identifier: Apache-2.0
"""
The shortest way from a tensor of PyTorch to the library: a function of it for each kind of call,
found once. Small calls take longer in Python than in the library, so operands are looked at when
a function is found, and no structure is filled for a call. Operands are contiguous, of one dtype,
and have the lengths that the call expects, which the caller sees to.
"""
from __future__ import annotations

from . import _array, _dtype, _lists
from ._library import c_int, c_size, c_void, failure, lib, require
from ._operand import operand

# How functions of the library are named by an element type.
_NAMES = {**_lists.RMA, "complex64": "complexf", "complex128": "complexd"}
_found = _array.of_device


def _function(coll, op, name, has_root, on_gpu):
    """The function of the library, and the bytes by which it counts; 1 where it counts elements."""
    if op is None:
        symbol, unit = f"{coll}mem", _dtype.itemsize(name)
    else:
        _dtype.require_operator(coll, op, name)
        symbol, unit = f"{_NAMES[name]}_{op}_{coll}", 1
    full = f"chorusx_{symbol}_on_stream" if on_gpu else f"chorus_{symbol}"
    function = lib[full]  # one of its own, unlike lib.name
    function.restype = c_int
    function.argtypes = [c_int, c_void, c_void, c_size, *[c_int] * has_root, *[c_void] * on_gpu]
    return function, unit


def _current_stream(device):
    import torch
    getter = torch._C._cuda_getCurrentRawStream
    return lambda: getter(device)


def _find(key, function, input):
    require(function)
    coll, op, _, _, has_root = key
    name = operand(input, "input").dtype
    device = _array.heap_device()
    made, unit = _function(coll, op, name, has_root, device >= 0)
    _found[key] = found = (made, unit, _current_stream(device) if device >= 0 else None)
    return found


def combine(coll, op, team, out, input, count):
    """reduce or reducescatter, on the current stream; on a host it has run."""
    key = (coll, op, input.dtype, input.device, False)
    function, _, stream = _found.get(key) or _find(key, coll, input)
    if stream is None:
        code = function(team, out.data_ptr(), input.data_ptr(), count)
    else:
        code = function(team, out.data_ptr(), input.data_ptr(), count, stream())
    if code:
        raise failure(code)
    return out


def move(coll, team, out, input, count):
    """fcollect or alltoall, blocks of `count` elements."""
    key = (coll, None, input.dtype, input.device, False)
    function, unit, stream = _found.get(key) or _find(key, coll, input)
    if stream is None:
        code = function(team, out.data_ptr(), input.data_ptr(), count * unit)
    else:
        code = function(team, out.data_ptr(), input.data_ptr(), count * unit, stream())
    if code:
        raise failure(code)
    return out


def broadcast(team, out, input, count, root):
    key = ("broadcast", None, input.dtype, input.device, True)
    function, unit, stream = _found.get(key) or _find(key, "broadcast", input)
    if stream is None:
        code = function(team, out.data_ptr(), input.data_ptr(), count * unit, root)
    else:
        code = function(team, out.data_ptr(), input.data_ptr(), count * unit, root, stream())
    if code:
        raise failure(code)
    return out
