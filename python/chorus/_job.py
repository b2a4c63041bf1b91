# SPDX-License-Identifier: Apache-2.0
"""Joining the job and leaving it."""
from __future__ import annotations

import atexit
import ctypes
import dataclasses
import sys
from typing import Any

from . import _lists
from ._array import empty, forget_device, heap_device, heap_struct
from ._collective import fcollect
from ._library import (ArgumentError, Error, InitAttr, UniqueId, c_int, call, catch_failures,
                       check, forked, init_status, last_message, leave_failures, lib,
                       remember_process, require)
from ._memory import memory
from ._remote import quiet
from ._version import VERSION

HEAP, DEVICE, UNIQUEID, THREADS = 1, 2, 4, 8  # CHORUSX_INIT_
THREAD_MULTIPLE = 3
VERSION_BYTES = 16
STORE_KEY = "chorus/unique_id"


def unique_id() -> bytes:
    """Bytes that identify a job which a program creates itself. One process creates them and
    distributes them to the others; all then call `init` with them. Keep them secret from other
    processes."""
    made = UniqueId()
    check(lib.chorusx_get_uniqueid(ctypes.byref(made)))
    return ctypes.string_at(ctypes.addressof(made), ctypes.sizeof(made))


def init(*, heap: str | None = None, device: int | None = None, unique_id: bytes | None = None,
         store: Any = None, rank: int | None = None, n_ranks: int | None = None) -> None:
    """Join the job, before any other call. Every PE of the job calls once.

    Without arguments, the job is that of the launcher: chorusrun, torchrun on one host, mpirun
    or srun by PMIx; without a launcher, the process is a job of one PE.

    heap: "host" or "cuda", where symmetric arrays are; "auto", which CHORUS_HEAP may override, if
    not given. device: the number of this PE's GPU; if not given, the one that is current.

    unique_id: the bytes of `chorus.unique_id()`, with `rank` and `n_ranks`, for a program that creates
    its job itself. Or store: any object with `set(key, bytes)` and `get(key)` that waits for the
    key, such as PyTorch's stores; rank 0 creates the id and distributes it by the store.

    At the end of the program `finalize` is called, unless the program ends by an exception.
    """
    flags, attr = THREADS, InitAttr(threads=THREAD_MULTIPLE)
    if heap is not None:
        if heap not in _lists.HEAPS:
            raise ArgumentError(f"init: heap is {heap!r}; expected {', '.join(_lists.HEAPS)}")
        flags, attr.heap = flags | HEAP, _lists.HEAPS[heap]
    if device is not None:
        flags, attr.device = flags | DEVICE, int(device)
    if store is not None:
        unique_id = _through(store, rank, n_ranks)
    if unique_id is not None:
        _set_unique_id(attr, unique_id, rank, n_ranks)
        flags |= UNIQUEID
    elif rank is not None or n_ranks is not None:
        raise ArgumentError("init: rank and n_ranks go with unique_id or store; pass one, or "
                            "neither of them")
    if init_status() == 2 and forked():
        require("init")
    check(lib.chorusx_init_attr(flags, ctypes.byref(attr)))
    remember_process()
    catch_failures()
    _watch_end()
    _check_versions()


def _check_versions():
    """All PEs have the same package, or init fails on all of them."""
    mine = empty(VERSION_BYTES, "uint8")
    everyones = empty((n_pes(), VERSION_BYTES), "uint8")
    text = VERSION.encode()[:VERSION_BYTES]
    call(lib.chorus_putmem, mine.address, text.ljust(VERSION_BYTES, b"\0"), VERSION_BYTES, my_pe())
    quiet()
    found = fcollect(everyones, mine).tobytes()
    versions = [found[i:i + VERSION_BYTES].rstrip(b"\0").decode()
                for i in range(0, len(found), VERSION_BYTES)]
    mine.free()
    everyones.free()
    for pe, version in enumerate(versions):
        if version != versions[0]:
            finalize()
            raise Error(f"init: PE {pe} has version {version} of the package chorus, PE 0 has "
                        f"{versions[0]}; install the same for all PEs")


def _through(store, rank, n_ranks):
    if rank is None or n_ranks is None:
        raise ArgumentError("init: a store needs rank and n_ranks")
    if rank == 0:
        made = unique_id()
        store.set(STORE_KEY, made)
        return made
    return store.get(STORE_KEY)


def _set_unique_id(attr, given, rank, n_ranks):
    if rank is None or n_ranks is None:
        raise ArgumentError("init: unique_id needs rank and n_ranks")
    if not isinstance(given, (bytes, bytearray)) or len(given) != ctypes.sizeof(UniqueId):
        raise ArgumentError(f"init: unique_id is no id; expected the {ctypes.sizeof(UniqueId)} bytes "
                            "of chorus.unique_id()")
    uid = UniqueId.from_buffer_copy(given)
    check(lib.chorusx_set_attr_uniqueid_args(c_int(rank), c_int(n_ranks), ctypes.byref(uid),
                                             ctypes.byref(attr)))


_failed = []  # an exception ends the program


_watched = []  # once it is


def _watch_end():
    if _watched:
        return
    _watched.append(True)
    before = sys.excepthook

    def note(*what):
        _failed.append(what[0])
        before(*what)

    sys.excepthook = note
    atexit.register(_at_exit)


def _at_exit():
    """A PE that failed does not leave the job: the launcher ends the others."""
    try:
        if init_status() == 1 and not _failed:
            finalize()
    finally:
        leave_failures()


def finalize() -> None:
    """Collective over the job: leave it. Arrays of other libraries that share symmetric memory in
    host memory contain zeros from now on; on a GPU they must not be used."""
    require("finalize")
    is_on_host = heap_device() < 0
    call(lib.chorus_finalize)
    if is_on_host:
        memory.keep_addresses()
    memory.begin()
    forget_device()


def is_initialized() -> bool:
    """Is this process in a job, between init and finalize?"""
    return init_status() == 1


def abort(status: int = 1) -> None:
    """End the whole job at once, every PE with this exit status. Does not return."""
    lib.chorus_global_exit(c_int(status))


def my_pe() -> int:
    """This PE's number in the job."""
    return _number("my_pe", lib.chorus_my_pe())


def n_pes() -> int:
    """The number of PEs in the job."""
    return _number("n_pes", lib.chorus_n_pes())


def _number(function, number):
    if number < 0:
        require(function)
        raise Error(last_message())
    return number


@dataclasses.dataclass(frozen=True)
class HeapInfo:
    """The state of the symmetric heap; see chorusx_heap_info_t. `device` is -1 on a host."""

    reserved_bytes: int
    committed_bytes: int
    used_bytes: int
    free_bytes: int
    largest_free_bytes: int
    high_water_bytes: int
    blocks: int
    local_used_bytes: int
    heap: str
    device: int


def heap_info() -> HeapInfo:
    """The state of the symmetric heap."""
    require("heap_info")
    info = heap_struct()
    heaps = {number: name for name, number in _lists.HEAPS.items()}
    values = {name: getattr(info, name) for name, _ in info._fields_}
    values["heap"] = heaps[values["heap"]]
    return HeapInfo(**values)


def version() -> tuple[int, int]:
    """The version of the API that the library implements, as (major, minor)."""
    major, minor = c_int(), c_int()
    lib.chorus_info_get_version(ctypes.byref(major), ctypes.byref(minor))
    return major.value, minor.value
