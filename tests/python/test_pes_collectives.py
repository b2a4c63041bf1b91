# SPDX-License-Identifier: Apache-2.0
"""Every collective from Python, against NumPy."""
import numpy as np
import pytest

import chorus

ME, N = None, None


@pytest.fixture(autouse=True)
def who():
    global ME, N
    ME, N = chorus.my_pe(), chorus.n_pes()


def symmetric(values, dtype="int64"):
    """A symmetric array with this PE's values."""
    values = np.asarray(values, dtype=dtype)
    array = chorus.empty(values.shape, dtype)
    np.asarray(array)[...] = values
    return array


def of(pe, count=5):
    return np.arange(count) * 10 + pe


def seen(array):
    return np.array(array)


def test_reduce__every_operator__is_numpy_s():
    everyones = np.array([of(p) for p in range(N)])
    for op, function in {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum,
                         "and": np.bitwise_and, "or": np.bitwise_or,
                         "xor": np.bitwise_xor}.items():
        dest = symmetric(-np.ones(5))
        assert chorus.reduce(dest, symmetric(of(ME)), op) is dest
        assert (seen(dest) == function.reduce(everyones)).all()


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float16", "float32", "float64", "complex64",
                                   "longdouble"])
def test_reduce__in_place_of_each_type__is_the_sum(dtype):
    array = symmetric(np.ones(7) * (ME + 1), dtype)
    chorus.reduce(array)
    assert (seen(array) == N * (N + 1) // 2).all()


def test_reduce__bfloat16__is_the_sum():
    array = chorus.full(3, ME + 0.5, "bfloat16")
    chorus.reduce(array)
    chorus.barrier()
    assert array[1].item() == sum(p + 0.5 for p in range(N))


def test_all__of_numpy_s_own_memory__are_served():
    source, dest = np.arange(2000 * N) + ME, np.zeros(2000 * N, "int64")
    assert chorus.reduce(dest, source) is dest
    assert (dest == N * np.arange(2000 * N) + sum(range(N))).all()
    chorus.alltoall(dest, source)
    assert (dest.reshape(N, 2000) == source.reshape(N, 2000)[ME] - ME + np.arange(N)[:, None]).all()
    chorus.reducescatter(dest[:2000], source)
    chorus.fcollect(dest, dest[2000 * ME:2000 * (ME + 1)] if N == 1 else dest[:2000].copy())
    assert (dest == N * np.arange(2000 * N) + sum(range(N))).all()
    chorus.broadcast(source, root=N - 1)
    assert (source == np.arange(2000 * N) + N - 1).all()
    source[:] = np.arange(2000 * N) + 7 * ME
    uneven = -np.ones(N * (N + 1) // 2, "int64")
    chorus.collect(uneven, source[:ME + 1])
    assert (uneven == np.concatenate([np.arange(p + 1) + 7 * p for p in range(N)])).all()
    counts, offsets = [ME + p for p in range(N)], [2000 * p for p in range(N)]
    dest[:] = -1
    chorus.alltoallv(dest, counts, offsets, source, counts, offsets)
    for p in range(N):
        block = dest[2000 * p:2000 * p + ME + p + 1]
        assert (block[:-1] == np.arange(ME + p) + 2000 * ME + 7 * p).all() and block[-1] == -1


def test_broadcast__from_last__is_everywhere():
    dest = symmetric(-np.ones(5))
    chorus.broadcast(dest, symmetric(of(ME)), root=N - 1)
    assert (seen(dest) == of(N - 1)).all()


def test_broadcast__of_bools__moves_them():
    flags = chorus.full(9, ME == 0, "bool")
    chorus.broadcast(flags)
    assert seen(flags).dtype == bool and seen(flags).all()


def test_fcollect_and_collect__blocks__stand_in_order():
    dest = symmetric(-np.ones((N, 5)))
    chorus.fcollect(dest, symmetric(of(ME)))
    assert (seen(dest) == [of(p) for p in range(N)]).all()
    chorus.fcollect(dest, dest[ME])
    assert (seen(dest) == [of(p) for p in range(N)]).all()
    uneven = symmetric(-np.ones(N * (N + 1) // 2))
    mine = symmetric(of(ME, N))
    chorus.collect(uneven, mine[:ME + 1])
    assert (seen(uneven) == np.concatenate([of(p, p + 1) for p in range(N)])).all()


def test_alltoall__all_forms__exchange_blocks():
    source = symmetric(np.arange(2 * N) + 100 * ME)
    expected = np.concatenate([np.arange(2 * ME, 2 * ME + 2) + 100 * p for p in range(N)])
    dest = symmetric(-np.ones(2 * N))
    chorus.alltoall(dest, source)
    assert (seen(dest) == expected).all()
    counts, offsets = [2] * N, [2 * p for p in range(N)]
    uneven = symmetric(-np.ones(2 * N))
    chorus.alltoallv(uneven, counts, offsets, source, counts, offsets)
    assert (seen(uneven) == expected).all()
    apart = symmetric(-np.ones(4 * N))
    chorus.alltoalls(apart, source, 2, 1, 2)
    assert (seen(apart)[::2] == expected).all() and (seen(apart)[1::2] == -1).all()


def test_reducescatter__sum__is_a_block():
    source = symmetric(np.arange(3 * N) * (ME + 1))
    dest = symmetric(-np.ones(3))
    chorus.reducescatter(dest, source)
    assert (seen(dest) == np.arange(3 * ME, 3 * ME + 3) * (N * (N + 1) // 2)).all()


def test_rooted__gather_scatter_reduce_to__serve_root():
    root = N - 1
    blocks = symmetric(-np.ones((N, 5)))
    chorus.gather(blocks, symmetric(of(ME)), root)
    if ME == root:
        assert (seen(blocks) == [of(p) for p in range(N)]).all()
    chorus.barrier()
    mine = symmetric(-np.ones(5))
    chorus.scatter(mine, blocks, root)
    assert (seen(mine) == of(ME)).all()
    total = symmetric(-np.ones(5))
    chorus.reduce_to(total, mine, "max", root)
    assert ME != root or (seen(total) == of(N - 1)).all()


def test_scans__with_and_without_own__are_prefix_sums():
    sums = symmetric(np.full(3, ME + 1))
    before = symmetric(-np.ones(3))
    chorus.exscan(before, sums)
    chorus.inscan(sums)
    assert (seen(before) == ME * (ME + 1) // 2).all()
    assert (seen(sums) == (ME + 1) * (ME + 2) // 2).all()


def test_stream__queued_calls__run_in_order():
    with chorus.Stream() as stream:
        array = symmetric(np.ones(4))
        for _ in range(3):
            chorus.reduce(array, stream=stream)
        chorus.barrier(stream=stream)
        stream.synchronize()
        assert (seen(array) == N ** 3).all()


def test_stream__array_goes_before_the_call_ran__is_kept():
    with chorus.Stream() as stream:
        for i in range(20):
            chorus.reduce(symmetric(np.full(1000, i)), stream=stream)


def test_split_color__pes_of_a_colour__are_in_the_order_of_their_keys():
    half = chorus.WORLD.split_color(ME % 2, -ME)
    assert half.n_pes == (N + 1 - ME % 2) // 2 and half.my_pe == half.n_pes - 1 - ME // 2
    half.destroy()
    assert chorus.WORLD.split_color(-1) is None


def test_team__split_and_destroyed__then_refused():
    evens = chorus.WORLD.split(0, 2, (N + 1) // 2)
    assert (evens is None) == (ME % 2 == 1)
    array = symmetric([ME])
    if evens is not None:
        assert (evens.my_pe, evens.n_pes) == (ME // 2, (N + 1) // 2)
        assert evens.translate(0, chorus.WORLD) == 0
        chorus.reduce(array, team=evens)
        assert seen(array)[0] == sum(range(0, N, 2))
        evens.destroy()
        with pytest.raises(chorus.ArgumentError, match="destroyed"):
            chorus.reduce(array, team=evens)
        with pytest.raises(chorus.ArgumentError):
            evens.n_pes
    reverse = chorus.WORLD.create(range(N - 1, -1, -1))
    assert reverse.my_pe == N - 1 - ME
    reverse.destroy()


def test_explain__reduce__names_the_rule():
    plan = chorus.explain("reduce", 1024, "float32")
    assert plan.ctas >= 1 and ":" in plan.rule
    with pytest.raises(chorus.ArgumentError, match="coll is 'allreduce'; expected one of barrier"):
        chorus.explain("allreduce")
    one, two = np.zeros(1 << 18), np.zeros(1 << 18)
    elsewhere = chorus.explain("reduce", dest=one, source=two)
    assert N == 1 or "elsewhere.yaml:" in elsewhere.rule
    symmetric_ = chorus.explain("reduce", dest=symmetric(one), source=symmetric(two))
    assert symmetric_ == chorus.explain("reduce", one.nbytes, "float64")
    with pytest.raises(chorus.ArgumentError, match="arrays do not tell all of alltoallv"):
        chorus.explain("alltoallv", dest=one, source=two)


def test_bad__counts_types_and_places__are_named():
    ints, floats = symmetric(np.ones(4)), symmetric(np.ones(4), "float32")
    for error, text, bad in [
            (chorus.DtypeError, "dest is of dtype int64, source of float32",
             lambda: chorus.reduce(ints, floats)),
            (chorus.DtypeError, "operator xor does not take dtype float32; it takes int8",
             lambda: chorus.reduce(floats, op="xor")),
            (chorus.ArgumentError, "op is 'mean'; expected one of and, or",
             lambda: chorus.reduce(floats, op="mean")),
            (chorus.ArgumentError, "source has 2 elements; expected 4",
             lambda: chorus.reduce(ints, ints[:2])),
            (chorus.ArgumentError, "dest has 4 elements; expected",
             lambda: chorus.fcollect(ints, symmetric(np.ones(7)))),
            (chorus.ArgumentError, "root is 99; expected a PE of the team",
             lambda: chorus.broadcast(ints, root=99)),
            (chorus.ArgumentError, "dest is a list", lambda: chorus.reduce([1], ints)),
            (chorus.ArgumentError, "team is a int", lambda: chorus.reduce(ints, team=0)),
            (chorus.ArgumentError, "stream is a str", lambda: chorus.reduce(ints, stream="s")),
            (chorus.ArgumentError, "stream is one of CUDA", lambda: chorus.reduce(ints, stream=7)),
            (chorus.ArgumentError, "dest is not contiguous",
             lambda: chorus.reduce(np.asarray(ints)[::2], ints[:2])),
            (chorus.DtypeError, "elements of type", lambda: chorus.reduce(np.zeros(4, "S3"), ints)),
            (chorus.DtypeError, "dtype float8 is none that Chorus has",
             lambda: chorus.empty(3, "float8")),
            (chorus.ArgumentError, r"shape is \(-1,\)", lambda: chorus.empty(-1)),
    ]:
        with pytest.raises(error, match=text):
            bad()
    read_only = np.asarray(ints).view()
    read_only.flags.writeable = False
    with pytest.raises(chorus.ArgumentError, match="dest is read-only"):
        chorus.reduce(read_only, ints)
    chorus.barrier()
