# SPDX-License-Identifier: Apache-2.0
"""
Collectives of Chorus as operators of PyTorch.

    import chorus, chorus.torch
    chorus.init()
    y = chorus.torch.all_reduce(x)

Operators are out of place, take ordinary tensors on the device of the heap, run on the current
stream of CUDA (on a host they return when they have run), have gradients where that makes sense,
and are traced by torch.compile(fullgraph=True). A group is named: "" is all PEs of the job, others
are named by `group`. Every PE of a group calls the same operators in the same order.

`pool` makes tensors symmetric, `enable` performs functional collectives of torch.distributed.
"""
from __future__ import annotations

import functools
from typing import Optional, Sequence

import torch
from torch import Tensor
from torch.library import custom_op

from . import _array, _collective, _direct, _dtype
from ._library import ArgumentError, failure, require
from ._stream import CUDA_DEFAULT
from ._team import WORLD, Team
from ._torch_functional import FallbackWarning, disable, enable, fallbacks
from ._torch_moe import moe, moe_combine, moe_dispatch, moe_route, moe_slots
from ._torch_pool import pool

__all__ = ["FallbackWarning", "all_gather", "all_reduce", "all_to_all_single", "barrier", "broadcast",
           "disable", "empty", "enable", "fallbacks", "group", "moe", "moe_combine", "moe_dispatch", "moe_route",
           "moe_slots", "pool", "reduce_scatter"]

_groups = {"": WORLD}


def group(name: str, team: Team) -> str:
    """Register a team under a name, for `group=` of operators; returns the name."""
    if not name or not isinstance(team, Team):
        raise ArgumentError(f"group: name is {name!r} and team {team!r}; expected a name of one letter "
                            "or more, and a chorus.Team that this PE is in")
    _groups[name] = team
    _direct.forget()  # what the name stood for
    return name


def _team(function, name):
    team = _groups.get(name)
    if team is None:
        require(function)
        raise ArgumentError(f"{function}: no group is named {name!r}; name a team by "
                            "chorus.torch.group")
    return team


def _plain(tensor):
    """Elements that lie one after another, as they are."""
    if not tensor.is_contiguous():
        tensor = tensor.contiguous()
    return tensor.resolve_conj().resolve_neg() if tensor.is_complex() else tensor


def _stream():
    """Of a heap on a GPU, the current one; calls on a host return when they have run."""
    if _array.heap_device() < 0:
        return None
    return torch.cuda.current_stream().cuda_stream


def _has_rows(function, tensor):
    if tensor.dim() == 0:
        raise ArgumentError(f"{function}: input has no dimension; expected one or more")


def _rows(function, tensor, n):
    """The length of one PE's block along the first dimension."""
    if tensor.dim() == 0 or tensor.shape[0] % n:
        raise ArgumentError(f"{function}: input has shape {tuple(tensor.shape)}; expected a first "
                            f"dimension that the group's {n} PEs divide")
    return tensor.shape[0] // n


def empty(shape, dtype=torch.float32) -> Tensor:
    """Collective over the job: a tensor in symmetric memory, its elements undefined. It is given
    back as chorus.empty's arrays are."""
    return torch.from_dlpack(_array.empty(shape, dtype))


_is_traced = torch.compiler.is_dynamo_compiling
_has_gradients = torch.is_grad_enabled
_modes = torch._C._len_torch_dispatch_stack
_has_transforms = torch._C._are_functorch_transforms_active
_shapes, _stream_of = _direct.shapes, _direct.stream_of
_library_call, _around = _direct.library_call, _direct.around


def _is_plain(tensor):
    """Does nobody watch: the compiler, autograd, a mode or a transform of functions?"""
    return (not _is_traced() and type(tensor) is Tensor and not tensor.is_neg()
            and not (tensor.requires_grad and _has_gradients()) and not _modes() and not _has_transforms())


def _operator(implementation):
    """An operator of torch.library. PyTorch's dispatch of an operator that is written in Python takes
    longer than a small call, so calls that nobody watches go past it."""
    made = custom_op(f"chorus::{implementation.__name__}", mutates_args=())(implementation)

    @functools.wraps(implementation)
    def call(input, *args, **kwargs):
        if _is_plain(input):
            return implementation(input, *args, **kwargs)
        return made(input, *args, **kwargs)

    call.register_fake, call.register_autograd = made.register_fake, made.register_autograd
    return call


