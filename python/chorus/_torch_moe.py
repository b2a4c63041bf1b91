# SPDX-License-Identifier: Apache-2.0
"""
Mixture of experts as operators of PyTorch, for tensors of the CPU; part of chorus.torch.

    name = chorus.torch.moe("experts", chorus.moe.MoE(None, experts, topk, tokens_max, hidden, "float32"))
    route, counts = chorus.torch.moe_route(topk_idx, name)
    rows = chorus.torch.moe_dispatch(x, route, name)
    y = chorus.torch.moe_combine(expert(rows), route, x.shape[0], name)

Dispatch and combine are the transpose of each other, and the gradient of the one is the other, by the same route.
"""
from __future__ import annotations

import collections
import itertools

import torch
from torch import Tensor
from torch.library import custom_op, get_ctx

from ._library import ArgumentError, require
from .moe import MoE

ROUTES = 256  # of an object that are kept, for backward passes; older ones are freed


class _Named:
    """An object, and its last routes by their numbers."""

    def __init__(self, moe):
        self.moe, self.routes, self.next = moe, collections.OrderedDict(), itertools.count()

    def keep(self, route):
        number = next(self.next)
        self.routes[number] = route
        if len(self.routes) > ROUTES:
            self.routes.popitem(last=False)[1].free()
        return number


_objects = {}


def moe(name: str, moe: MoE) -> str:
    """Register an object of chorus.moe under a name, for operators; returns the name."""
    if not name or not isinstance(moe, MoE):
        raise ArgumentError(f"moe: name is {name!r} and moe {moe!r}; expected a name of one letter or more, and a "
                            "chorus.moe.MoE")
    _objects[name] = _Named(moe)
    return name


def _named(function, name):
    found = _objects.get(name)
    if found is None:
        require(function)
        raise ArgumentError(f"{function}: no object is named {name!r}; name a chorus.moe.MoE by chorus.torch.moe")
    return found


def _route(function, name, route):
    found, number = _named(function, name), int(route)
    if number not in found.routes:
        raise ArgumentError(f"{function}: route {number} is none of the last {ROUTES} of {name!r}; make another by "
                            "moe_route")
    return found.moe, found.routes[number]


def _rows(moe):
    """The rows that dispatch fills, if they do not depend on the route."""
    return moe.experts // moe.n_pes * moe.capacity if moe.layout == "expert_major" else None


# --- operators ---------------------------------------------------------------------------------
@custom_op("chorus::moe_route", mutates_args=())
def moe_route(topk_idx: Tensor, moe: str) -> tuple[Tensor, Tensor]:
    """Tell the PEs which tokens come, as MoE.route: a tensor that names the route for the other operators, and the
    rows of each of this PE's experts. The last 256 routes of an object are kept."""
    found = _named("moe_route", moe)
    route = found.moe.route(topk_idx.contiguous())
    return torch.tensor([found.keep(route)]), torch.tensor(route.counts, dtype=torch.int64)


@moe_route.register_fake
def _(topk_idx, moe):
    of = _named("moe_route", moe).moe
    return topk_idx.new_empty((1,), dtype=torch.int64), topk_idx.new_empty((of.experts // of.n_pes,), dtype=torch.int64)


@custom_op("chorus::moe_slots", mutates_args=())
def moe_slots(route: Tensor, moe: str) -> Tensor:
    """Which of its token's topk entries each row came by; -1 for rows that are not filled."""
    _, route = _route("moe_slots", moe, route)
    return torch.tensor([origin.slot if origin.pe >= 0 else -1 for origin in route.origins], dtype=torch.int64)


@custom_op("chorus::moe_dispatch", mutates_args=())
def moe_dispatch(x: Tensor, route: Tensor, moe: str) -> Tensor:
    """The rows of this PE's experts, of the tokens x of all PEs, as MoE.dispatch: rows that are not filled are 0."""
    of, route = _route("moe_dispatch", moe, route)
    return of.dispatch(route, x.contiguous())


@custom_op("chorus::moe_combine", mutates_args=())
def moe_combine(y: Tensor, route: Tensor, n_tokens: int, moe: str) -> Tensor:
    """For each of this PE's n_tokens tokens the sum of the rows that experts made of it, as MoE.combine."""
    of, route = _route("moe_combine", moe, route)
    if n_tokens != route.n_tokens:
        raise ArgumentError(f"moe_combine: n_tokens is {n_tokens}; the route has {route.n_tokens}")
    return of.combine(route, y.contiguous())


def _fake_rows(moe):
    rows = _rows(moe)
    return get_ctx().new_dynamic_size() if rows is None else rows


@moe_slots.register_fake
def _(route, moe):
    return route.new_empty((_fake_rows(_named("moe_slots", moe).moe),))


@moe_dispatch.register_fake
def _(x, route, moe):
    of = _named("moe_dispatch", moe).moe
    return x.new_empty((_fake_rows(of), of.hidden))


@moe_combine.register_fake
def _(y, route, n_tokens, moe):
    return y.new_empty((n_tokens, _named("moe_combine", moe).moe.hidden))


# --- gradients ---------------------------------------------------------------------------------
def _keep_dispatch(ctx, inputs, output):
    x, route, ctx.moe = inputs
    ctx.n_tokens = x.shape[0]
    ctx.save_for_backward(route)


def _dispatch_backward(ctx, grad):
    return moe_combine(grad, ctx.saved_tensors[0], ctx.n_tokens, ctx.moe), None, None


def _keep_combine(ctx, inputs, output):
    _, route, _, ctx.moe = inputs
    ctx.save_for_backward(route)


def _combine_backward(ctx, grad):
    return moe_dispatch(grad, ctx.saved_tensors[0], ctx.moe), None, None, None


moe_dispatch.register_autograd(_dispatch_backward, setup_context=_keep_dispatch)
moe_combine.register_autograd(_combine_backward, setup_context=_keep_combine)
