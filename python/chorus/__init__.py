# SPDX-License-Identifier: Apache-2.0
"""
Chorus: collectives over symmetric memory, from Python.

    import chorus
    chorus.init()
    total = chorus.reduce(chorus.full(4, chorus.my_pe() + 1, "int32"))
    print(chorus.my_pe(), total.tobytes())

Start it by `chorusrun -n 4 python program.py`, or by torchrun, mpirun or srun. Every PE runs the
program; calls marked collective are made by all of them in the same order.

Joining      init, finalize, unique_id, my_pe, n_pes, is_initialized, abort
Memory       empty, zeros, full, Array, collect_garbage, heap_info
Teams        Team, WORLD, SHARED, NODE
Collectives  barrier, sync, broadcast, fcollect, alltoall, reduce, reducescatter; on hosts
             also collect, alltoalls, alltoallv, gather, scatter, reduce_to, inscan, exscan
One-sided    put, get, p, g, put_signal, signal_*, wait_until*, test, atomic_*, fence, quiet
Streams      Stream, synchronize
Choice       explain

docs/python.md of the project explains it.
"""
from ._array import Array, empty, full, zeros
from ._collective import (Plan, alltoall, alltoalls, alltoallv, barrier, broadcast, collect, exscan,
                          explain, fcollect, gather, inscan, reduce, reduce_to, reducescatter,
                          scatter, sync)
from ._job import (HeapInfo, abort, finalize, heap_info, init, is_initialized, my_pe, n_pes, unique_id,
                   version)
from ._library import ArgumentError, DtypeError, Error, HeapFullError, TimeoutError
from ._memory import collect_garbage
from ._remote import (atomic_add, atomic_and, atomic_compare_swap, atomic_fetch, atomic_fetch_add,
                      atomic_fetch_and, atomic_fetch_inc, atomic_fetch_or, atomic_fetch_xor,
                      atomic_inc, atomic_or, atomic_set, atomic_swap, atomic_xor, clear_lock, fence,
                      g, get, get_nbi, p, put, put_nbi, put_signal, quiet, set_lock, signal_add,
                      signal_fetch, signal_set, signal_wait_until, test, test_lock, wait_until,
                      wait_until_all, wait_until_any)
from ._stream import Stream, synchronize
from ._team import NODE, SHARED, WORLD, Team
from ._version import VERSION

__version__ = VERSION
__all__ = [name for name in dir() if not name.startswith("_")]
