# SPDX-License-Identifier: Apache-2.0
"""
Mixture of experts: tokens in host memory go to the PEs of their experts, and come back added up.

    with chorus.moe.MoE(None, experts, topk, tokens_max, hidden, "float32") as moe:
        route = moe.route(topk_idx)            # int32 or int64: topk numbers of experts, or -1, per token
        rows = moe.dispatch(route, x)          # those of expert i: rows[firsts[i]:firsts[i] + counts[i]]
        y = moe.combine(route, rows, weights)  # float32: topk per token

All PEs of the team that are active make the same calls on an object in the same order, one thread at a time.
docs/moe.md of the project explains routes, capacities and masks.
"""
from __future__ import annotations

import array
import collections
import ctypes
import operator
from collections.abc import Iterable
from typing import Any, TypeVar

from . import _dtype, _lists
from ._apps import Config, Info, Origin, apps, check
from ._library import ArgumentError, DtypeError, Error, c_void, lib, require
from ._memory import memory
from ._operand import expect_count, operand
from ._team import Team
from ._team import handle_of as team_of

__all__ = ["MoE", "Origin", "Route"]

A = TypeVar("A")  # an array of any library

LAYOUTS, OVERFLOWS = ("compact", "expert_major"), ("drop", "fail")  # by their numbers in C
COMBINED = ("float32", "bfloat16", "float16")

# --- arguments -------------------------------------------------------------------------------------------------
def _number(name, value):
    try:
        return operator.index(value)
    except TypeError:
        raise ArgumentError(f"MoE: {name} is {value!r}; expected an integer") from None


def _within(value, bits):
    """As a signed number of so many bits; what does not fit becomes the nearest one, which the library refuses."""
    return max(min(value, 2 ** (bits - 1) - 1), -2 ** (bits - 1))


def _choice(name, value, choices):
    if value not in choices:
        raise ArgumentError(f"MoE: {name} is {value!r}; expected one of {', '.join(choices)}")
    return choices.index(value)


def _capacity(value):
    if value is None:
        return 0
    if _number("capacity", value) <= 0:
        raise ArgumentError(f"MoE: capacity is {value}; expected 1 or more, or None for no limit")
    return value


def _flags(name, values, n):
    """A byte for each PE or expert; None is all of them."""
    if values is None:
        return None
    values = list(values)
    if len(values) != n or any(value not in (0, 1) for value in values):
        raise ArgumentError(f"MoE.set_active: {name} is {values}; expected {n} times True or False, or None for all")
    return bytes(1 if value else 0 for value in values)


def _typed(function, given, name, dtype, is_written=False):
    found = operand(given, name, is_written)
    if found.dtype != dtype:
        raise DtypeError(f"{function}: {name} is of dtype {found.dtype}; expected {dtype}")
    return found


def _numbers_of_experts(topk_idx, topk):
    """topk_idx with elements of int32: what holds them, their address, and the number of tokens."""
    given = operand(topk_idx, "topk_idx")
    shape = tuple(getattr(topk_idx, "shape", (topk,)))
    if given.dtype not in ("int32", "int64"):
        raise DtypeError(f"MoE.route: topk_idx is of dtype {given.dtype}; expected int32 or int64")
    if given.count % topk or len(shape) > 1 and shape[-1] != topk:
        raise ArgumentError(f"MoE.route: topk_idx has shape {shape}; expected topk = {topk} entries for each token")
    if given.dtype == "int32" or given.count == 0:
        return given, given.address, given.count // topk
    wide = array.array("q", ctypes.string_at(given.address, given.nbytes))
    try:
        narrow = array.array("i", wide)
    except OverflowError:
        narrow = array.array("i", (_within(value, 32) for value in wide))
    return narrow, narrow.buffer_info()[0], given.count // topk


def _new(like, rows, columns, has_gaps):
    """An array of the library that `like` is of, as PyTorch's operators return; else NumPy's."""
    if hasattr(like.array, "data_ptr"):
        return (like.array.new_zeros if has_gaps else like.array.new_empty)((rows, columns))
    typestr = _dtype.typestr(like.dtype)
    if typestr is None:
        raise ArgumentError(f"out is None; NumPy has no arrays of dtype {like.dtype}, so pass one")
    try:
        import numpy
    except ImportError:
        raise ArgumentError("out is None, and there is no NumPy to make an array; pass one") from None
    return (numpy.zeros if has_gaps else numpy.empty)((rows, columns), typestr)


