# SPDX-License-Identifier: Apache-2.0
"""
The mean and the deviation of numbers that lie on many PEs, and a halo exchange, with NumPy.

    chorusrun -n 4 python examples/python/mean.py
"""
import numpy as np

import chorus


def mean_and_deviation(numbers):
    """Of all PEs' numbers together: sums of three values, combined by one call."""
    sums = chorus.empty(3, "float64")
    np.asarray(sums)[:] = len(numbers), numbers.sum(), (numbers ** 2).sum()
    count, total, squares = np.array(chorus.reduce(sums))
    return total / count, np.sqrt(squares / count - (total / count) ** 2)


def smooth(numbers, steps):
    """The mean of each number and its two neighbours, again and again; the ends of a PE's numbers have
    theirs on other PEs, in a ring."""
    me, n = chorus.my_pe(), chorus.n_pes()
    halo = chorus.zeros(len(numbers) + 2, "float64")
    arrived = chorus.zeros(2, "uint64")
    values = np.asarray(halo)
    values[1:-1] = numbers
    for step in range(1, steps + 1):
        chorus.put_signal(halo[-1:], values[1:2], arrived[0], step, (me - 1) % n)
        chorus.put_signal(halo[:1], values[-2:-1], arrived[1], step, (me + 1) % n)
        for i in range(2):
            chorus.signal_wait_until(arrived[i], ">=", step)
        values[1:-1] = (values[:-2] + values[1:-1] + values[2:]) / 3
        chorus.barrier()  # nobody puts the next values before all have used these
    return values[1:-1].copy()


def main():
    chorus.init(heap="host")
    me, n = chorus.my_pe(), chorus.n_pes()
    everyones = np.random.default_rng(7).normal(3.0, 2.0, 1000 * n)
    mine = everyones[1000 * me:1000 * (me + 1)]
    mean, deviation = mean_and_deviation(mine)
    assert np.isclose(mean, everyones.mean()) and np.isclose(deviation, everyones.std())
    expected = everyones
    for _ in range(10):
        expected = (np.roll(expected, 1) + expected + np.roll(expected, -1)) / 3
    assert np.allclose(smooth(mine, 10), expected[1000 * me:1000 * (me + 1)])
    if me == 0:
        print(f"{n} PEs: mean {mean:.3f}, deviation {deviation:.3f}")


if __name__ == "__main__":
    main()
