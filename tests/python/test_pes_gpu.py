# SPDX-License-Identifier: Apache-2.0
"""On GPUs: tensors of PyTorch, streams, graphs, torch.compile, the pool, NCCL's groups. tests/gpu/run."""
import gc
import os

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402 once PyTorch is known to be here
import torch.distributed._functional_collectives as funcol  # noqa: E402

import chorus  # noqa: E402
import chorus.torch as ct  # noqa: E402

pytestmark = pytest.mark.skipif(os.environ.get("CHORUS_TEST_HEAP") != "cuda", reason="no heap on GPUs")


@pytest.fixture(autouse=True)
def device():
    made = torch.device("cuda", chorus.heap_info().device)
    torch.cuda.set_device(made)
    with made:
        yield made


def of(pe, *shape, dtype=torch.float32, call=0):
    """Another tensor on each PE and in each call; those of the others can be made here, too."""
    made = torch.Generator("cpu").manual_seed(1000 * call + pe)
    return torch.randn(*shape, generator=made, device="cpu").to(dtype).cuda()


def mine(*shape, **more):
    return of(chorus.my_pe(), *shape, **more)


def everyones(*shape, **more):
    return torch.stack([of(pe, *shape, **more) for pe in range(chorus.n_pes())])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("rows", [1, 3, 1000, 300_001])
def test_all_reduce__any_length__is_the_sum(dtype, rows):
    total = ct.all_reduce(mine(rows, dtype=dtype, call=rows))
    expected = everyones(rows, dtype=dtype, call=rows).double().sum(0)
    assert torch.allclose(total.double(), expected, atol=0.06, rtol=0.01)


def test_operators__on_rows__are_as_torch_says():
    n, me = chorus.n_pes(), chorus.my_pe()
    all_ = everyones(2 * n, 5)
    x = mine(2 * n, 5)
    assert torch.equal(ct.all_gather(x), all_.reshape(-1, 5))
    assert torch.allclose(ct.reduce_scatter(x), all_.sum(0)[2 * me:2 * me + 2], atol=1e-5)
    assert torch.equal(ct.broadcast(x, n - 1), all_[n - 1])
    assert torch.equal(ct.all_to_all_single(x), all_[:, 2 * me:2 * me + 2].reshape(-1, 5))
    sent = [(me + p) % 3 for p in range(n)]
    got = ct.all_to_all_single(mine(sum(sent), 2, call=1), sent, sent)
    blocks = [of(pe, sum((pe + p) % 3 for p in range(n)), 2, call=1).split(
        [(pe + p) % 3 for p in range(n)])[me] for pe in range(n)]
    assert torch.equal(got, torch.cat(blocks))
    ct.barrier()


@pytest.mark.parametrize("length", [1, 700, 300_001])
def test_collectives__by_kernels__are_as_torch_says(length):
    n, me, stream = chorus.n_pes(), chorus.my_pe(), torch.cuda.current_stream()
    all_ = everyones(n, length, call=length)
    x, block, blocks = mine(n, length, call=length), torch.zeros(length), torch.zeros(n, length)
    assert torch.equal(chorus.scatter(block, x, n - 1, stream=stream), all_[n - 1][me])
    assert torch.equal(chorus.alltoalls(blocks, x, 1, 1, length, stream=stream), all_[:, me])
    chorus.gather(blocks, x[0], n - 1, stream=stream)
    assert me != n - 1 or torch.equal(blocks, all_[:, 0])
    chorus.reduce_to(block, x[0], "max", n - 1, stream=stream)
    assert me != n - 1 or torch.equal(block, all_[:, 0].amax(0))
    chorus.inscan(block, x[0], stream=stream)
    assert torch.allclose(block, all_[:me + 1, 0].sum(0), atol=1e-5)
    chorus.exscan(block, x[0], stream=stream)
    assert torch.allclose(block, all_[:me, 0].sum(0), atol=1e-5)