def _result(function, name, out, like, rows, columns, has_gaps=False):
    """Where a call writes: `out`, or a new array."""
    if out is None:
        out = _new(like, rows, columns, has_gaps)
    found = _typed(function, out, name, like.dtype, True)
    expect_count(function, name, found.count, rows * columns, f"{rows} rows of {columns}")
    return found


# --- routes and objects ----------------------------------------------------------------------------------------
class Route:
    """What this PE knows of where tokens go, from `MoE.route`. It serves any number of dispatches and combines.

    n_tokens    of this PE
    rows        that this PE receives, for all its experts
    array_rows  of the array that `dispatch` fills: rows, or experts of this PE times capacity
    """

    __slots__ = ("_moe", "_handle", "_info", "_counts", "_firsts", "n_tokens", "rows", "array_rows")

    def __init__(self, moe, handle):
        self._moe, self._handle, self._info = moe, handle, Info()
        moe._routes.add(handle)
        check(apps.chorusx_moe_route_info(handle, ctypes.byref(self._info)))
        info = self._info
        self.n_tokens, self.rows, self.array_rows = info.n_tokens, info.rows, info.array_rows
        self._counts, self._firsts = tuple(info.counts[:info.n_experts]), tuple(info.firsts[:info.n_experts])

    @property
    def counts(self) -> tuple[int, ...]:
        """The rows of each of this PE's experts."""
        return self._counts

    @property
    def firsts(self) -> tuple[int, ...]:
        """The first row of each of them in the array that `dispatch` fills."""
        return self._firsts

    @property
    def first_expert(self) -> int:
        """The number of the first of this PE's experts; the others follow it."""
        return self._info.first_expert

    @property
    def dropped(self) -> int:
        """Entries of this PE's tokens that were beyond a capacity."""
        return self._info.dropped

    @property
    def origins(self) -> ctypes.Array:
        """A copy of the `Origin` of each row of the array: a sequence, and a buffer, which `numpy.asarray` takes
        with the fields pe, token and slot."""
        self._live("Route.origins")
        copy = (Origin * self.array_rows)()
        ctypes.memmove(copy, self._info.origins, ctypes.sizeof(copy))
        return copy

    def free(self) -> None:
        """Free the route at once; not collective. A route that is collected is freed by the next call on its
        object."""
        handle, self._handle = self._live("Route.free"), None
        self._moe._free_route(handle)

    def __repr__(self) -> str:
        return f"<chorus.moe.Route of {self.n_tokens} tokens, {self.rows} rows come>"

    def __del__(self):
        # Python may collect it within another thread's call on the object.
        if self._handle is not None:
            self._moe._collected.append(self._handle)

    def _live(self, function):
        self._moe._live(function)
        if self._handle is None:
            raise Error(f"{function}: the route was freed; make another", "ERR_ARG")
        return self._handle


