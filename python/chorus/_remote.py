# SPDX-License-Identifier: Apache-2.0
"""
Calls of one PE on memory of another: put, get, signals, atomics, waits. An array of a PE is named
by this PE's own array; `pe` is a number in the job. `quiet` completes operations, `fence` orders them.
"""
from __future__ import annotations

import ctypes
from typing import Any, TypeVar

from . import _dtype, _lists
from ._array import Array, pack
from ._library import ArgumentError, call, lib, require
from ._operand import operand, same_type

_CTYPES = {"int16": ctypes.c_int16, "uint16": ctypes.c_uint16, "int32": ctypes.c_int32,
           "uint32": ctypes.c_uint32, "int64": ctypes.c_int64, "uint64": ctypes.c_uint64,
           "float32": ctypes.c_float, "float64": ctypes.c_double}
_PE, _PTR = ctypes.c_int, ctypes.c_void_p
A = TypeVar("A")  # an array of any library
SIGNAL_SET, SIGNAL_ADD = 0, 1


def _both(function, dest, source):
    require(function)
    to, of = operand(dest, "dest", True), operand(source, "source")
    same_type(function, to, of)
    if to.count < of.count:
        raise ArgumentError(f"{function}: dest has {to.count} elements, fewer than source's {of.count}")
    return to, of


def put(dest: Any, source: Any, pe: int) -> None:
    """Copy source to dest of `pe`; source may be reused on return."""
    to, of = _both("put", dest, source)
    call(lib.chorus_putmem, to.address, of.address, of.nbytes, pe)


def put_nbi(dest: Any, source: Any, pe: int) -> None:
    """As `put`; source may be reused after `quiet`."""
    to, of = _both("put_nbi", dest, source)
    call(lib.chorus_putmem_nbi, to.address, of.address, of.nbytes, pe)


def get(dest: A, source: Any, pe: int) -> A:
    """Copy source of `pe` to dest; returns dest."""
    to, of = _both("get", dest, source)
    call(lib.chorus_getmem, to.address, of.address, of.nbytes, pe)
    return dest


def get_nbi(dest: A, source: Any, pe: int) -> A:
    """As `get`; dest is filled after `quiet`."""
    to, of = _both("get_nbi", dest, source)
    call(lib.chorus_getmem_nbi, to.address, of.address, of.nbytes, pe)
    return dest


def p(dest: Any, value: complex, pe: int) -> None:
    """Write one element, a number, to dest of `pe`."""
    require("p")
    to = _one("p", "dest", dest)
    data = pack(value, to.dtype)
    call(lib.chorus_putmem, to.address, data, len(data), pe)


def g(source: Any, pe: int) -> complex:
    """The one element of source of `pe`, as a number."""
    require("g")
    from ._array import unpack
    of = _one("g", "source", source)
    buffer = ctypes.create_string_buffer(of.nbytes)
    call(lib.chorus_getmem, buffer, of.address, of.nbytes, pe)
    return unpack(buffer.raw, of.dtype)


def fence() -> None:
    """Order this PE's operations: earlier ones to each PE take effect before later ones to it."""
    require("fence")
    call(lib.chorus_fence)


def quiet() -> None:
    """Complete all of this PE's operations."""
    require("quiet")
    call(lib.chorus_quiet)


def _one(function, name, array):
    found = operand(array, name)
    if found.count != 1:
        raise ArgumentError(f"{function}: {name} has {found.count} elements; expected 1, as in "
                            f"{name}[0]")
    return found


def _word(function, array, dtype="uint64"):
    found = _one(function, "signal", array)
    if found.dtype != dtype:
        _dtype.require_family(function, {dtype: dtype}, found.dtype)
    return found.address


def put_signal(dest: Any, source: Any, signal: Any, value: int, pe: int,
               add: bool = False) -> None:
    """Copy source to dest of `pe`, then set its word `signal` (uint64) to value, or add it: a
    PE that sees the update also sees the elements."""
    to, of = _both("put_signal", dest, source)
    call(lib.chorus_putmem_signal, to.address, of.address, of.nbytes, _word("put_signal", signal),
         value, SIGNAL_ADD if add else SIGNAL_SET, pe)


def signal_set(signal: Any, value: int, pe: int) -> None:
    """Set the word `signal` (uint64) of `pe`."""
    require("signal_set")
    call(lib.chorus_signal_set, _word("signal_set", signal), value, pe)


def signal_add(signal: Any, value: int, pe: int) -> None:
    """Add to the word `signal` (uint64) of `pe`."""
    require("signal_add")
    call(lib.chorus_signal_add, _word("signal_add", signal), value, pe)


def signal_fetch(signal: Any) -> int:
    """Read this PE's word."""
    require("signal_fetch")
    return call(lib.chorus_signal_fetch, _word("signal_fetch", signal))


def signal_wait_until(signal: Any, comparison: str, value: int) -> int:
    """Wait until this PE's word meets the condition ("==", "!=", ">", ">=", "<", "<="); returns it."""
    require("signal_wait_until")
    return call(lib.chorus_signal_wait_until, _word("signal_wait_until", signal),
                _comparison("signal_wait_until", comparison), value)


def _comparison(function, text):
    if text not in _lists.COMPARISONS:
        raise ArgumentError(f"{function}: comparison is {text!r}; expected one of "
                            f"{', '.join(_lists.COMPARISONS)}")
    return _lists.COMPARISONS[text]


def _function(template, family, function, array, result, arguments):
    """The function of the library for an array's type; "T" stands for that type."""
    part = _dtype.require_family(function, family, array.dtype)
    found = getattr(lib, template.format(part))
    kind = _CTYPES[array.dtype]
    found.restype = kind if result == "T" else result
    found.argtypes = [kind if a == "T" else a for a in arguments]
    return found


