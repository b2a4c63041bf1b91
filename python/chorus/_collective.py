# SPDX-License-Identifier: Apache-2.0
"""
Collectives. All take `team` (None: all PEs of the job) and `stream`: None waits until the call
is complete; otherwise the call is queued there (see docs/python.md), and `dest` is complete in
stream order. Every PE of the team makes the same calls on it in the same order, with the same shapes.
`dest` is returned. `source=None` is in place, on all PEs or on none.
"""
from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Sequence
from typing import Any, TypeVar

from . import _dtype, _lists
from ._library import ArgumentError, Call, PlanStruct, check, lib, require
from ._operand import expect_count, operand, same_type
from ._stream import Stream
from ._stream import handle_of as stream_of
from ._team import Team
from ._team import handle_of as team_of

A = TypeVar("A")  # an array of any library

BYTES = _lists.TYPES["uint8"]


def _n(team):
    n = lib.chorus_team_n_pes(team)
    if n < 0:
        raise ArgumentError(lib.chorusx_last_error().decode())
    return n


def _make(call, stream, *arrays):
    """Run or queue a call; arrays that a queued call uses must live until it has run."""
    handle = stream_of(stream)
    check(lib.chorusx_collective(ctypes.byref(call), handle))
    if type(stream) is Stream:
        stream.keep(*arrays, call)


def _pair(function, dest, source):
    """Both arrays; in place they are one."""
    require(function)
    to = operand(dest, "dest", True)
    if source is None:
        return to, to
    of = operand(source, "source")
    same_type(function, to, of)
    return to, of


def _typed(coll, team, to, of, count, **more):
    """A call that moves elements; those of types that the library has not are bytes."""
    kind = _lists.TYPES.get(to.dtype, BYTES)
    if to.dtype in _dtype.MOVED:
        count *= _dtype.MOVED[to.dtype]
    return Call(coll=_lists.COLLS[coll], team=team, dest=to.address, source=of.address,
                count=count, type=kind, op=_lists.OPS["sum"], **more)


def _moves(coll, team, stream, to, of, count, **more):
    _make(_typed(coll, team, to, of, count, **more), stream, to.array, of.array)
    return to.array


def _combines(coll, team, stream, to, of, count, op, root=0):
    number = _dtype.require_operator(coll, op, to.dtype)
    call = _typed(coll, team, to, of, count, root=root)
    call.op = number
    _make(call, stream, to.array, of.array)
    return to.array


def barrier(team: Team | None = None, stream: Any = None) -> None:
    """Wait until every PE of the team is in the call; this PE's puts and atomics from before are
    complete."""
    require("barrier")
    handle = stream_of(stream)
    if handle is None:
        check(lib.chorus_barrier(team_of(team)))
    else:
        check(lib.chorusx_barrier_on_stream(team_of(team), handle))


def sync(team: Team | None = None, stream: Any = None) -> None:
    """Wait until every PE of the team is in the call; it completes nothing."""
    require("sync")
    handle = stream_of(stream)
    if handle is None:
        check(lib.chorus_team_sync(team_of(team)))
    else:
        check(lib.chorusx_team_sync_on_stream(team_of(team), handle))


def broadcast(dest: A, source: Any = None, root: int = 0, team: Team | None = None,
              stream: Any = None) -> A:
    """dest[i] = source of root [i], on every PE."""
    to, of = _pair("broadcast", dest, source)
    expect_count("broadcast", "source", of.count, to.count, "as many as dest")
    return _moves("broadcast", team_of(team), stream, to, of, to.count, root=root)


def fcollect(dest: A, source: Any, team: Team | None = None, stream: Any = None) -> A:
    """The blocks of all PEs, one after another: dest[p * n + i] = source of PE p [i]. In place:
    source is this PE's block of dest."""
    to, of = _pair("fcollect", dest, source)
    handle = team_of(team)
    expect_count("fcollect", "dest", to.count, of.count * _n(handle), "source's for each PE")
    return _moves("fcollect", handle, stream, to, of, of.count)


def alltoall(dest: A, source: Any, team: Team | None = None, stream: Any = None) -> A:
    """A block between each two PEs: dest[p * n + i] = source of PE p [me * n + i]."""
    to, of = _pair("alltoall", dest, source)
    handle = team_of(team)
    expect_count("alltoall", "source", of.count, to.count, "as many as dest")
    return _moves("alltoall", handle, stream, to, of, _block("alltoall", "dest", to, handle))


