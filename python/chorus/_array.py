# SPDX-License-Identifier: Apache-2.0
"""Symmetric arrays, and the properties of other arrays that calls need."""
from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Sequence
from typing import Any

from . import _dlpack, _dtype, _lists
from ._library import (ArgumentError, DtypeError, Error, HeapInfoStruct, call, check, lib,
                       require)
from ._memory import memory

# How struct reads an element, by kind and bytes.
_FORMATS = {"int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H",
            "uint32": "I", "uint64": "Q", "float16": "e", "float32": "f", "float64": "d",
            "bool": "?"}


class Array:
    """An array in symmetric memory: every PE of the job has one of the same shape and type.

    It has no arithmetic of its own. `numpy.asarray(a)`, `torch.from_dlpack(a)` and all
    users of `__array_interface__`, `__cuda_array_interface__` or DLPack access the same memory
    without a copy. `a[i]` and `a[lo:hi]` along the first axis, and `reshape`, are arrays of the
    same memory, too.
    """

    __slots__ = ("_block", "_offset", "shape", "dtype", "_count", "__weakref__")

    def __init__(self, block, offset, shape, dtype):
        self._block, self._offset, self.shape, self.dtype = block, offset, shape, dtype
        self._count = math.prod(shape)

    @property
    def address(self) -> int:
        """This PE's address of the first element."""
        base = self._block.address
        if base is None:
            raise Error("the array was freed; make another", "ERR_ARG")
        require("an array")
        if not self._block.is_of_job():
            raise Error("the array is of a job that was left by chorus.finalize; make another",
                        "ERR_ARG")
        return base + self._offset

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """Elements."""
        return self._count

    @property
    def itemsize(self) -> int:
        return _dtype.itemsize(self.dtype)

    @property
    def nbytes(self) -> int:
        return self._count * self.itemsize

    @property
    def device(self) -> int:
        """The number of the GPU that the memory is on, -1 for the host."""
        return heap_device()

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array of no dimension has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        state = "freed" if self._block.address is None else "symmetric"
        return f"<chorus.Array of shape {self.shape}, dtype {self.dtype}, {state}>"

    def __getitem__(self, index: int | slice) -> Array:
        if not self.shape:
            raise IndexError("an array of no dimension has no elements to choose from")
        step = math.prod(self.shape[1:]) * self.itemsize
        if isinstance(index, slice):
            lo, hi, stride = index.indices(self.shape[0])
            if stride != 1:
                raise ArgumentError(f"a slice with step {stride} is not contiguous; expected 1")
            shape = (max(hi - lo, 0), *self.shape[1:])
            return Array(self._block, self._offset + lo * step, shape, self.dtype)
        at = range(self.shape[0])[index]
        return Array(self._block, self._offset + at * step, self.shape[1:], self.dtype)

    def reshape(self, *shape: Any) -> Array:
        """The same elements with another shape; one length may be -1."""
        shape = _shape_of(shape[0] if len(shape) == 1 else shape, self._count)
        if math.prod(shape) != self._count:
            raise ArgumentError(f"reshape: {self.shape} has {self._count} elements, {shape} "
                                f"has {math.prod(shape)}")
        return Array(self._block, self._offset, shape, self.dtype)

    def item(self) -> complex:
        """The one element, as a number of Python."""
        if self._count != 1:
            raise ArgumentError(f"item: the array has {self._count} elements, expected 1")
        return unpack(self.tobytes(), self.dtype)

    __int__ = __index__ = lambda self: int(self.item())

    def __float__(self):
        return float(self.item())

    def tobytes(self) -> bytes:
        """The bytes of this PE's array."""
        buffer = ctypes.create_string_buffer(self.nbytes)
        if self.nbytes:
            call(lib.chorus_getmem, buffer, self.address, self.nbytes, lib.chorus_my_pe())
        return buffer.raw

    def fill(self, value: complex) -> Array:
        """Set every element of this PE's array."""
        if self.nbytes:
            data = pack(value, self.dtype) * self._count
            call(lib.chorus_putmem, self.address, data, self.nbytes, lib.chorus_my_pe())
            call(lib.chorus_quiet)
        return self

    def free(self) -> None:
        """Collective over the job: free the memory on every PE. Chorus' arrays of it raise
        afterwards; those of NumPy or PyTorch must not be used."""
        self.address  # raises if there is nothing to free
        memory.free(self._block)

    def _interface(self):
        typestr = _dtype.typestr(self.dtype)
        if typestr is None:
            raise AttributeError(f"dtype {self.dtype} has no letter there; use DLPack")
        return {"shape": self.shape, "typestr": typestr, "data": (self.address, False),
                "strides": None, "version": 3}

    @property
    def __array_interface__(self):
        if heap_device() >= 0:
            raise AttributeError("the array is on a GPU")
        return self._interface()

    @property
    def __cuda_array_interface__(self):
        if heap_device() < 0:
            raise AttributeError("the array is in host memory")
        return self._interface()

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if copy:
            raise BufferError("a symmetric array is shared, not copied; copy what you get")
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"the array is on {self.__dlpack_device__()}, not {dl_device}")
        return _dlpack.export(self, self.address, self.shape, self.dtype, heap_device())

    def __dlpack_device__(self):
        device = heap_device()
        return (_dlpack.CPU, 0) if device < 0 else (_dlpack.CUDA, device)