def _wait(function, array, result, arguments):
    require(function)
    if type(array) is not Array:
        raise ArgumentError(f"{function}: ivar is a {type(array).__name__}; expected a symmetric array, "
                            "a chorus.Array")
    found = operand(array, "ivar")
    made = _function(f"chorus_{{}}_{function}", _lists.WAIT, function, found, result, arguments)
    return found, made


def wait_until(ivar: Array, comparison: str, value: float) -> None:
    """Wait until the one element of this PE's `ivar` meets the condition."""
    found, made = _wait("wait_until", ivar, None, [_PTR, _PE, "T"])
    _one("wait_until", "ivar", ivar)
    call(made, found.address, _comparison("wait_until", comparison), value)


def test(ivar: Array, comparison: str, value: float) -> bool:
    """Does the one element of this PE's `ivar` meet the condition?"""
    found, made = _wait("test", ivar, _PE, [_PTR, _PE, "T"])
    _one("test", "ivar", ivar)
    return bool(call(made, found.address, _comparison("test", comparison), value))


def wait_until_all(ivars: Array, comparison: str, value: float) -> None:
    """Wait until each element of this PE's `ivars` has met the condition."""
    found, made = _wait("wait_until_all", ivars, None, [_PTR, ctypes.c_size_t, _PTR, _PE, "T"])
    call(made, found.address, found.count, None, _comparison("wait_until_all", comparison), value)


def wait_until_any(ivars: Array, comparison: str, value: float) -> int:
    """Wait until an element of this PE's `ivars` meets the condition; returns its index."""
    found, made = _wait("wait_until_any", ivars, ctypes.c_size_t,
                        [_PTR, ctypes.c_size_t, _PTR, _PE, "T"])
    if found.count == 0:
        raise ArgumentError("wait_until_any: ivars has no elements")
    return call(made, found.address, found.count, None, _comparison("wait_until_any", comparison), value)


def _atomic(name, family, array, pe, *values, result="T"):
    require(f"atomic_{name}")
    found = _one(f"atomic_{name}", "dest", array)
    made = _function(f"chorus_{{}}_atomic_{name}", family, f"atomic_{name}", found, result,
                     [_PTR] + ["T"] * len(values) + [_PE])
    return call(made, found.address, *values, pe)


def atomic_fetch(source: Any, pe: int) -> float:
    """Read the one element of source of `pe` atomically."""
    return _atomic("fetch", _lists.AMO_EXTENDED, source, pe)


def atomic_set(dest: Any, value: float, pe: int) -> None:
    """Write the one element of dest of `pe` atomically."""
    _atomic("set", _lists.AMO_EXTENDED, dest, pe, value, result=None)


def atomic_swap(dest: Any, value: float, pe: int) -> float:
    """Write, and return the old value."""
    return _atomic("swap", _lists.AMO_EXTENDED, dest, pe, value)


def atomic_compare_swap(dest: Any, cond: int, value: float, pe: int) -> int:
    """Write value if the old value is cond; returns the old value."""
    return _atomic("compare_swap", _lists.AMO_STANDARD, dest, pe, cond, value)


def atomic_fetch_add(dest: Any, value: float, pe: int) -> int:
    """Add, and return the old value."""
    return _atomic("fetch_add", _lists.AMO_STANDARD, dest, pe, value)


def atomic_add(dest: Any, value: float, pe: int) -> None:
    """Add to the one element of dest of `pe`."""
    _atomic("add", _lists.AMO_STANDARD, dest, pe, value, result=None)


def atomic_fetch_inc(dest: Any, pe: int) -> int:
    """Add 1, and return the old value."""
    return _atomic("fetch_inc", _lists.AMO_STANDARD, dest, pe)


def atomic_inc(dest: Any, pe: int) -> None:
    """Add 1 to the one element of dest of `pe`."""
    _atomic("inc", _lists.AMO_STANDARD, dest, pe, result=None)


def atomic_fetch_and(dest: Any, value: float, pe: int) -> int:
    """Keep the bits that value has, and return the old value."""
    return _atomic("fetch_and", _lists.AMO_BITWISE, dest, pe, value)


def atomic_and(dest: Any, value: float, pe: int) -> None:
    """Keep the bits that value has."""
    _atomic("and", _lists.AMO_BITWISE, dest, pe, value, result=None)


def atomic_fetch_or(dest: Any, value: float, pe: int) -> int:
    """Set the bits that value has, and return the old value."""
    return _atomic("fetch_or", _lists.AMO_BITWISE, dest, pe, value)


def atomic_or(dest: Any, value: float, pe: int) -> None:
    """Set the bits that value has."""
    _atomic("or", _lists.AMO_BITWISE, dest, pe, value, result=None)


def atomic_fetch_xor(dest: Any, value: float, pe: int) -> int:
    """Flip the bits that value has, and return the old value."""
    return _atomic("fetch_xor", _lists.AMO_BITWISE, dest, pe, value)


def atomic_xor(dest: Any, value: float, pe: int) -> None:
    """Flip the bits that value has."""
    _atomic("xor", _lists.AMO_BITWISE, dest, pe, value, result=None)


def set_lock(lock: Any) -> None:
    """Wait until this PE holds the lock, one element of int64 that was 0 everywhere at first."""
    require("set_lock")
    call(lib.chorus_set_lock, _word("set_lock", lock, "int64"))


def test_lock(lock: Any) -> bool:
    """Acquire the lock if it is free; returns whether this PE holds it now."""
    require("test_lock")
    return call(lib.chorus_test_lock, _word("test_lock", lock, "int64")) == 0


def clear_lock(lock: Any) -> None:
    """Release the lock."""
    require("clear_lock")
    call(lib.chorus_clear_lock, _word("clear_lock", lock, "int64"))
