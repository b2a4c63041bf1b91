# SPDX-License-Identifier: Apache-2.0
"""Streams: those of the library, and those of others that a call may be queued on."""
from __future__ import annotations

import ctypes
from typing import Any

from ._array import heap_device
from ._library import ArgumentError, check, lib, require

CUDA_DEFAULT = 1  # cudaStreamLegacy: CUDA's default stream, by a handle that is not null


class Stream:
    """A stream of this PE: calls that are queued on it run one after another.

    For heaps in host memory; on GPUs, a CUDA stream made by the library. Arrays of queued calls
    are kept until `synchronize` or `destroy`. Use it as a context to have it destroyed.
    """

    def __init__(self):
        require("Stream")
        handle = ctypes.c_void_p()
        check(lib.chorusx_stream_create(ctypes.byref(handle)))
        self._handle = handle.value
        self._kept = []

    @property
    def handle(self) -> int:
        if self._handle is None:
            raise ArgumentError("the stream was destroyed; make another")
        return self._handle

    def synchronize(self) -> None:
        """Wait until the queued calls have run; raises the failure of a call."""
        require("Stream.synchronize")
        try:
            check(lib.chorusx_stream_synchronize(self.handle))
        finally:
            self._kept.clear()

    def destroy(self) -> None:
        """Run the queued calls, then destroy the stream; raises the failure of a call."""
        try:
            self.synchronize()
        finally:
            handle, self._handle = self._handle, None
            check(lib.chorusx_stream_destroy(handle))

    def keep(self, *arrays: Any) -> None:
        """Arrays that a queued call uses."""
        self._kept.append(arrays)

    def __cuda_stream__(self):
        if heap_device() < 0:
            raise AttributeError("the stream is no CUDA stream: the heap is in host memory")
        return (0, self.handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._handle is not None:
            self.destroy()


def handle_of(stream):
    """The handle of what a caller names a stream: None is none."""
    if stream is None:
        return None
    if isinstance(stream, Stream):
        return stream.handle
    if isinstance(stream, int):
        number = stream
    elif hasattr(stream, "__cuda_stream__"):
        told = stream.__cuda_stream__
        number = (told() if callable(told) else told)[1]
    elif hasattr(stream, "cuda_stream"):  # PyTorch
        number = stream.cuda_stream
    elif hasattr(stream, "ptr"):  # CuPy
        number = stream.ptr
    else:
        raise ArgumentError(f"stream is a {type(stream).__name__}; expected a chorus.Stream, an int, "
                            "a stream of PyTorch or CuPy, or an object with __cuda_stream__")
    if heap_device() < 0:
        raise ArgumentError("stream is one of CUDA, and the symmetric heap is in host memory; expected "
                            "a chorus.Stream")
    return number or CUDA_DEFAULT


def synchronize(stream: Any) -> None:
    """Wait until the queued calls of a stream have run; raises the failure of a call."""
    require("synchronize")
    if isinstance(stream, Stream):
        stream.synchronize()
    else:
        check(lib.chorusx_stream_synchronize(handle_of(stream)))