@_operator
def all_reduce(input: Tensor, op: str = "sum", group: str = "") -> Tensor:
    """The tensors of all PEs combined: op is "sum", "prod", "min", "max", "and", "or", "xor"."""
    team, input = _team("all_reduce", group)._handle, _plain(input)
    return _direct.make("reduce", op, team, torch.empty_like(input), input, input.numel())


_all_reduce = all_reduce


@functools.wraps(_all_reduce)
def all_reduce(input, op="sum", group=""):  # noqa: F811 the same, with the shortest way to the library
    if (_is_traced() or type(input) is not Tensor or _modes() or not input.is_contiguous()
            or (input.requires_grad and _has_gradients())):
        return _all_reduce(input, op, group)
    try:
        source = input.data_ptr()
    except RuntimeError:
        source = 0
    if source == 0:  # of a tensor that a transform of functions wraps, on meta, or empty
        return _all_reduce(input, op, group)
    key = (input.shape, input.dtype, input.get_device(), op, group)
    found = _shapes.get(key)
    if found is None:
        out = _all_reduce(input, op, group)  # which raises what is wrong
        _direct.remember_reduce(key, input, _team("all_reduce", group)._handle)
        return out
    head, tail, device, is_part, empty, shape, strides, dtype = found
    if is_part and input.is_neg():
        return _all_reduce(input, op, group)
    out = empty(shape, strides, dtype)
    stream = None if device < 0 else _stream_of(device)
    if stream == 0:
        stream = CUDA_DEFAULT  # on which the library refuses calls if another GPU is current
    elif stream and out.get_device() != device:  # likewise
        return _all_reduce(input, op, group)
    code = _library_call(_around(head, out.data_ptr(), source, tail), stream)
    if code:
        raise failure(code)
    return out


@_all_reduce.register_fake
def _(input, op="sum", group=""):
    _dtype.require_operator("all_reduce", op, _dtype.name_of(input.dtype))
    return torch.empty_like(input, memory_format=torch.contiguous_format)


@_operator
def all_gather(input: Tensor, group: str = "") -> Tensor:
    """The tensors of all PEs, one after another along the first dimension."""
    team, input = _team("all_gather", group), _plain(input)
    _has_rows("all_gather", input)
    out = input.new_empty((team.n_pes * input.shape[0], *input.shape[1:]))
    return _direct.make("fcollect", None, team._handle, out, input, input.numel())


@all_gather.register_fake
def _(input, group=""):
    n = _team("all_gather", group).n_pes
    _has_rows("all_gather", input)
    return input.new_empty((n * input.shape[0], *input.shape[1:]))


@_operator
def reduce_scatter(input: Tensor, op: str = "sum", group: str = "") -> Tensor:
    """This PE's block, along the first dimension, of the tensors of all PEs combined."""
    team, input = _team("reduce_scatter", group), _plain(input)
    out = input.new_empty((_rows("reduce_scatter", input, team.n_pes), *input.shape[1:]))
    return _direct.make("reducescatter", op, team._handle, out, input, out.numel())


@reduce_scatter.register_fake
def _(input, op="sum", group=""):
    n = _team("reduce_scatter", group).n_pes
    _dtype.require_operator("reduce_scatter", op, _dtype.name_of(input.dtype))
    return input.new_empty((_rows("reduce_scatter", input, n), *input.shape[1:]))


@_operator
def broadcast(input: Tensor, root: int = 0, group: str = "") -> Tensor:
    """The tensor of root, on every PE."""
    team, input = _team("broadcast", group)._handle, _plain(input)
    return _direct.make("broadcast", None, team, torch.empty_like(input), input, input.numel(), root)


@broadcast.register_fake
def _(input, root=0, group=""):
    return torch.empty_like(input, memory_format=torch.contiguous_format)


def _check_splits(function, n, name, splits, rows):
    if len(splits) != n or any(s < 0 for s in splits) or sum(splits) != rows:
        raise ArgumentError(f"{function}: {name} is {list(splits)}; expected {n} numbers of 0 or more, "
                            f"{rows} together")