def _block(function, name, array, team):
    n = _n(team)
    if array.count % n:
        raise ArgumentError(f"{function}: {name} has {array.count} elements, which are no block for "
                            f"each of the team's {n} PEs")
    return array.count // n


def collect(dest: A, source: Any, team: Team | None = None, stream: Any = None) -> A:
    """The blocks of all PEs, one after another, which may have different lengths: dest has room for
    all together."""
    to, of = _pair("collect", dest, source)
    return _moves("collect", team_of(team), stream, to, of, of.count)


def alltoalls(dest: A, source: Any, dst: int, sst: int, count: int, team: Team | None = None,
              stream: Any = None) -> A:
    """As `alltoall` with blocks of `count` elements, with strides `dst` in dest and `sst` in source."""
    to, of = _pair("alltoalls", dest, source)
    handle = team_of(team)
    if count > 0 and dst > 0 and sst > 0:
        last = count * _n(handle) - 1
        for name, array, step in (("dest", to, dst), ("source", of, sst)):
            if array.count <= last * step:
                raise ArgumentError(f"alltoalls: {name} has {array.count} elements; expected "
                                    f"{last * step + 1} or more")
    return _moves("alltoalls", handle, stream, to, of, count, dst=dst, sst=sst)


def alltoallv(dest: A, dest_counts: Sequence[int], dest_offsets: Sequence[int], source: Any,
              source_counts: Sequence[int], source_offsets: Sequence[int],
              team: Team | None = None, stream: Any = None) -> A:
    """Blocks of any length between each two PEs: from PE p come dest_counts[p] elements, which go to
    dest[dest_offsets[p]:]; to PE p go source_counts[p] of source[source_offsets[p]:]. If a PE sends
    another number than the receiver expects, this is an ArgumentError on hosts. An empty dest
    without an address, as PyTorch makes it, counts as symmetric: where that of other PEs is not, pass
    a part of an array that has elements, which receives none."""
    to, of = _pair("alltoallv", dest, source)
    handle = team_of(team)
    n = _n(handle)
    lists = {}
    for name, array, counts, offsets in (("dest", to, dest_counts, dest_offsets),
                                         ("source", of, source_counts, source_offsets)):
        for part, values in (("counts", counts), ("offsets", offsets)):
            lists[f"{name}_{part}"] = _numbers(f"{name}_{part}", values, n, array.dtype)
        end = max((c + o for c, o in zip(counts, offsets) if c), default=0)
        if end > array.count:
            raise ArgumentError(f"alltoallv: {name} has {array.count} elements, its last block ends "
                                f"at {end}")
    return _moves("alltoallv", handle, stream, to, of, 0, **lists)


def _numbers(name, values, n, dtype):
    values = [int(v) for v in values]
    if len(values) != n or any(v < 0 for v in values):
        raise ArgumentError(f"alltoallv: {name} is {values}; expected {n} numbers of 0 or more")
    return (ctypes.c_size_t * n)(*values)


def gather(dest: A, source: Any, root: int = 0, team: Team | None = None,
           stream: Any = None) -> A:
    """The blocks of all PEs, only on root: dest[p * n + i] = source of PE p [i]. dest is given
    on every PE."""
    to, of = _pair("gather", dest, source)
    handle = team_of(team)
    if lib.chorus_team_my_pe(handle) == root:
        expect_count("gather", "dest", to.count, of.count * _n(handle), "source's for each PE")
    return _moves("gather", handle, stream, to, of, of.count, root=root)


def scatter(dest: A, source: Any, root: int = 0, team: Team | None = None,
            stream: Any = None) -> A:
    """Each PE's block of root's source: dest[i] = source of root [me * n + i]. source is
    given on every PE."""
    to, of = _pair("scatter", dest, source)
    handle = team_of(team)
    if lib.chorus_team_my_pe(handle) == root:
        expect_count("scatter", "source", of.count, to.count * _n(handle), "dest's for each PE")
    return _moves("scatter", handle, stream, to, of, to.count, root=root)


