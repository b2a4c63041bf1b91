# SPDX-License-Identifier: Apache-2.0
"""Symmetric arrays, their end, and calls of one PE on another's."""
import gc
import threading

import numpy as np
import pytest

import chorus

ME, N = None, None


@pytest.fixture(autouse=True)
def who():
    global ME, N
    ME, N = chorus.my_pe(), chorus.n_pes()


def blocks():
    gc.collect()
    chorus.collect_garbage()
    return chorus.heap_info().blocks


def test_array__seen_by_numpy__is_the_same_memory():
    array = chorus.full((2, 3), 2.5, np.float32)
    view = np.asarray(array)
    assert view.shape == (2, 3) and view.dtype == np.float32 and (view == 2.5).all()
    view[1, 2] = 7
    assert array[1][2].item() == 7.0
    shared = np.from_dlpack(array.reshape(6)[3:])
    assert (shared == [2.5, 2.5, 7]).all()
    array.fill(1)
    assert (view == 1).all() and (shared == 1).all()
    assert (array.nbytes, array.size, len(array), array.ndim, array.itemsize) == (24, 6, 2, 2, 4)
    assert "shape (2, 3), dtype float32" in repr(array)
    with pytest.raises(chorus.ArgumentError, match="not contiguous"):
        array[::2]
    with pytest.raises(IndexError):
        array[2]


def test_array__bfloat16__goes_by_dlpack_alone():
    array = chorus.full(2, 1.5, "bfloat16")
    assert array.__dlpack_device__() == (1, 0)
    assert array.__dlpack__() is not None  # nobody takes it
    with pytest.raises(AttributeError, match="use DLPack"):
        array.__array_interface__


def test_array__of_no_elements__can_be_used():
    empty = chorus.empty((0, 4), "int32")
    assert np.asarray(empty).shape == (0, 4)
    chorus.reduce(empty)
    empty.free()


def test_collected__on_some_pes__lives_until_all_have():
    before = blocks()
    array = chorus.empty(1000, "uint8")
    view = np.asarray(array)
    if ME == N - 1:
        array = None  # but a view is left
    assert blocks() == before + 1
    view[:] = ME
    array = view = None
    assert blocks() == before


def test_collected__in_cycles_and_threads__never_waits_for_a_pe():
    before = blocks()

    def drop():
        for _ in range(50):
            ring = [made.pop()]
            ring.append(ring)

    made = [chorus.empty(64) for _ in range(50)]
    if ME % 2 == 0:  # the others drop theirs much later, in another order
        thread = threading.Thread(target=drop)
        thread.start()
        thread.join()
        gc.collect()
    chorus.barrier()
    made.reverse()
    made.clear()
    assert blocks() == before


def test_collected__more_than_a_round_compares__all_given_back():
    before = blocks()
    made = [chorus.empty(1, "uint8") for _ in range(600)]
    kept = made[ME::600]
    made.clear()
    assert blocks() == before + N
    kept.clear()
    assert blocks() == before


def test_freed__then_used__is_refused():
    array = chorus.zeros(4)
    part = array[1:]
    array.free()
    for use in (lambda: part.fill(1), lambda: np.asarray(array), lambda: chorus.reduce(part),
                array.free):
        with pytest.raises(chorus.Error, match="was freed"):
            use()
    chorus.barrier()


def test_heap__full__is_an_exception_everywhere():
    with pytest.raises(MemoryError, match="bytes"):
        chorus.empty(1 << 50, "uint8")
    assert chorus.heap_info().heap == "host"