def _longest(splits, team):
    """The longest block between any two PEs."""
    most = torch.tensor([max(splits)], dtype=torch.int64)
    if _array.heap_device() >= 0:
        most = most.cuda()
    return int(_collective.reduce(torch.empty_like(most), most, "max", team, _stream()).item())


@_operator
def all_to_all_single(input: Tensor, output_split_sizes: Optional[Sequence[int]] = None,
                      input_split_sizes: Optional[Sequence[int]] = None, group: str = "",
                      longest: int = 0) -> Tensor:
    """Blocks of rows between each two PEs: input_split_sizes[p] rows go to PE p,
    output_split_sizes[p] come from it; equal blocks without the two. Uneven blocks are padded to
    the longest of any two PEs; without `longest` a reduction finds it, which waits for the device, so
    that such a call cannot be captured in a CUDA graph."""
    function = "all_to_all_single"
    team, input = _team(function, group), _plain(input)
    n = team.n_pes
    if output_split_sizes is None and input_split_sizes is None:
        _rows(function, input, n)
        return _direct.make("alltoall", None, team._handle, torch.empty_like(input), input,
                            input.numel() // n)
    if output_split_sizes is None or input_split_sizes is None:
        raise ArgumentError(f"{function}: only one of output_split_sizes and input_split_sizes is "
                            "given; expected both or neither")
    _check_splits(function, n, "input_split_sizes", input_split_sizes, input.shape[0])
    _check_splits(function, n, "output_split_sizes", output_split_sizes, sum(output_split_sizes))
    longest = longest or _longest([*input_split_sizes, *output_split_sizes], team)
    packed = input.new_zeros((n, longest, *input.shape[1:]))
    for block, part in zip(packed, input.split(list(input_split_sizes))):
        block[:part.shape[0]] = part
    got = _collective.alltoall(torch.empty_like(packed), packed, team, _stream())
    return torch.cat([block[:rows] for block, rows in zip(got, output_split_sizes)])


@all_to_all_single.register_fake
def _(input, output_split_sizes=None, input_split_sizes=None, group="", longest=0):
    rows = input.shape[0] if output_split_sizes is None else sum(output_split_sizes)
    return input.new_empty((rows, *input.shape[1:]))


def barrier(group: str = "") -> None:
    """Wait until every PE of the group has made this call; on a GPU, in the order of the current stream."""
    _collective.barrier(_team("barrier", group), _stream())


# --- gradients ---------------------------------------------------------------------------------


def _of_sum(function, op):
    if op != "sum":
        raise ArgumentError(f"{function}: op {op} has no gradient; expected sum")


def _keep_op(ctx, inputs, output):
    ctx.op, ctx.group = inputs[1], inputs[2]


def _all_reduce_backward(ctx, grad):
    _of_sum("all_reduce", ctx.op)
    return all_reduce(grad, "sum", ctx.group), None, None


def _reduce_scatter_backward(ctx, grad):
    _of_sum("reduce_scatter", ctx.op)
    return all_gather(grad, ctx.group), None, None


def _keep_group(ctx, inputs, output):
    ctx.group = inputs[1]


def _all_gather_backward(ctx, grad):
    return reduce_scatter(grad, "sum", ctx.group), None


def _broadcast_backward(ctx, grad):
    total = all_reduce(grad, "sum", ctx.group)
    is_root = _team("broadcast", ctx.group).my_pe == ctx.op
    return total if is_root else torch.zeros_like(total), None, None


def _keep_splits(ctx, inputs, output):
    ctx.splits, ctx.group, ctx.longest = (inputs[2], inputs[1]), inputs[3], inputs[4]


def _all_to_all_backward(ctx, grad):
    back = all_to_all_single(grad, ctx.splits[0], ctx.splits[1], ctx.group, ctx.longest)
    return back, None, None, None, None


_all_reduce.register_autograd(_all_reduce_backward, setup_context=_keep_op)
reduce_scatter.register_autograd(_reduce_scatter_backward, setup_context=_keep_op)
all_gather.register_autograd(_all_gather_backward, setup_context=_keep_group)
broadcast.register_autograd(_broadcast_backward, setup_context=_keep_op)
all_to_all_single.register_autograd(_all_to_all_backward, setup_context=_keep_splits)
