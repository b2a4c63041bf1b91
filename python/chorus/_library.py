# SPDX-License-Identifier: Apache-2.0
"""The library: found, loaded, its structures declared, its failures made exceptions."""
import builtins
import ctypes
import os
import sys
import threading
from pathlib import Path

from . import _lists

c_size, c_int, c_void = ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p


class Error(RuntimeError):
    """A call of Chorus failed; the text states what was asked, what was found and what to do.

    `status` is the name of the code, as in chorus/status.h: "ERR_ARG", "ERR_TIMEOUT".
    """

    status = "ERR_STATE"

    def __init__(self, message, status=None):
        super().__init__(message)
        if status is not None:
            self.status = status


class ArgumentError(Error, ValueError):
    """An argument is outside its documented range."""

    status = "ERR_ARG"


class DtypeError(ArgumentError, TypeError):
    """The call does not support the array's element type."""


class HeapFullError(Error, MemoryError):
    """The symmetric heap has no room for an array."""

    status = "ERR_NOMEM"


class TimeoutError(Error, builtins.TimeoutError):  # noqa: A001 the name that users look for
    """A peer did not arrive within the time set (CHORUS_TIMEOUT)."""

    status = "ERR_TIMEOUT"


CLASSES = {c.status: c for c in (ArgumentError, HeapFullError, TimeoutError)}


class UniqueId(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 256)]


class InitAttr(ctypes.Structure):
    _fields_ = [("heap", c_int), ("device", c_int), ("rank", c_int), ("n_ranks", c_int),
                ("id", UniqueId), ("threads", c_int)]


class Call(ctypes.Structure):
    _fields_ = [("coll", c_int), ("team", ctypes.c_int32), ("dest", c_void), ("source", c_void),
                ("count", c_size), ("type", c_int), ("op", c_int), ("root", c_int),
                ("algo", ctypes.c_char_p), ("ctas", c_int), ("radix", c_int),
                ("dst", ctypes.c_ssize_t), ("sst", ctypes.c_ssize_t)] + [
                    (name, ctypes.POINTER(c_size)) for name in (
                        "dest_counts", "dest_offsets", "source_counts", "source_offsets")] + [
                            ("combine", c_void), ("is_reached", c_int)]


class PlanStruct(ctypes.Structure):
    _fields_ = [("algo", ctypes.c_char * 32), ("proto", ctypes.c_char * 16), ("ctas", c_int),
                ("radix", c_int), ("rule", ctypes.c_char * 256)]


class PoolNote(ctypes.Structure):
    _fields_ = [("ptr", c_void), ("bytes", c_size)]


class HeapInfoStruct(ctypes.Structure):
    _fields_ = [(name, c_size) for name in (
        "reserved_bytes", "committed_bytes", "used_bytes", "free_bytes", "largest_free_bytes",
        "high_water_bytes", "blocks", "local_used_bytes")] + [("heap", c_int), ("device", c_int)]