def test_put_and_get__around_the_ring__arrive():
    right, left = (ME + 1) % N, (ME - 1) % N
    inbox, outbox = chorus.zeros(8, "int32"), np.arange(8, dtype="int32") + ME
    chorus.put(inbox, outbox, right)
    chorus.barrier()
    assert (np.asarray(inbox) == np.arange(8) + left).all()
    mine = np.zeros(8, "int32")
    assert (chorus.get(mine, inbox, right) == np.arange(8) + ME).all()
    chorus.barrier()
    chorus.put_nbi(inbox, outbox[:2], right)
    chorus.quiet()
    chorus.get_nbi(mine, inbox, ME)
    chorus.quiet()
    chorus.barrier()
    chorus.p(inbox[7], -5, right)
    chorus.barrier()
    assert chorus.g(inbox[7], right) == -5 and inbox[7].item() == -5
    with pytest.raises(chorus.ArgumentError, match=f"pe is {N}; expected 0 to {N - 1}"):
        chorus.put(inbox, outbox, N)
    with pytest.raises(chorus.Error, match="not in the symmetric heap"):
        chorus.put(outbox, outbox, right)
    with pytest.raises(chorus.ArgumentError, match="dest has 2 elements, fewer"):
        chorus.put(inbox[:2], outbox, right)
    chorus.barrier()


def test_signal__after_put__is_waited_for():
    right = (ME + 1) % N
    data, signal = chorus.zeros(100), chorus.zeros(2, "uint64")
    chorus.put_signal(data, np.full(100, ME, "float32"), signal[0], 3, right)
    assert chorus.signal_wait_until(signal[0], ">=", 3) == 3
    assert (np.asarray(data) == (ME - 1) % N).all()
    for pe in range(N):
        chorus.signal_add(signal[1], 2, pe)
    chorus.signal_wait_until(signal[1], "==", 2 * N)
    assert chorus.signal_fetch(signal[1]) == 2 * N
    chorus.barrier()
    chorus.signal_set(signal[1], 9, ME)
    assert signal[1].item() == 9
    with pytest.raises(chorus.DtypeError, match="signal_set does not take dtype float32"):
        chorus.signal_set(data[0], 1, 0)
    with pytest.raises(chorus.ArgumentError, match="comparison is '=>'; expected one of =="):
        chorus.signal_wait_until(signal[0], "=>", 1)
    chorus.barrier()


def test_waits__for_peers__end():
    words = chorus.zeros(N, "int32")
    for pe in range(N):
        chorus.p(words[ME], pe + 1, pe)
    chorus.wait_until_all(words, ">", 0)
    assert chorus.wait_until_any(words, ">", 0) in range(N)
    chorus.wait_until(words[0], "==", ME + 1)
    assert chorus.test(words[0], "==", ME + 1) and not chorus.test(words[0], "<", 0)
    chorus.barrier()


def test_atomics__of_all_pes__count():
    word, bits, real = chorus.zeros(1, "int64"), chorus.zeros(1, "uint32"), chorus.zeros(1)
    for _ in range(10):
        chorus.atomic_add(word, 2, 0)
        chorus.atomic_fetch_inc(word, 0)
    chorus.atomic_or(bits, 1 << ME, 0)
    chorus.barrier()
    assert chorus.atomic_fetch(word, 0) == 30 * N
    assert chorus.atomic_fetch_xor(bits, 0, 0) == (1 << N) - 1
    chorus.barrier()
    assert chorus.atomic_compare_swap(word, -1, 5, 0) == 30 * N
    chorus.atomic_set(real, 0.5, ME)
    assert chorus.atomic_swap(real, 2.0, ME) == 0.5 and chorus.atomic_fetch(real, ME) == 2.0
    with pytest.raises(chorus.DtypeError, match="atomic_add does not take dtype float32; it takes"):
        chorus.atomic_add(real, 1, 0)
    chorus.barrier()


def test_lock__held_by_each__guards():
    lock, count = chorus.zeros(1, "int64"), chorus.zeros(1, "int32")
    for _ in range(5):
        chorus.set_lock(lock)
        chorus.p(count, chorus.g(count, 0) + 1, 0)
        chorus.clear_lock(lock)
    chorus.barrier()
    assert chorus.g(count, 0) == 5 * N
    chorus.barrier()
