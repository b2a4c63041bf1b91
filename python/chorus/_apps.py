# SPDX-License-Identifier: Apache-2.0
"""libchorus-apps.so: found, loaded, its structures declared, its failures made exceptions. chorus.moe loads it."""
import ctypes
import re
from pathlib import Path

from ._library import CLASSES, Error, c_int, c_size, c_void, failure


class Config(ctypes.Structure):
    _fields_ = [("experts", c_int), ("topk", c_int), ("tokens_max", c_size), ("hidden_bytes", c_size),
                ("scale_bytes", c_size), ("combine_bytes", c_size), ("capacity", c_size), ("layout", c_int),
                ("overflow", c_int), ("renormalise", c_int), ("message_bytes", c_size),
                ("rows_max", c_size)]


class Origin(ctypes.Structure):
    """From where a row came: the PE's number in the team (-1: the row is not filled), the number of the token
    among that PE's, and which of the token's topk entries."""

    _fields_ = [("pe", ctypes.c_int32), ("token", ctypes.c_uint32), ("slot", ctypes.c_uint32)]

    def __repr__(self) -> str:
        return f"Origin(pe={self.pe}, token={self.token}, slot={self.slot})"


class Info(ctypes.Structure):
    _fields_ = [("n_tokens", c_size), ("rows", c_size), ("array_rows", c_size), ("dropped", c_size),
                ("first_expert", c_int), ("n_experts", c_int), ("counts", ctypes.POINTER(c_size)),
                ("firsts", ctypes.POINTER(c_size)), ("origins", c_void)]


def _load():
    """libchorus-apps.so lies beside the package's libchorus.so, and needs a libchorus.so.0: the linker takes the
    one that the package has loaded, by its soname."""
    path = (Path(__file__).resolve().parent / "libchorus.so").resolve().parent / "libchorus-apps.so"
    try:
        library = ctypes.CDLL(str(path))
    except OSError as why:
        raise ImportError(f"chorus.moe: libchorus-apps.so cannot be loaded: {why}; install the package again, or "
                          "build it (ninja python-package), which puts the library there") from why
    for name, arguments in {
            "create": (ctypes.c_int32, ctypes.POINTER(Config), ctypes.POINTER(c_void)), "destroy": (c_void,),
            "set_active": (c_void, ctypes.c_char_p, ctypes.c_char_p),
            "dropped": (c_void, ctypes.POINTER(ctypes.c_uint64)),
            "route": (c_void, c_void, c_size, ctypes.POINTER(c_void)),
            "route_info": (c_void, ctypes.POINTER(Info)), "route_free": (c_void,),
            "dispatch": (c_void, c_void, c_void, c_void, c_void),
            "combine": (c_void, c_void, c_int, c_void, c_void)}.items():
        function = getattr(library, f"chorusx_moe_{name}")
        function.restype, function.argtypes = c_int, arguments
    return library


apps = _load()

# --- failures --------------------------------------------------------------------------------------------------
_CALLS = {"create": "MoE", "destroy": "MoE.free", "route_info": "MoE.route", "route_free": "Route.free"}
_WORDS = {"CHORUSX_MOE_COMPACT": '"compact"', "CHORUSX_MOE_EXPERT_MAJOR": '"expert_major"',
          "CHORUSX_MOE_DROP": 'overflow="drop"', "CHORUSX_MOE_FAIL": 'overflow="fail"',
          "hidden_bytes": "hidden, in bytes,", "combine_bytes": "hidden of combine_dtype, in bytes,"}


def check(code):
    """Raise what a call has failed with, in Python's names."""
    if code == 0:
        return
    found = failure(code)
    text = re.sub(r"\bchorusx_moe_(\w+)", lambda call: _CALLS.get(call[1], f"MoE.{call[1]}"), str(found))
    text = re.sub("|".join(rf"\b{word}\b" for word in _WORDS), lambda word: _WORDS[word[0]], text)
    raise CLASSES.get(found.status, Error)(text, found.status)
