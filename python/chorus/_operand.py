# SPDX-License-Identifier: Apache-2.0
"""What a call is given: address, type and number of elements of any array."""
from . import _dtype
from ._array import Array, heap_device
from ._library import ArgumentError, DtypeError

_names = {}  # of typestrs of NumPy and types of PyTorch


class Operand:
    """An array as a call sees it."""

    __slots__ = ("address", "count", "dtype", "array")

    def __init__(self, address, count, dtype, array):
        self.address, self.count, self.dtype, self.array = address, count, dtype, array

    @property
    def nbytes(self):
        return self.count * _dtype.itemsize(self.dtype)


def operand(array, name, is_written=False):
    """`name` is that of the argument, for messages."""
    if type(array) is Array:
        return Operand(array.address, array._count, array.dtype, array)
    if hasattr(array, "data_ptr"):
        return _of_torch(array, name)
    for attribute, is_cuda in (("__array_interface__", False), ("__cuda_array_interface__", True)):
        interface = getattr(array, attribute, None)
        if interface is not None:
            return _of_interface(array, interface, name, is_written, is_cuda)
    raise ArgumentError(f"{name} is a {type(array).__name__}; expected an array of Chorus, NumPy, "
                        "PyTorch, or one with __array_interface__ or __cuda_array_interface__")


def _check_device(name, device):
    """device: the number of the GPU, -1 for the host."""
    heap = heap_device()
    if device == heap:
        return
    spell = [f"cuda:{d}" if d >= 0 else "the host" for d in (device, heap)]
    raise ArgumentError(f"{name} is on {spell[0]}; the symmetric heap of this PE is on {spell[1]}, "
                        "and calls take arrays that are there (chorus.init's heap and device)")


def _of_torch(tensor, name):
    dtype = tensor.dtype
    known = _names.get(dtype)
    if known is None:
        known = _names[dtype] = _dtype.name_of(dtype)
    if not tensor.is_contiguous():
        raise ArgumentError(f"{name} is not contiguous: its strides are {tuple(tensor.stride())} for "
                            f"shape {tuple(tensor.shape)}; pass {name}.contiguous()")
    device = tensor.device
    kind = device.type
    if kind not in ("cpu", "cuda"):
        raise ArgumentError(f"{name} is on {device}; expected a tensor on the CPU or a CUDA device")
    _check_device(name, -1 if kind == "cpu" else device.index or 0)
    return Operand(tensor.data_ptr(), tensor.numel(), known, tensor)


def _of_interface(array, interface, name, is_written, is_cuda):
    typestr = interface["typestr"]
    known = _names.get(typestr)
    if known is None:
        if typestr not in _dtype.TYPESTRS:
            raise DtypeError(f"{name} has elements of type {typestr}; expected one of "
                             f"{', '.join(_dtype.TYPESTRS.values())}, in this machine's byte order")
        known = _names[typestr] = _dtype.TYPESTRS[typestr]
    count = 1
    for length in interface["shape"]:
        count *= length
    strides = interface.get("strides")
    if strides is not None and count > 0 and not _is_contiguous(interface, known):
        raise ArgumentError(f"{name} is not contiguous: its strides are {strides} for shape "
                            f"{interface['shape']}; pass numpy.ascontiguousarray({name})")
    address, is_read_only = interface["data"]
    if is_written and is_read_only:
        raise ArgumentError(f"{name} is read-only; the call writes into it")
    _check_device(name, _device_of(array) if is_cuda else -1)
    return Operand(address, count, known, array)


def _device_of(array):
    """Of an array on a GPU: what it says, or the heap's, since the interface has no place for it."""
    number = getattr(getattr(array, "device", None), "id", None)
    return heap_device() if number is None else number


def _is_contiguous(interface, dtype):
    step = _dtype.itemsize(dtype)
    for length, stride in zip(reversed(interface["shape"]), reversed(interface["strides"])):
        if length != 1 and stride != step:
            return False
        step *= length
    return True


def same_type(function, dest, source):
    if dest.dtype != source.dtype:
        raise DtypeError(f"{function}: dest is of dtype {dest.dtype}, source of {source.dtype}; "
                         "expected the same")


def expect_count(function, name, found, expected, why):
    if found != expected:
        raise ArgumentError(f"{function}: {name} has {found} elements; expected {expected}, {why}")
