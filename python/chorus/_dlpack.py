# SPDX-License-Identifier: Apache-2.0
"""DLPack: an array's memory as a capsule that other libraries take."""
import ctypes

from . import _dtype

CPU, CUDA = 1, 2  # kDLCPU, kDLCUDA
BOOL = 6          # kDLBool


class Device(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("number", ctypes.c_int32)]


class DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", Device), ("ndim", ctypes.c_int32),
                ("dtype", DataType), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Managed(ctypes.Structure):
    pass


Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(Managed))
Managed._fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", Deleter)]

# What consumers hold: address of the structure to (structure, shape, owner of the memory).
_given = {}


@Deleter
def _give_back(managed, given=_given, address_of=ctypes.addressof):
    given.pop(address_of(managed.contents), None)


_api = ctypes.pythonapi
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_is_valid = _api.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p]
_pointer_of = _api.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]
NAME = b"dltensor"  # which the consumer changes when it takes the tensor


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _drop(capsule, given=_given, is_valid=_is_valid, pointer_of=_pointer_of, name=NAME):
    """A capsule that nobody took."""
    if is_valid(capsule, name):
        given.pop(pointer_of(capsule, name), None)


# Consumers may call them as long as the process lives.
for _thunk in (_give_back, _drop):
    _api.Py_IncRef(ctypes.py_object(_thunk))


def export(owner, address, shape, dtype, device):
    """A capsule for memory that lives as long as `owner`. device: its number, -1 for the host."""
    code = BOOL if dtype in _dtype.MOVED else _dtype.KINDS[_dtype.kind_of(dtype)][1]
    dims = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    managed = Managed()
    tensor = managed.tensor
    tensor.data = address
    tensor.device = Device(CPU, 0) if device < 0 else Device(CUDA, device)
    tensor.ndim = len(shape)
    tensor.dtype = DataType(code, 8 * _dtype.itemsize(dtype), 1)
    tensor.shape = dims
    tensor.strides = None
    managed.deleter = _give_back
    at = ctypes.addressof(managed)
    _given[at] = (managed, dims, owner)
    return _api.PyCapsule_New(at, NAME, ctypes.cast(_drop, ctypes.c_void_p))
