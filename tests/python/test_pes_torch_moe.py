# SPDX-License-Identifier: Apache-2.0
"""Mixture of experts as operators of PyTorch: values, gradients, weights, torch.compile, mistakes."""
import itertools

import pytest

torch = pytest.importorskip("torch")

import chorus  # noqa: E402 once PyTorch is known to be here
import chorus.moe  # noqa: E402
import chorus.torch as ct  # noqa: E402

EACH, TOPK, HIDDEN, TOKENS = 3, 2, 5, 7
ME, N = None, None
names = (f"moe {i}" for i in itertools.count())


@pytest.fixture(autouse=True)
def who():
    global ME, N
    ME, N = chorus.my_pe(), chorus.n_pes()


@pytest.fixture(params=["compact", "expert_major"])
def named(request):
    """The name of an object; expert i multiplies by i + 1."""
    capacity = N * TOKENS if request.param == "expert_major" else None
    with chorus.moe.MoE(None, EACH * N, TOPK, TOKENS, HIDDEN, "float32", layout=request.param, capacity=capacity) as moe:
        yield ct.moe(next(names), moe)


def tokens(seed):
    """This PE's tokens, and the experts of each."""
    draw = torch.Generator().manual_seed(100 * seed + ME)
    x = torch.randn(TOKENS - ME % 2, HIDDEN, generator=draw)
    scores = torch.rand(x.shape[0], EACH * N, generator=draw)
    topk_idx = scores.topk(TOPK, dim=1).indices
    topk_idx[0, 1] = -1
    return x, topk_idx


def factors(counts, rows):
    """Of each row, that of its expert."""
    mine = torch.arange(EACH) + EACH * ME + 1.0
    if rows.shape[0] == int(counts.sum()):
        return mine.repeat_interleave(counts)[:, None]
    return mine.repeat_interleave(rows.shape[0] // EACH)[:, None]


def expected_factors(topk_idx):
    return torch.where(topk_idx >= 0, topk_idx + 1.0, 0.0)


def forward(x, topk_idx, name):
    route, counts = ct.moe_route(topk_idx, name)
    rows = ct.moe_dispatch(x, route, name)
    return ct.moe_combine(rows * factors(counts, rows), route, x.shape[0], name)


@pytest.mark.parametrize("seed", range(3))
def test_moe__experts_that_multiply__values_and_gradients(named, seed):
    x, topk_idx = tokens(seed)
    x.requires_grad_()
    y = forward(x, topk_idx, named)
    total = expected_factors(topk_idx).sum(1, keepdim=True)
    assert torch.allclose(y, total * x.detach(), atol=1e-5)
    upstream = torch.randn(y.shape, generator=torch.Generator().manual_seed(seed))
    y.backward(upstream)
    assert torch.allclose(x.grad, total * upstream, atol=1e-5)


def test_moe__weights__travel_by_a_route_of_their_own_and_have_gradients(named):
    x, topk_idx = tokens(9)
    with chorus.moe.MoE(None, EACH * N, TOPK, TOKENS, TOPK, "float32") as beside:
        of_weights = ct.moe(next(names), beside)
        weights = torch.rand(x.shape[0], TOPK, generator=torch.Generator().manual_seed(ME)).requires_grad_()
        route, counts = ct.moe_route(topk_idx, named)
        route_w, _ = ct.moe_route(topk_idx, of_weights)
        rows = ct.moe_dispatch(x, route, named)
        if rows.shape[0] == int(counts.sum()):
            rows_w = ct.moe_dispatch(weights, route_w, of_weights)
            slots = ct.moe_slots(route_w, of_weights)
            scaled = rows * factors(counts, rows) * rows_w.gather(1, slots[:, None])
            y = ct.moe_combine(scaled, route, x.shape[0], named)
            each = expected_factors(topk_idx)
            assert torch.allclose(y, (weights.detach() * each).sum(1, keepdim=True) * x, atol=1e-5)
            y.sum().backward()
            assert torch.allclose(weights.grad, each * x.sum(1, keepdim=True), atol=1e-4)


def test_moe__compiled__is_one_graph(named):
    x, topk_idx = tokens(5)
    x.requires_grad_()

    def step(x, topk_idx):
        route, counts = ct.moe_route(topk_idx, named)
        rows = ct.moe_dispatch(x, route, named)
        return ct.moe_combine(2.0 * rows, route, x.shape[0], named)

    torch._dynamo.reset()
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):  # of a compact layout
        y = torch.compile(step, fullgraph=True, backend="aot_eager")(x, topk_idx)
    entries = (topk_idx >= 0).sum(1, keepdim=True)
    assert torch.allclose(y, 2.0 * entries * x.detach(), atol=1e-5)
    y.sum().backward()
    assert torch.allclose(x.grad, (2.0 * entries).expand_as(x), atol=1e-5)


def test_moe__mistakes__say_what_is_wrong(named):
    x, topk_idx = tokens(1)
    with pytest.raises(chorus.ArgumentError, match="no object is named 'none'"):
        ct.moe_route(topk_idx, "none")
    with pytest.raises(chorus.ArgumentError, match="expected a name of one letter or more"):
        ct.moe("", 7)
    route, _ = ct.moe_route(topk_idx, named)
    with pytest.raises(chorus.ArgumentError, match="the route has"):
        ct.moe_combine(ct.moe_dispatch(x, route, named), route, x.shape[0] + 1, named)
    with pytest.raises(chorus.ArgumentError, match="none of the last 256"):
        ct.moe_slots(route + 1000, named)