class MoE:
    """Collective over the team: dispatch and combine between its PEs, for arrays in host memory.

    team         whose PEs have the experts and the tokens; None: all PEs of the job
    experts      of all PEs, a multiple of the PEs: PE p of n has those from p * experts / n on
    topk         entries of a token: experts that it goes to, at most
    tokens_max   of a PE in a route
    hidden       elements of a token
    dtype        of the tokens that dispatch sends; "uint8" for values of fp8
    scale_bytes  that dispatch sends beside each token
    capacity     rows that an expert gets, from all PEs, at most
    layout       of the rows of this PE's experts: "compact", without gaps; "expert_major": `capacity` rows each
    overflow     of rows beyond the capacity: "drop", or "fail", where the route is an ArgumentError on all PEs
    renormalise  the weights of a token that lost entries so that they keep their sum
    combine_dtype  of the rows that combine takes, if that is another one

    It is not collected: an object that is not freed exists until `chorus.finalize`. As a context, it is freed at
    the end, but for an exception, which other PEs may not have.
    """

    __slots__ = ("_handle", "_job", "_routes", "_collected", "n_pes", "experts", "topk", "hidden", "dtype",
                 "scale_bytes", "combine_dtype", "capacity", "layout")

    def __init__(self, team: Team | None, experts: int, topk: int, tokens_max: int, hidden: int, dtype: Any, *,
                 scale_bytes: int = 0, capacity: int | None = None, layout: str = "compact",
                 overflow: str = "drop", renormalise: bool = False, combine_dtype: Any = None):
        require("MoE")
        team = team_of(team)
        self.dtype = _dtype.name_of(dtype)
        self.combine_dtype = self.dtype if combine_dtype is None else _dtype.name_of(combine_dtype)
        self.experts, self.topk, self.hidden, self.scale_bytes = (_number(*pair) for pair in (
            ("experts", experts), ("topk", topk), ("hidden", hidden), ("scale_bytes", scale_bytes)))
        self._routes, self._collected, self._job = set(), collections.deque(), memory.noted
        self.capacity, self.layout = capacity, layout
        config = Config(
            experts=_within(self.experts, 32), topk=_within(self.topk, 32),
            tokens_max=_within(_number("tokens_max", tokens_max), 64),
            hidden_bytes=_within(self.hidden * _dtype.itemsize(self.dtype), 64),
            combine_bytes=_within(self.hidden * _dtype.itemsize(self.combine_dtype), 64),
            scale_bytes=_within(self.scale_bytes, 64), capacity=_within(_capacity(capacity), 64),
            layout=_choice("layout", layout, LAYOUTS), overflow=_choice("overflow", overflow, OVERFLOWS),
            renormalise=bool(renormalise))
        made = c_void()
        check(apps.chorusx_moe_create(team, ctypes.byref(config), ctypes.byref(made)))
        self._handle, self.n_pes = made.value, lib.chorus_team_n_pes(team)

    def route(self, topk_idx: Any) -> Route:
        """Collective over the active PEs: tell each other which tokens come. topk_idx has `topk` entries of int32
        or int64 for each token of this PE: the number of an expert, each once in a token, or -1 for none. Wrong
        entries are an ArgumentError on all PEs, with the same message."""
        handle = self._live("MoE.route")
        held, address, n_tokens = _numbers_of_experts(topk_idx, self.topk)
        made = c_void()
        check(apps.chorusx_moe_route(handle, address, n_tokens, ctypes.byref(made)))
        del held
        return Route(self, made.value)

    def dispatch(self, route: Route, x: A, scales: Any = None, out: Any = None) -> Any:
        """Collective over the active PEs: send `hidden` elements of each token to the PEs of its experts. Returns
        `out`, of route.array_rows rows; None is a new array, of PyTorch if x is, else of NumPy. Rows that are
        not filled are left alone, and zeros in a new array. With `scales`, of scale_bytes for each token, `out`
        and what is returned are a pair: the rows and their scales."""
        function = "MoE.dispatch"
        handle, rows = self._of(route, function), route.array_rows
        given = _typed(function, x, "x", self.dtype)
        expect_count(function, "x", given.count, route.n_tokens * self.hidden,
                     f"{route.n_tokens} tokens of {self.hidden}")
        has_gaps = rows != route.rows
        if not self._takes_scales(scales):
            to = _result(function, "out", out, given, rows, self.hidden, has_gaps)
            check(apps.chorusx_moe_dispatch(handle, given.address, None, to.address, None))
            return to.array
        beside, columns = self._scales(scales, route)
        out, out_scales = self._both(out)
        to = _result(function, "out", out, given, rows, self.hidden, has_gaps)
        to_scales = _result(function, "the scales of out", out_scales, beside, rows, columns, has_gaps)
        check(apps.chorusx_moe_dispatch(handle, given.address, beside.address, to.address, to_scales.address))
        return to.array, to_scales.array

    def combine(self, route: Route, y: A, weights: Any = None, out: Any = None) -> Any:
        """Collective over the active PEs: send rows back, numbered as `dispatch` does, and add them up:
        out[t] = weights[t][0] * row of entry 0 + weights[t][1] * row of entry 1 + ... . weights are `topk` of
        float32 for each token of this PE; None: 1. Returns `out`, of `hidden` elements for each token; None is a
        new array, of PyTorch if y is, else of NumPy."""
        function = "MoE.combine"
        handle, n_tokens = self._of(route, function), route.n_tokens
        if self.combine_dtype not in COMBINED:
            raise DtypeError(f"{function} does not take dtype {self.combine_dtype}; it takes {', '.join(COMBINED)}, "
                             "by combine_dtype where tokens have another one")
        given = _typed(function, y, "y", self.combine_dtype)
        expect_count(function, "y", given.count, route.array_rows * self.hidden,
                     f"{route.array_rows} rows of {self.hidden}")
        factors = None
        if weights is not None:
            factors = _typed(function, weights, "weights", "float32")
            expect_count(function, "weights", factors.count, n_tokens * self.topk,
                         f"{self.topk} for each of {n_tokens} tokens")
        to = _result(function, "out", out, given, n_tokens, self.hidden)
        check(apps.chorusx_moe_combine(handle, given.address, _lists.TYPES[given.dtype],
                                         None if factors is None else factors.address, to.address))
        return to.array

    def set_active(self, pes: Iterable[bool] | None = None, experts: Iterable[bool] | None = None) -> None:
        """Choose what takes part from the next route on: True or False for each PE of the team and for each
        expert; None: all, but for the experts of PEs that are off. Every PE that is active before or afterwards
        calls it with the same values; it waits for nobody. Routes of before cannot be used any more."""
        handle = self._live("MoE.set_active")
        check(apps.chorusx_moe_set_active(handle, _flags("pes", pes, self.n_pes),
                                            _flags("experts", experts, self.experts)))

    @property
    def dropped(self) -> int:
        """Entries of this PE's tokens that its routes have dropped, since the object was created."""
        number = ctypes.c_uint64()
        check(apps.chorusx_moe_dropped(self._live("MoE.dropped"), ctypes.byref(number)))
        return number.value

    def free(self) -> None:
        """Collective over the team, also over PEs that are not active: free the object and its routes."""
        handle = self._live("MoE.free")
        for route in list(self._routes):
            self._free_route(route)
        self._handle = None
        check(apps.chorusx_moe_destroy(handle))

    def __enter__(self) -> MoE:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None and self._handle is not None:
            self.free()

    def __repr__(self) -> str:
        return f"<chorus.moe.MoE of {self.experts} experts, topk {self.topk}, {self.hidden} of {self.dtype}>"

    def _live(self, function):
        """The handle; routes that were collected are freed on the way."""
        require(function)
        if self._handle is None:
            raise Error(f"{function}: the object was freed; make another", "ERR_ARG")
        if self._job is not memory.noted:
            raise Error(f"{function}: the object is of a job that was left by chorus.finalize; make another",
                        "ERR_ARG")
        while self._collected:
            self._free_route(self._collected.popleft())
        return self._handle

    def _free_route(self, handle):
        if handle in self._routes:
            self._routes.remove(handle)
            check(apps.chorusx_moe_route_free(handle))

    def _of(self, route, function):
        """The handle of a route of this object."""
        if type(route) is not Route:
            raise ArgumentError(f"{function}: route is a {type(route).__name__}; expected what MoE.route returns")
        if route._moe is not self:
            raise ArgumentError(f"{function}: route is one of another object; expected what route of this one returns")
        return route._live(function)

    def _takes_scales(self, scales):
        if (scales is None) != (self.scale_bytes == 0):
            found = "None" if scales is None else f"a {type(scales).__name__}"
            raise ArgumentError(f"MoE.dispatch: scales is {found}; the object was created with scale_bytes="
                                f"{self.scale_bytes}")
        return scales is not None

    def _scales(self, scales, route):
        """Of the tokens, and how many elements each has."""
        given = operand(scales, "scales")
        step = _dtype.itemsize(given.dtype)
        if given.nbytes != route.n_tokens * self.scale_bytes or self.scale_bytes % step:
            raise ArgumentError(f"MoE.dispatch: scales has {given.count} elements of {given.dtype}; expected "
                                f"scale_bytes={self.scale_bytes} for each of {route.n_tokens} tokens")
        return given, self.scale_bytes // step

    def _both(self, out):
        if out is None:
            return None, None
        if not isinstance(out, (tuple, list)) or len(out) != 2:
            raise ArgumentError(f"MoE.dispatch: out is a {type(out).__name__}; with scales, expected a pair of arrays")
        return out
