# SPDX-License-Identifier: Apache-2.0
"""
Functional collectives of torch.distributed through Chorus.

Operators of `_c10d_functional` are implemented by PyTorch for all devices at once. A kernel for
CPU and CUDA alone comes before that one: it makes Chorus' call for groups that `enable` was
called for, and goes on to PyTorch's for all others.
"""
from __future__ import annotations

import collections
import warnings

import torch
import torch.distributed as dist

from . import _collective, _dtype
from ._array import heap_device
from ._library import ArgumentError, DtypeError, require
from ._team import WORLD

OPS = {"sum": "sum", "avg": "sum", "product": "prod", "min": "min", "max": "max", "band": "and",
       "bor": "or", "bxor": "xor"}
_teams = {}  # name of a process group to the team of its ranks
_counts = collections.Counter()
_library = []  # of operators, once it is made


class FallbackWarning(UserWarning):
    """A functional collective of a group that `enable` was called for goes to torch.distributed."""


class _Unserved(Exception):
    """Why Chorus does not make a call."""


def fallbacks():
    """How many calls of enabled groups went to torch.distributed: {(operator, why): calls}."""
    return dict(_counts)


def enable(group=None, team=None):
    """Collective over the group: its functional collectives go through Chorus from now on.

    group is a process group, all ranks if left out; team the chorus.Team of its ranks in their
    order, all PEs if left out. Calls that Chorus does not support go to torch.distributed as before;
    the first such call for each reason raises a FallbackWarning, and `fallbacks` counts all.
    """
    require("enable")
    group, team = group or dist.group.WORLD, team or WORLD
    if group is None:
        raise ArgumentError("enable: torch.distributed has no process group; call "
                            "torch.distributed.init_process_group first")
    found = (dist.get_rank(group), dist.get_world_size(group))
    expected = (team.my_pe, team.n_pes)
    if found != expected:
        raise ArgumentError(f"enable: this process is rank {found[0]} of {found[1]} in the group, PE "
                            f"{expected[0]} of {expected[1]} in the team; pass team=, the PEs of the "
                            "group's ranks in their order (chorus.Team.create)")
    if not _library:
        _install()
    _teams[group.group_name] = team


def disable(group=None):
    """The group's functional collectives go through torch.distributed again."""
    _teams.pop((group or dist.group.WORLD).group_name, None)


def _stream(tensor):
    return torch.cuda.current_stream().cuda_stream if tensor.is_cuda else None


def _check(tensor):
    device = tensor.get_device()
    if device != heap_device():
        raise _Unserved(f"the tensor is on {tensor.device}, the symmetric heap is not")
    try:
        return _dtype.name_of(tensor.dtype)
    except DtypeError:
        raise _Unserved(f"Chorus has no dtype {tensor.dtype}") from None


def _operator(tensor, reduce_op):
    """Chorus' name for it; the tensor's type is one that it takes."""
    name, op = _check(tensor), OPS.get(reduce_op.lower())
    if op is None:
        raise _Unserved(f"Chorus has no operator {reduce_op}")
    if reduce_op.lower() == "avg" and not tensor.dtype.is_floating_point:
        raise _Unserved(f"avg of dtype {tensor.dtype} is not served")
    try:
        _dtype.require_operator("", op, name)
    except DtypeError:
        raise _Unserved(f"operator {op} does not take dtype {name}") from None
    return op


def _end(tensor, reduce_op, team):
    return tensor.div_(team.n_pes) if reduce_op.lower() == "avg" else tensor


def _same(tensor):
    return torch.empty_like(tensor, memory_format=torch.contiguous_format)


def _in_place(tensor):
    if not tensor.is_contiguous():
        raise _Unserved("a tensor that is not contiguous, in place")
    return tensor


