# SPDX-License-Identifier: Apache-2.0
"""Tensors in symmetric memory, by an allocator of PyTorch's."""
from __future__ import annotations

import contextlib
import ctypes
import zlib

import torch

from . import _array, _lists
from ._library import ArgumentError, Call, Error, call, check, lib, require
from ._memory import memory

_pools = []  # (job, MemPool): kept for good, since tensors of a job that was left may live on


def _pool():
    """The one of this job; it keeps what tensors gave back for the next ones."""
    for job, made in _pools:
        if job is memory.noted:
            return made
    allocator = torch.cuda.memory.CUDAPluggableAllocator(lib._name, "chorusx_pool_malloc",
                                                         "chorusx_pool_free")
    made = torch.cuda.MemPool(allocator.allocator())
    _pools.append((memory.noted, made))
    _pools.append((None, allocator))
    return made


def _digest():
    """Of the symmetric objects of this PE: their numbers, offsets and lengths."""
    base = min((address for address, _ in memory.live.values()), default=0)
    objects = [(number, address - base, nbytes)
               for number, (address, nbytes) in memory.live.items()]
    return zlib.crc32(repr(objects).encode())


def _check_alike():
    """All PEs made the same blocks, or all raise."""
    memory.take_notes()
    mine = _digest()
    words = ctypes.create_string_buffer(16)
    scratch = memory._scratch()
    note = mine.to_bytes(8, "little") + (~mine & 2**64 - 1).to_bytes(8, "little")
    call(lib.chorus_putmem, scratch, note, 16, lib.chorus_my_pe())
    call(lib.chorus_quiet)
    check(lib.chorusx_collective(ctypes.byref(Call(
        coll=_lists.COLLS["reduce"], team=0, dest=scratch + 16, source=scratch, count=2,
        type=_lists.TYPES["uint64"], op=_lists.OPS["min"])), None))
    call(lib.chorus_getmem, words, scratch + 16, 16, lib.chorus_my_pe())
    least = int.from_bytes(words.raw[:8], "little")
    most = ~int.from_bytes(words.raw[8:], "little") & 2**64 - 1
    if least != most:
        raise Error("pool: PEs allocated differently in it; the same tensors must be made and dropped "
                    "in the same order on every PE")


@contextlib.contextmanager
def pool():
    """Collective over the job: within it, this thread's new tensors on the GPU of the heap are
    symmetric.

        with chorus.torch.pool():
            y = model(x)

    PyTorch's caching allocator takes its blocks from the symmetric heap, which is collective, so
    every PE creates and releases the same tensors in the same order within it, and does not use
    `record_stream`; at the end, the blocks are compared, and it raises if they differ. The memory of
    released tensors is used again within the next `pool()`. During the capture of a graph no block
    can be allocated: run the code once in the pool before.
    """
    require("pool")
    device = _array.heap_device()
    if device < 0:
        raise ArgumentError("pool: the symmetric heap is in host memory, where PyTorch takes no other "
                            "allocator; use chorus.torch.empty, or chorus.init(heap=\"cuda\")")
    with torch.cuda.use_mem_pool(_pool(), device):
        yield
    if not torch.cuda.is_current_stream_capturing():
        _check_alike()