def _load():
    os.environ.setdefault("CHORUS_ERRORS", "return")  # codes become exceptions, which say why
    path = Path(__file__).resolve().parent / "libchorus.so"
    try:
        library = ctypes.CDLL(str(path))
    except OSError as why:
        raise ImportError(f"chorus: the library of the package cannot be loaded: {why}; "
                          "install the package again") from why
    signatures = {
        "chorus_malloc": (c_void, c_size), "chorus_free": (None, c_void),
        "chorus_ptr": (c_void, c_void, c_int),
        "chorusx_strerror": (ctypes.c_char_p, c_int), "chorusx_last_error": (ctypes.c_char_p,),
        "chorusx_collective": (c_int, ctypes.POINTER(Call), c_void),
        "chorusx_explain_call": (c_int, ctypes.POINTER(Call), ctypes.POINTER(PlanStruct)),
        "chorusx_pool_take": (c_size, ctypes.POINTER(PoolNote), c_size),
        "chorus_team_sync": (c_int, ctypes.c_int32), "chorus_barrier": (c_int, ctypes.c_int32),
        "chorusx_team_sync_on_stream": (c_int, ctypes.c_int32, c_void),
        "chorusx_barrier_on_stream": (c_int, ctypes.c_int32, c_void),
        "chorusx_stream_create": (c_int, ctypes.POINTER(c_void)),
        "chorusx_stream_destroy": (c_int, c_void), "chorusx_stream_synchronize": (c_int, c_void),
        "chorus_signal_fetch": (ctypes.c_uint64, c_void),
        "chorus_signal_wait_until": (ctypes.c_uint64, c_void, c_int, ctypes.c_uint64),
        "chorus_signal_set": (None, c_void, ctypes.c_uint64, c_int),
        "chorus_signal_add": (None, c_void, ctypes.c_uint64, c_int),
        "chorus_set_lock": (None, c_void), "chorus_test_lock": (c_int, c_void),
        "chorus_clear_lock": (None, c_void),
    }
    for kind in ("put", "get"):
        for nbi in ("", "_nbi"):
            signatures[f"chorus_{kind}mem{nbi}"] = (None, c_void, c_void, c_size, c_int)
    for nbi in ("", "_nbi"):
        signatures["chorus_putmem_signal" + nbi] = (None, c_void, c_void, c_size, c_void,
                                                    ctypes.c_uint64, c_int, c_int)
    for name, (result, *arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


lib = _load()


def last_message():
    return lib.chorusx_last_error().decode(errors="replace")


def failure(code):
    """The exception for a code, with the message of this thread's last failure."""
    status = _lists.STATUS.get(code, str(code))
    message = last_message() or lib.chorusx_strerror(code).decode()
    return CLASSES.get(status, Error)(message, status)


def check(code):
    """Raise what a call that gives a code has failed with."""
    if code != 0:
        raise failure(code)


class _Here(threading.local):
    """What the handler of failures tells the call that it was called in."""

    inside = False
    error = None


_here = _Here()


@ctypes.CFUNCTYPE(None, c_int, ctypes.c_char_p)
def _keep(code, message):
    """Called for a failure of a function that returns no code."""
    status = _lists.STATUS.get(code, str(code))
    text = message.decode(errors="replace")
    if _here.inside:
        _here.error = CLASSES.get(status, Error)(text, status)
        return
    # Another user of the library in this process: as if there were no handler.
    sys.stderr.write(f"chorus: {text}\n")
    sys.stderr.flush()
    lib.chorus_global_exit(1)


lib.chorusx_set_error_handler.restype = c_void


def catch_failures():
    """Failures of functions without code become exceptions from now on."""
    lib.chorusx_set_error_handler(_keep)


def leave_failures():
    """At the end of the interpreter, which no handler may enter any more."""
    lib.chorusx_set_error_handler(None)


def call(function, *arguments):
    """Make a call that gives no code; raise what it handed to the handler."""
    here = _here
    here.error, here.inside = None, True
    try:
        result = function(*arguments)
    finally:
        here.inside = False
    if here.error is not None:
        raise here.error
    return result


def init_status():
    """0 before init, 1 in the job, 2 after finalize and in a child that a PE forked."""
    return lib.chorusx_init_status()


def require(function):
    """Raise unless this process is in a job."""
    phase = lib.chorusx_init_status()
    if phase == 1:
        return
    if phase == 0:
        raise Error(f"{function}: no chorus.init was called; call it first, on every PE")
    if forked():
        raise Error(f"{function}: this process was forked by a PE, and is none; use another "
                    "start method (multiprocessing: \"spawn\"), or no Chorus in it")
    raise Error(f"{function}: chorus.finalize was called; chorus.init joins a job again")


_owner = [None]


def remember_process():
    _owner[0] = os.getpid()


def forked():
    """Is this a child of the process that joined?"""
    return _owner[0] is not None and _owner[0] != os.getpid()