def pack(value, dtype):
    """The bytes of an element."""
    if type(value) is int and value == 0:
        return bytes(_dtype.itemsize(dtype))
    if dtype == "bfloat16":
        bits, = struct.unpack("<I", struct.pack("<f", value))
        if value == value:  # to nearest, ties to even; a NaN has no neighbours
            bits += 0x7fff + (bits >> 16 & 1)
        return struct.pack("<H", bits >> 16 & 0xffff)
    if dtype.startswith("complex"):
        part = "f" if dtype == "complex64" else "d"
        return struct.pack(f"=2{part}", complex(value).real, complex(value).imag)
    if dtype not in _FORMATS:
        raise DtypeError(f"elements of dtype {dtype} cannot be numbers of Python; use NumPy")
    try:
        return struct.pack("=" + _FORMATS[dtype], value)
    except (struct.error, OverflowError) as why:
        raise ArgumentError(f"{value!r} is no {dtype}: {why}") from None


def unpack(data, dtype):
    """The element that these bytes are."""
    if dtype == "bfloat16":
        return struct.unpack("<f", b"\0\0" + data)[0]
    if dtype.startswith("complex"):
        return complex(*struct.unpack("=2" + ("f" if dtype == "complex64" else "d"), data))
    if dtype not in _FORMATS:
        raise DtypeError(f"elements of dtype {dtype} cannot be numbers of Python; use NumPy")
    return struct.unpack("=" + _FORMATS[dtype], data)[0]


def heap_struct():
    info = HeapInfoStruct()
    check(lib.chorusx_heap_info(ctypes.byref(info)))
    return info


_device = []  # of the heap, once it is known: it never changes within a job
of_device = {}  # what other modules remember of calls on it


def heap_device():
    """The GPU that the heap is on, -1 for the host."""
    if not _device:
        require("an array")
        info = heap_struct()
        _device.append(info.device if info.heap == _lists.HEAPS["cuda"] else -1)
    return _device[0]


def forget_device():
    """After finalize."""
    _device.clear()
    of_device.clear()


def _shape_of(shape, count=None):
    shape = (shape,) if isinstance(shape, int) else tuple(int(n) for n in shape)
    if count is not None and shape.count(-1) == 1:
        rest = math.prod(n for n in shape if n != -1)
        shape = tuple(count // rest if n == -1 and rest else n for n in shape)
    if any(n < 0 for n in shape):
        raise ArgumentError(f"shape is {shape}; expected lengths of 0 or more")
    return shape


def empty(shape: int | Sequence[int], dtype: Any = "float32") -> Array:
    """Collective over the job: a symmetric array, its elements undefined.

    Every PE calls with the same shape and dtype. `dtype` is a name ("float32", "bfloat16",
    "int64", ...) or a type of NumPy or PyTorch. It first frees the arrays that were collected on
    every PE (see `collect_garbage`), and is a barrier.
    """
    require("empty")
    shape, name = _shape_of(shape), _dtype.name_of(dtype)
    return Array(memory.allocate(math.prod(shape) * _dtype.itemsize(name)), 0, shape, name)


def zeros(shape: int | Sequence[int], dtype: Any = "float32") -> Array:
    """As `empty`, every element 0."""
    return full(shape, 0, dtype)


def full(shape: int | Sequence[int], fill_value: complex, dtype: Any = "float32") -> Array:
    """As `empty`, every element of this PE's array `fill_value`, which may differ between PEs.
    Another barrier follows, so that no PE's fill overwrites data of a peer's put."""
    pack(fill_value, _dtype.name_of(dtype))  # before anything collective
    array = empty(shape, dtype).fill(fill_value)
    check(lib.chorus_barrier(0))
    return array
