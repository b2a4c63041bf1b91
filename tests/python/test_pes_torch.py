# SPDX-License-Identifier: Apache-2.0
"""Operators of PyTorch on tensors of the CPU: values, gradients, fakes, torch.compile."""
import os

import pytest

torch = pytest.importorskip("torch")

import chorus  # noqa: E402 once PyTorch is known to be here
import chorus.torch as ct  # noqa: E402

ME, N = None, None


@pytest.fixture(autouse=True)
def who():
    global ME, N
    ME, N = chorus.my_pe(), chorus.n_pes()


def mine(*shape, dtype=torch.float32):
    """Another tensor on each PE; those of the others can be made here, too."""
    return of(ME, *shape, dtype=dtype)


def of(pe, *shape, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(pe)).to(dtype)


def everyones(*shape, dtype=torch.float32):
    return torch.stack([of(pe, *shape, dtype=dtype) for pe in range(N)])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_all_reduce__each_float__is_the_sum(dtype):
    total = ct.all_reduce(mine(33, 5, dtype=dtype))
    expected = everyones(33, 5, dtype=dtype).double().sum(0)
    assert total.dtype == dtype and torch.allclose(total.double(), expected, atol=0.05)


def test_all_reduce__not_contiguous__is_copied():
    total = ct.all_reduce(mine(6, 4).t(), "max")
    assert torch.equal(total, everyones(6, 4).amax(0).t())


def test_gather_scatter_broadcast__rows__as_torch_says():
    all_ = everyones(4, 3)
    assert torch.equal(ct.all_gather(mine(4, 3)), all_.reshape(4 * N, 3))
    whole = everyones(2 * N, 3)
    block = ct.reduce_scatter(mine(2 * N, 3))
    assert torch.allclose(block, whole.sum(0)[2 * ME:2 * ME + 2], atol=1e-6)
    assert torch.equal(ct.broadcast(mine(4, 3), N - 1), all_[N - 1])


def test_all_to_all__even_and_uneven__move_rows():
    got = ct.all_to_all_single(mine(2 * N, 3))
    assert torch.equal(got, everyones(2 * N, 3)[:, 2 * ME:2 * ME + 2].reshape(2 * N, 3))
    sent = [(ME + p) % 3 for p in range(N)]  # symmetric: as many come back
    got = ct.all_to_all_single(mine(sum(sent), 2), sent, sent)
    expected = []
    for pe in range(N):
        theirs = [(pe + p) % 3 for p in range(N)]
        expected.append(of(pe, sum(theirs), 2).split(theirs)[ME])
    assert torch.equal(got, torch.cat(expected))


def test_group__by_name__has_its_pes():
    team = chorus.WORLD.create(range(N - 1, -1, -1))
    backwards = ct.group("backwards", team)
    got = ct.all_gather(mine(1), backwards)
    assert torch.equal(got, everyones(1).flip(0).reshape(N))
    ct.barrier(backwards)
    with pytest.raises(chorus.ArgumentError, match="no group is named 'x'"):
        ct.all_reduce(mine(1), "sum", "x")


def test_backward__of_each__is_the_adjoint():
    x = mine(2 * N, 3).requires_grad_()
    weights = everyones(2 * N, 3)
    (ct.all_reduce(x) * weights[ME]).sum().backward()
    assert torch.allclose(x.grad, weights.sum(0), atol=1e-5)
    x.grad = None
    large = [of(100 + pe, 2 * N * N, 3) for pe in range(N)]
    (ct.all_gather(x) * large[ME]).sum().backward()
    assert torch.allclose(x.grad, sum(large).reshape(N, 2 * N, 3)[ME], atol=1e-5)
    x.grad = None
    (ct.reduce_scatter(x) * weights[ME][:2]).sum().backward()
    assert torch.allclose(x.grad, weights[:, :2].reshape(2 * N, 3), atol=1e-6)
    x.grad = None
    (ct.all_to_all_single(x) * weights[ME]).sum().backward()
    assert torch.allclose(x.grad, weights[:, 2 * ME:2 * ME + 2].reshape(2 * N, 3), atol=1e-6)
    x.grad = None
    (ct.broadcast(x) * weights[ME]).sum().backward()
    assert torch.allclose(x.grad, weights.sum(0) if ME == 0 else torch.zeros(()), atol=1e-5)
    with pytest.raises(chorus.ArgumentError, match="op max has no gradient"):
        ct.all_reduce(x, "max").sum().backward()