def test_collectives__of_unequal_blocks__are_as_torch_says():
    n, me, stream = chorus.n_pes(), chorus.my_pe(), torch.cuda.current_stream()
    all_, x = everyones(n, 1000), mine(n, 1000)
    dest = torch.zeros(n * (n + 1) // 2 * 100)
    chorus.collect(dest, x[0, :100 * (me + 1)].contiguous(), stream=stream)
    assert torch.equal(dest, torch.cat([all_[p, 0, :100 * (p + 1)] for p in range(n)]))
    blocks, places = torch.zeros(n, 1000), [1000 * p for p in range(n)]
    chorus.alltoallv(blocks, [50 * (me + 1)] * n, places, x, [50 * (p + 1) for p in range(n)], places,
                     stream=stream)
    assert torch.equal(blocks[:, :50 * (me + 1)], all_[:, me, :50 * (me + 1)])
    assert not blocks[:, 50 * (me + 1):].any()


def test_graph__replayed__sums_what_is_there():
    x = torch.empty(4096, dtype=torch.bfloat16)
    x.fill_(0)
    ct.all_reduce(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        total = ct.all_reduce(x * 2)
    for call in range(1, 4):
        x.copy_(mine(4096, dtype=torch.bfloat16, call=call))
        graph.replay()
        expected = 2 * everyones(4096, dtype=torch.bfloat16, call=call).float().sum(0)
        assert torch.allclose(total.float(), expected, atol=0.1, rtol=0.02)


def test_stream__of_each_kind__orders_the_call():
    side = torch.cuda.Stream()
    x = mine(5000)
    side.wait_stream(torch.cuda.current_stream())
    for stream in (side, side.cuda_stream):
        out = torch.empty_like(x)
        side.wait_stream(torch.cuda.current_stream())
        chorus.reduce(out, x, stream=stream)
        chorus.synchronize(side)
        assert torch.allclose(out, everyones(5000).sum(0), atol=1e-5)
    with torch.cuda.stream(side):
        total = ct.all_reduce(x)
    side.synchronize()
    assert torch.allclose(total, everyones(5000).sum(0), atol=1e-5)


def test_all_reduce__another_gpu_is_current__is_on_the_heap_s(device):
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU")
    other = (device.index + 1) % torch.cuda.device_count()
    x, side = mine(5000), torch.cuda.Stream()
    ct.all_reduce(x)
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda.set_device(other)
        total = ct.all_reduce(x)
    side.synchronize()
    assert total.device == device
    assert torch.allclose(total, everyones(5000).sum(0), atol=1e-5)


def test_compile__inductor__is_the_eager_result():
    def block(x):
        return ct.all_reduce(torch.relu(x) + 1) * 2

    x = mine(64, 8).requires_grad_()
    compiled = torch.compile(block, fullgraph=True)
    found, expected = compiled(x), block(x)
    assert torch.allclose(found, expected)
    assert torch.allclose(torch.autograd.grad(found.sum(), x)[0],
                          torch.autograd.grad(expected.sum(), x)[0])


def test_pool__tensors__are_symmetric_and_given_back():
    n = chorus.n_pes()
    before = chorus.heap_info().used_bytes
    with ct.pool():
        x = torch.empty(1 << 20, dtype=torch.bfloat16)
        y = x * 0
    assert chorus.heap_info().used_bytes >= before + x.nbytes
    for tensor in (x, y):  # a peer's put finds it
        tensor.fill_(-1)
    chorus.barrier()
    data = torch.full((1 << 20,), chorus.my_pe(), dtype=torch.bfloat16)
    torch.cuda.synchronize()
    chorus.put(x, data, (chorus.my_pe() + 1) % n)
    chorus.barrier()
    assert x.eq((chorus.my_pe() - 1) % n).all() and y.eq(-1).all()
    assert ct.all_reduce(x)[7].item() == sum(range(n))
    address = x.data_ptr()
    del x
    with ct.pool():
        again = torch.empty(1 << 20, dtype=torch.bfloat16)
    assert again.data_ptr() == address
    del again, y
    gc.collect()


def test_enable__beside_nccl__is_the_same(device):
    path = f"/tmp/chorus_nccl_{os.getppid()}"
    dist.init_process_group("nccl", init_method=f"file://{path}", rank=chorus.my_pe(),
                            world_size=chorus.n_pes(), device_id=device)
    world, x = dist.group.WORLD, mine(2 * chorus.n_pes(), 4)

    def results():
        found = [funcol.all_reduce(x, "sum", world), funcol.all_reduce(x, "avg", world),
                 funcol.all_gather_tensor(x, 0, world), funcol.reduce_scatter_tensor(x, "sum", 0, world),
                 funcol.broadcast(x, chorus.n_pes() - 1, world)]
        return [value + 0 for value in found]

    expected = results()
    ct.enable(world)
    found = results()
    assert not ct.fallbacks()
    ct.disable(world)
    for one, other in zip(expected, found):
        assert torch.allclose(one, other, atol=1e-5)
    torch.cuda.synchronize()
    dist.destroy_process_group()


def test_bad__tensors__are_named():
    with pytest.raises(chorus.ArgumentError, match="input is on the host; the symmetric heap of this PE is "
                                                   "on cuda"):
        ct.all_reduce(torch.ones(3, device="cpu"))
    other = torch.cuda.device_count() - 1 - torch.cuda.current_device()
    if other not in (torch.cuda.current_device(), -1):
        with pytest.raises(chorus.ArgumentError, match=f"input is on cuda:{other}; the symmetric heap"):
            ct.all_reduce(torch.ones(3, device=f"cuda:{other}"))
    with pytest.raises(chorus.DtypeError, match="operator sum does not take dtype bool"):
        ct.all_reduce(torch.ones(3, dtype=torch.bool))
