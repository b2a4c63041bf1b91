# SPDX-License-Identifier: Apache-2.0
"""Types of elements, by the names that NumPy and PyTorch use."""
import sys

from . import _lists
from ._library import ArgumentError, DtypeError

# Of __array_interface__: kind and bytes; kDL of DLPack. bfloat16 has no letter there.
KINDS = {"int": ("i", 0), "uint": ("u", 1), "float": ("f", 2), "bfloat": (None, 4),
         "complex": ("c", 5)}
ORDER = "<" if sys.byteorder == "little" else ">"
# Types that are moved, never combined.
MOVED = {"bool": 1}
ALIASES = {"int": "int64", "float": "float64", "complex": "complex128", "half": "float16",
           "double": "float64", "longdouble": "float128"}

_known = {}


def kind_of(name):
    return name.rstrip("0123456789")


def typestr(name):
    """As in __array_interface__; None for what it has no letter for."""
    if name in MOVED:
        return "|b1"
    letter = KINDS[kind_of(name)][0]
    if letter is None:
        return None
    size = _lists.ITEMSIZES[name]
    return f"{'|' if size == 1 else ORDER}{letter}{size}"


TYPESTRS = {typestr(name): name for name in (*_lists.TYPES, *MOVED)}


def _spell(dtype):
    if isinstance(dtype, str):
        return dtype
    if isinstance(dtype, type) and dtype.__module__ == "builtins":
        return dtype.__name__
    if type(dtype).__module__ == "torch":
        return str(dtype)[len("torch."):]
    if isinstance(dtype, type):  # numpy.float32
        return dtype.__name__.rstrip("_")
    return getattr(dtype, "name", str(dtype))


def name_of(dtype):
    """The name of what may be a name, a type of NumPy, PyTorch or Python."""
    try:
        return _known[dtype]
    except (KeyError, TypeError):
        pass
    spelled = _spell(dtype)
    name = ALIASES.get(spelled, spelled)
    if name not in _lists.TYPES and name not in MOVED:
        raise DtypeError(f"dtype {spelled} is none that Chorus has; expected one of "
                         f"{', '.join((*_lists.TYPES, *MOVED))}")
    _known[dtype] = name
    return name


def itemsize(name):
    return MOVED.get(name) or _lists.ITEMSIZES[name]


def require_operator(function, op, name):
    """The number of an operator that takes this type."""
    if op not in _lists.OPS:
        raise ArgumentError(f"{function}: op is {op!r}; expected one of {', '.join(_lists.OPS)}")
    if name not in _lists.TAKEN[op]:
        raise DtypeError(f"{function}: operator {op} does not take dtype {name}; it takes "
                         f"{', '.join(_lists.TAKEN[op])}")
    return _lists.OPS[op]


def require_family(function, family, name):
    """The part of a function's name that stands for this type, where the family has it."""
    if name not in family:
        raise DtypeError(f"{function} does not take dtype {name}; it takes {', '.join(family)}")
    return family[name]
