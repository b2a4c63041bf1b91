# SPDX-License-Identifier: Apache-2.0
"""
Symmetric memory: which blocks there are, and how those that were collected are given back.

Giving a block back is collective, and Python collects objects at other times on each PE. So a
block that is collected is noted, nothing more. At the next point that all PEs come to (an
allocation, free, collect) they agree by a reduction which blocks are noted on all of them, and
give those back. Blocks are known by their order, since all PEs allocate in the same order.
"""
from __future__ import annotations

import collections
import ctypes

from . import _lists
from ._library import (Call, Error, HeapFullError, PoolNote, call, check, last_message, lib,
                       require)

WORD_BITS = 64
ROUND_WORDS = 8  # words of notes that PEs compare at once
ROUND_BYTES = 8 * ROUND_WORDS
NOTES = 256  # of PyTorch's allocator that are taken at once


class Block:
    """One symmetric object. Its arrays keep it; `address` is None once it was freed."""

    __slots__ = ("address", "nbytes", "number", "noted")

    def __init__(self, address, nbytes, number, noted):
        self.address, self.nbytes, self.number, self.noted = address, nbytes, number, noted

    def is_of_job(self):
        """Of the job that the process is in, not of one that it has left?"""
        return self.noted is memory.noted

    def __del__(self):
        if self.address is not None and self.nbytes:
            self.noted.append(self.number)


class Memory:
    """The blocks of this process, which is one PE."""

    def __init__(self):
        self.begin()

    def begin(self):
        """The process has joined no job yet, or has left one."""
        self.noted = collections.deque()  # numbers of blocks that were collected here
        self.dropped = set()              # the same, taken from there
        self.live = {}                    # number to (address, bytes), alike on all PEs
        self.pooled = {}                  # address to number, of blocks of PyTorch's allocator
        self.next_number = 0
        self.scratch = None               # symmetric: what this PE says, then what all say

    def allocate(self, nbytes):
        """Collective: a block on every PE."""
        self.collect()
        return self._new(nbytes)

    def _new(self, nbytes):
        address = self._scratch()  # of an array without elements: symmetric, and not null
        if nbytes > 0:
            address = call(lib.chorus_malloc, nbytes)
            if address is None:
                raise HeapFullError(last_message())
        block = Block(address, nbytes, self.next_number, self.noted)
        self.next_number += 1
        if nbytes:
            self.live[block.number] = (address, nbytes)
        return block

    def free(self, block):
        """Collective: free a block, even if there are arrays of it."""
        if block.address is None:
            raise Error("free: the array was freed before", "ERR_ARG")
        address, block.address = block.address, None
        self.collect()
        if block.nbytes:
            call(lib.chorus_free, address)
            del self.live[block.number]

    def collect(self):
        """Collective: free the blocks that were collected on every PE; returns their number."""
        while self.noted:
            self.dropped.add(self.noted.popleft())
        self.take_notes()
        if not self.live:
            return 0
        numbers = list(self.live)
        freed = 0
        for first in range(0, len(numbers), WORD_BITS * ROUND_WORDS):
            some = numbers[first:first + WORD_BITS * ROUND_WORDS]
            mine = sum(1 << i for i, number in enumerate(some) if number in self.dropped)
            for i in _bits(self._agree(mine)):
                call(lib.chorus_free, self.live.pop(some[i])[0])
                self.dropped.discard(some[i])
                freed += 1
        return freed

    def take_notes(self):
        """Blocks that PyTorch's allocator made and freed since, see chorus.torch.pool."""
        notes, taken = (PoolNote * NOTES)(), NOTES
        while taken == NOTES:
            taken = lib.chorusx_pool_take(notes, NOTES)
            for note in notes[:taken]:
                if note.bytes:
                    self.live[self.next_number] = (note.ptr, note.bytes)
                    self.pooled[note.ptr] = self.next_number
                    self.next_number += 1
                elif note.ptr in self.pooled:
                    self.dropped.add(self.pooled.pop(note.ptr))

    def _scratch(self):
        if self.scratch is None:
            self.scratch = call(lib.chorus_malloc, 2 * ROUND_BYTES)
            if self.scratch is None:
                raise HeapFullError(last_message())
        return self.scratch

    def _agree(self, mine):
        """The bits that are set on every PE."""
        scratch = self._scratch()
        me = lib.chorus_my_pe()
        said = mine.to_bytes(ROUND_BYTES, "little")
        call(lib.chorus_putmem, scratch, said, ROUND_BYTES, me)
        call(lib.chorus_quiet)
        check(lib.chorusx_collective(ctypes.byref(Call(
            coll=_lists.COLLS["reduce"], team=0, dest=scratch + ROUND_BYTES,
            source=scratch, count=ROUND_WORDS, type=_lists.TYPES["uint64"],
            op=_lists.OPS["and"])), None))
        answer = ctypes.create_string_buffer(ROUND_BYTES)
        call(lib.chorus_getmem, answer, scratch + ROUND_BYTES, ROUND_BYTES, me)
        return int.from_bytes(answer.raw, "little")

    def keep_addresses(self):
        """After finalize: what others still see of blocks in host memory is zeros from now on,
        and no address that nothing is behind."""
        for address, nbytes in self.live.values():
            _map_zeros(address, nbytes)


def _bits(number):
    return [i for i in range(number.bit_length()) if number >> i & 1]


_PROT_READ_WRITE = 3
_MAP_PRIVATE, _MAP_ANONYMOUS = 0x02, 0x20
_MAP_NORESERVE, _MAP_FIXED_NOREPLACE = 0x4000, 0x100000


def _map_zeros(address, nbytes, page=4096):
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                          ctypes.c_int, ctypes.c_long]
    flags = _MAP_PRIVATE | _MAP_ANONYMOUS | _MAP_NORESERVE | _MAP_FIXED_NOREPLACE
    for at in _runs(address // page, (address + nbytes - 1) // page + 1):
        libc.mmap(at[0] * page, (at[1] - at[0]) * page, _PROT_READ_WRITE, flags, -1, 0)


_mapped = []  # pages that _map_zeros has mapped: blocks may share one


def _runs(lo, hi):
    """What of the pages [lo, hi) is not mapped yet."""
    for first, last in _mapped:
        if first <= lo < last:
            lo = last
        if first < hi <= last:
            hi = first
    if lo >= hi:
        return []
    _mapped.append((lo, hi))
    return [(lo, hi)]


memory = Memory()


def collect_garbage() -> int:
    """Collective over the job: free the arrays that were collected on every PE.

    Allocations and `free` do the same first; a program that does neither for a long time may call
    this. Returns the number of arrays that were freed.
    """
    require("collect_garbage")
    return memory.collect()
