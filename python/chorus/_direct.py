# SPDX-License-Identifier: Apache-2.0
"""
The shortest way from a tensor of PyTorch to the library. Small calls take longer in Python than in
the library, so what depends on the kind of call is looked up once, when operands are examined too.
Operands are contiguous, of one dtype, and have the lengths that the call expects, which the caller
sees to.
"""
from __future__ import annotations

import ctypes
import struct

import torch

from . import _array, _dtype, _lists
from ._library import Call, c_int, c_void, failure, lib, require
from ._operand import operand
from ._stream import CUDA_DEFAULT

_found = shapes = _array.of_device
stream_of = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # none in builds for CPUs
_SHAPES_MAX = 4096  # that are kept

# A call is passed as the bytes of a chorusx_call, in one argument: ctypes converts each argument in the
# time that struct takes for all of them. PyTorch knows where its tensors are, so CUDA is not queried.
library_call = lib["chorusx_collective"]  # one of its own, unlike lib.chorusx_collective
library_call.restype, library_call.argtypes = c_int, [c_void, c_void]
_REST = bytes(Call(is_reached=1))[Call.root.offset + Call.root.size:]
_whole = struct.Struct(f"2i2PN3i{len(_REST)}s").pack  # coll, team, dest, source, count, type, op, root
around = struct.Struct(f"{Call.dest.offset}s2P{ctypes.sizeof(Call) - Call.count.offset}s").pack  # dest, source

# The operators that make each collective, for messages.
_OPERATORS = {"reduce": "all_reduce", "fcollect": "all_gather", "reducescatter": "reduce_scatter",
              "broadcast": "broadcast", "alltoall": "all_to_all_single"}


def _find(key, input):
    """What `key` stands for: the numbers of a collective, type and operator, the bytes by which the
    call counts, 1 where it counts elements, and the GPU whose current stream it takes, or -1."""
    coll, op, _, _ = key
    function = _OPERATORS[coll]
    require(function)
    name = operand(input, "input").dtype
    if op is None:
        numbers = _lists.TYPES["uint8"], _lists.OPS["sum"], _dtype.itemsize(name)
    else:
        number = _dtype.require_operator(function, op, name)
        numbers = _lists.TYPES[name], number, 1
    _found[key] = found = (_lists.COLLS[coll], *numbers, _array.heap_device())
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
    number, kind, operator, _, _ = _found.get(part) or _find(part, input)
    call = _whole(number, team, 0, 0, input.numel(), kind, operator, 0, _REST)
    shapes[key] = (call[:Call.dest.offset], call[Call.count.offset:], device, dtype in _PARTS,
                   _empty(device >= 0), tuple(shape), tuple(input.stride()), dtype)


def make(coll, op, team, out, input, count, root=0):
    """A collective of `count` elements, on the current stream; on a host it has run. op is None if
    it combines nothing."""
    key = (coll, op, input.dtype, input.device)
    number, kind, operator, unit, device = _found.get(key) or _find(key, input)
    call = _whole(number, team, out.data_ptr(), input.data_ptr(), count * unit, kind, operator, root, _REST)
    code = library_call(call, None if device < 0 else stream_of(device) or CUDA_DEFAULT)
    if code:
        raise failure(code)
    return out