def _rows(tensor, n):
    if tensor.dim() == 0 or tensor.shape[0] % n:
        raise _Unserved(f"{n} ranks do not divide the rows of shape {tuple(tensor.shape)}")
    return tensor.new_empty((tensor.shape[0] // n, *tensor.shape[1:]))


def _reduce(team, out, tensor, reduce_op):
    op = _operator(tensor, reduce_op)
    _collective.reduce(out, tensor.contiguous(), op, team, _stream(tensor))
    return _end(out, reduce_op, team)


def _all_reduce(team, tensor, reduce_op):
    return _reduce(team, _same(tensor), tensor, reduce_op)


def _all_reduce_(team, tensor, reduce_op):
    return _reduce(team, _in_place(tensor), tensor, reduce_op)


def _all_gather(team, tensor, group_size, out=None):
    _check(tensor)
    if tensor.dim() == 0:
        raise _Unserved("a tensor without dimension")
    if out is None:
        out = tensor.new_empty((group_size * tensor.shape[0], *tensor.shape[1:]))
    _collective.fcollect(_in_place(out), tensor.contiguous(), team, _stream(tensor))
    return out


def _reduce_scatter(team, tensor, reduce_op, group_size, out=None):
    op = _operator(tensor, reduce_op)
    out = _rows(tensor, group_size) if out is None else _in_place(out)
    _collective.reducescatter(out, tensor.contiguous(), op, team, _stream(tensor))
    return _end(out, reduce_op, team)


def _broadcast(team, tensor, src):
    _check(tensor)
    return _collective.broadcast(_same(tensor), tensor.contiguous(), src, team, _stream(tensor))


def _broadcast_(team, tensor, src):
    _check(_in_place(tensor))
    return _collective.broadcast(tensor, None, src, team, _stream(tensor))


def _all_to_all(team, tensor, output_split_sizes, input_split_sizes):
    """Whether other ranks split evenly, none knows, so all splits count as uneven."""
    from .torch import all_to_all_single, group
    _check(tensor)
    if tensor.is_cuda and torch.cuda.is_current_stream_capturing():
        raise _Unserved("splits in the capture of a graph; chorus.torch.all_to_all_single takes them")
    name = group(f"chorus.torch.enable {team._handle}", team)
    return all_to_all_single(tensor, list(output_split_sizes), list(input_split_sizes), name)


def _each(function):
    def serve(team, tensors, *arguments):
        return [function(team, tensor, *arguments) for tensor in tensors]
    return serve


SERVED = {"all_reduce": _all_reduce, "all_reduce_": _all_reduce_,
          "all_reduce_coalesced": _each(_all_reduce), "all_reduce_coalesced_": _each(_all_reduce_),
          "all_gather_into_tensor": _all_gather, "all_gather_into_tensor_out": _all_gather,
          "all_gather_into_tensor_coalesced": _each(_all_gather),
          "reduce_scatter_tensor": _reduce_scatter, "reduce_scatter_tensor_out": _reduce_scatter,
          "reduce_scatter_tensor_coalesced": _each(_reduce_scatter),
          "broadcast": _broadcast, "broadcast_": _broadcast_, "all_to_all_single": _all_to_all}


def _note(name, why):
    _counts[name, why] += 1
    if _counts[name, why] == 1:
        warnings.warn(f"chorus.torch.enable: {name} goes to torch.distributed: {why}", FallbackWarning,
                      stacklevel=3)


def _kernel(name, operator, serve):
    beneath = torch._C.DispatchKey.CompositeExplicitAutograd

    def run(*arguments, **keywords):
        team = _teams.get(arguments[-1])  # the name of the group
        if team is not None:
            try:
                return serve(team, *arguments[:-1], **keywords)
            except _Unserved as why:
                _note(name, str(why))
        return operator._op_dk(beneath, *arguments, **keywords)

    return run


def _install():
    library = torch.library.Library("_c10d_functional", "IMPL")
    for name, serve in SERVED.items():
        packet = getattr(torch.ops._c10d_functional, name, None)  # not in each version of PyTorch
        if packet is not None:
            for key in ("CPU", "CUDA"):
                library.impl(name, _kernel(name, packet.default, serve), key)
    _library.append(library)
