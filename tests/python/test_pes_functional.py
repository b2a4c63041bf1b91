# SPDX-License-Identifier: Apache-2.0
"""chorus.torch.enable: functional collectives of torch.distributed, beside what Gloo makes of them."""
import os
import warnings

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402 once PyTorch is known to be here
import torch.distributed._functional_collectives as funcol  # noqa: E402

import chorus  # noqa: E402
import chorus.torch as ct  # noqa: E402


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Every PE names the same file: rank 0's parent process is everyone's."""
    path = f"/tmp/chorus_functional_{os.getppid()}"
    dist.init_process_group("gloo", init_method=f"file://{path}", rank=chorus.my_pe(),
                            world_size=chorus.n_pes())
    yield dist.group.WORLD
    ct.disable()
    dist.destroy_process_group()


def inputs(dtype=torch.float32):
    made = torch.Generator().manual_seed(chorus.my_pe())
    return (8 * torch.randn(2 * chorus.n_pes(), 3, generator=made)).to(dtype)


def waited(tensor):
    return torch.ops._c10d_functional.wait_tensor(tensor)


def results(world):
    x, n = inputs(), chorus.n_pes()
    sent = [2] * n
    found = [funcol.all_reduce(x, op, world) for op in ("sum", "avg", "max", "product")]
    found += [funcol.all_reduce(inputs(torch.int32), op, world) for op in ("bor", "band")]
    found += [funcol.all_gather_tensor(x, 0, world), funcol.all_gather_tensor(x, 1, world),
              funcol.reduce_scatter_tensor(x, "sum", 0, world), funcol.broadcast(x, n - 1, world),
              funcol.all_to_all_single(x, sent, sent, world),
              waited(torch.ops._c10d_functional.all_reduce_(x.clone(), "sum", world.group_name))]
    found += funcol.all_reduce_coalesced([x, 2 * x], "sum", world)
    return [value + 0 for value in found]  # which waits


def test_enable__each_operator__is_as_gloo_and_is_served(world):
    expected = results(world)
    ct.enable(world)
    calls = []
    real, chorus._collective.check = chorus._collective.check, lambda code: (calls.append(code), real(code))
    try:
        found = results(world)
    finally:
        chorus._collective.check = real
        ct.disable(world)
    assert len(calls) >= 10  # all of them but the one by chorus.torch
    assert not ct.fallbacks()
    for one, other in zip(expected, found):
        assert torch.allclose(one.float(), other.float(), atol=1e-5)


def test_enable__under_compile__is_the_eager_result(world):
    def block(x):
        return funcol.all_reduce(torch.relu(x), "sum", world) * 2

    ct.enable(world)
    try:
        compiled = torch.compile(block, fullgraph=True, backend="aot_eager")
        assert torch.allclose(compiled(inputs()), block(inputs()))
    finally:
        ct.disable(world)
    assert not ct.fallbacks()


def test_enable__what_is_not_served__falls_back_and_says_so(world):
    ct.enable(world)
    try:
        x = inputs(torch.bool)
        with pytest.warns(ct.FallbackWarning, match="all_reduce goes to torch.distributed: operator max "
                                                    "does not take dtype bool"):
            found = funcol.all_reduce(x, "max", world) + False
        with warnings.catch_warnings():
            warnings.simplefilter("error", ct.FallbackWarning)  # told once
            funcol.all_reduce(x, "max", world) + False
    finally:
        ct.disable(world)
    everyones = [torch.empty_like(x) for _ in range(chorus.n_pes())]
    dist.all_gather(everyones, x)
    assert torch.equal(found, torch.stack(everyones).any(0))
    assert list(ct.fallbacks().values()) == [2]


def test_enable__another_team__is_refused(world):
    if chorus.n_pes() > 1:
        backwards = chorus.WORLD.create(range(chorus.n_pes() - 1, -1, -1))
        with pytest.raises(chorus.ArgumentError, match="rank . of . in the group, PE"):
            ct.enable(world, backwards)


def test_pool__heap_in_host_memory__is_refused():
    with pytest.raises(chorus.ArgumentError, match="the symmetric heap is in host memory"):
        with ct.pool():
            pass