def reduce(dest: A, source: Any = None, op: str = "sum", team: Team | None = None,
           stream: Any = None) -> A:
    """The elements of all PEs combined, on every PE: dest[i] = source of PE 0 [i] op ... . op is
    "sum", "prod", "min", "max", and for integers "and", "or", "xor"."""
    to, of = _pair("reduce", dest, source)
    expect_count("reduce", "source", of.count, to.count, "as many as dest")
    return _combines("reduce", team_of(team), stream, to, of, to.count, op)


def reducescatter(dest: A, source: Any, op: str = "sum", team: Team | None = None,
                  stream: Any = None) -> A:
    """This PE's block of the result of `reduce`. In place: dest is this PE's block of source."""
    to, of = _pair("reducescatter", dest, source)
    handle = team_of(team)
    expect_count("reducescatter", "source", of.count, to.count * _n(handle), "dest's for each PE")
    return _combines("reducescatter", handle, stream, to, of, to.count, op)


def reduce_to(dest: A, source: Any = None, op: str = "sum", root: int = 0,
              team: Team | None = None, stream: Any = None) -> A:
    """As `reduce`, only on root; dest is given on every PE."""
    to, of = _pair("reduce_to", dest, source)
    expect_count("reduce_to", "source", of.count, to.count, "as many as dest")
    return _combines("reduce_to", team_of(team), stream, to, of, to.count, op, root)


def inscan(dest: A, source: Any = None, team: Team | None = None, stream: Any = None) -> A:
    """The sums up to this PE, its own elements included."""
    to, of = _pair("inscan", dest, source)
    expect_count("inscan", "source", of.count, to.count, "as many as dest")
    return _combines("inscan", team_of(team), stream, to, of, to.count, "sum")


def exscan(dest: A, source: Any = None, team: Team | None = None, stream: Any = None) -> A:
    """The sums up to the PE before this one, 0 on the first."""
    to, of = _pair("exscan", dest, source)
    expect_count("exscan", "source", of.count, to.count, "as many as dest")
    return _combines("exscan", team_of(team), stream, to, of, to.count, "sum")


@dataclasses.dataclass(frozen=True)
class Plan:
    """The plan of a call: names as in a rule table, and the rule ("file:line")."""

    algo: str
    proto: str
    ctas: int
    radix: int
    rule: str


def _call_of(coll, team, dest, source, op):
    """The call on these arrays, where its arrays tell all of it."""
    to, of = _pair("explain", dest, source)
    count = of.count if coll in ("fcollect", "gather", "collect") else to.count
    if coll == "alltoall":
        count = _block("explain", "dest", to, team)
    call = _typed(coll, team, to, of, count)
    if coll in _lists.COMBINING:
        call.op = _dtype.require_operator("explain", op, to.dtype)
    return call


def explain(coll: str, nbytes: int = 0, dtype: Any = "uint8", op: str = "sum",
            team: Team | None = None, dest: Any = None, source: Any = None) -> Plan:
    """The plan that a call would have. nbytes: of one PE's block for fcollect and alltoall, of the
    whole of source for the others, of symmetric arrays that do not overlap. Or dest and source, as
    the call gets them: in place, symmetric or not (not alltoalls and alltoallv)."""
    require("explain")
    if coll not in _lists.COLLS:
        raise ArgumentError(f"explain: coll is {coll!r}; expected one of {', '.join(_lists.COLLS)}")
    plan, handle = PlanStruct(), team_of(team)
    if dest is not None:
        if coll in ("barrier", "alltoalls", "alltoallv"):
            raise ArgumentError(f"explain: arrays do not tell all of {coll}; pass nbytes and dtype")
        check(lib.chorusx_explain_call(ctypes.byref(_call_of(coll, handle, dest, source, op)),
                                       ctypes.byref(plan)))
    else:
        kind = _lists.TYPES.get(_dtype.name_of(dtype), BYTES)
        number = _lists.OPS["sum"]
        if coll in _lists.COMBINING:
            number = _dtype.require_operator("explain", op, _dtype.name_of(dtype))
        check(lib.chorusx_explain(handle, _lists.COLLS[coll], kind, number, ctypes.c_size_t(nbytes),
                                  ctypes.byref(plan)))
    return Plan(plan.algo.decode(), plan.proto.decode(), plan.ctas, plan.radix, plan.rule.decode())