def test_compile__fullgraph__is_the_eager_result():
    def block(x, w):
        y = ct.all_reduce(torch.relu(x @ w))
        return ct.all_gather(ct.reduce_scatter(y)) + ct.all_to_all_single(y)

    x, w = mine(2 * N, 8), of(99, 8, 8).requires_grad_()
    compiled = torch.compile(block, fullgraph=True, backend="aot_eager")
    expected, found = block(x, w), compiled(x, w)
    assert torch.allclose(found, expected)
    gradient, = torch.autograd.grad(expected.sum(), w)
    again, = torch.autograd.grad(found.sum(), w)
    assert torch.allclose(gradient, again)


def test_opcheck__each_operator__is_registered_well():
    tests = ("test_schema", "test_autograd_registration", "test_faketensor")
    for name in ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all_single"):
        operator = getattr(torch.ops.chorus, name).default
        torch.library.opcheck(operator, (torch.ones(2 * N, 3),), test_utils=tests)


def test_bad__tensors__are_named():
    for error, text, bad in [
            (chorus.DtypeError, "operator xor does not take dtype float32; it takes int8",
             lambda: ct.all_reduce(torch.ones(3), "xor")),
            (chorus.DtypeError, "operator sum does not take dtype bool",
             lambda: ct.all_reduce(torch.ones(3, dtype=torch.bool))),
            (chorus.DtypeError, "dtype float8_e4m3fn is none that Chorus has",
             lambda: ct.all_reduce(torch.ones(3).to(torch.float8_e4m3fn))),
            (chorus.ArgumentError, "expected a first dimension that the group's",
             lambda: ct.reduce_scatter(torch.ones(()))),
            (chorus.ArgumentError, "input_split_sizes is .* expected",
             lambda: ct.all_to_all_single(torch.ones(3), [1] * (N + 1), [1] * (N + 1))),
            (chorus.ArgumentError, "expected both or neither",
             lambda: ct.all_to_all_single(torch.ones(N), [1] * N)),
    ]:
        with pytest.raises(error, match=text):
            bad()
    with pytest.raises(chorus.ArgumentError, match="dest is on meta; expected a tensor on the CPU"):
        chorus.reduce(torch.ones(3, device="meta"))
    with pytest.raises(chorus.ArgumentError, match="dest is not contiguous: its strides are"):
        chorus.reduce(torch.ones(3, 2).t())


def test_empty__symmetric__is_shared():
    tensor = ct.empty((4, 2), torch.bfloat16)
    tensor.fill_(ME)
    chorus.barrier()
    assert ct.all_reduce(tensor)[0, 0].item() == sum(range(N))
    address = tensor.data_ptr()
    del tensor
    chorus.collect_garbage()
    assert ct.empty((4, 2), torch.bfloat16).data_ptr() == address


def test_fork__after_a_call__is_no_pe():
    """The child has the functions that were looked up before."""
    x = mine(4)
    ct.all_reduce(x)
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            ct.all_reduce(x)
        except chorus.Error as why:
            status = 0 if "in a child that the PE forked" in str(why) and why.status == "ERR_STATE" else 2
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0
    assert torch.allclose(ct.all_reduce(x), everyones(4).sum(0), atol=1e-5)


def test_all_reduce__lazily_conjugated_or_negated__is_of_the_values():
    x = torch.complex(mine(3), mine(3) + 1)
    expected = torch.complex(everyones(3), everyones(3) + 1).sum(0)
    assert torch.allclose(ct.all_reduce(x.conj()), expected.conj(), atol=1e-5)
    assert torch.allclose(ct.all_reduce(x.conj().imag), -expected.imag, atol=1e-5)


def test_all_reduce__of_a_shape_that_was_called__is_still_observed():
    """Later calls go a shorter way, but not past those that watch."""
    x = mine(3, 2)
    total = ct.all_reduce(x)
    seen = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
            seen.append(str(operator))
            return operator(*args, **(kwargs or {}))

    with Watch():
        assert torch.equal(ct.all_reduce(x), total)
    assert "chorus.all_reduce.default" in seen
    assert torch.equal(torch.func.functionalize(ct.all_reduce)(x), total)
    assert torch.equal(ct.all_reduce(torch._neg_view(x)), -total)
    y = x.clone().requires_grad_()
    assert ct.all_reduce(y).requires_grad
    with torch.no_grad():
        assert torch.equal(ct.all_reduce(y), total)
    with pytest.raises(chorus.ArgumentError, match="is on meta; expected a tensor on the CPU"):
        ct.all_reduce(torch.ones(3, 2, device="meta"))
