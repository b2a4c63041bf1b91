# SPDX-License-Identifier: Apache-2.0
"""
What an all-reduce between GEMMs of a decode step costs, by each library that PyTorch can call, and how
many tokens a second a small transformer makes. One process of bench/python/run on each GPU.

usage: measure.py OUTPUT.csv [BATCH...]

A step is `LAYERS` products of a batch of rows with a matrix, a CUDA graph. What an all-reduce adds is the
time of the graph with one behind each product, less the time without, by LAYERS. Ways are timed in turn,
ROUNDS times; a way's time is its median, of the slowest PE.
"""
import os
import statistics
import sys
import time
from datetime import date
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem

import chorus
import chorus.torch as ct

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "python"))
from decode import Decoder, captured  # noqa: E402 once it is found

HIDDEN, LAYERS, ROUNDS, REPLAYS, EAGER_CALLS = 8192, 12, 9, 5, 200
BATCHES = [1, 2, 4, 8, 16, 32, 64, 128, 256]
DTYPE = torch.bfloat16


class Ways:
    """For each way, what makes the result of a product and adds it up: (rows, matrix, layer) to rows."""

    def __init__(self, device, batch):
        self.group, self.missing = dist.group.WORLD, {}
        self.found = {"none": self.none, "chorus": self.chorus, "nccl": self.nccl}
        with ct.pool():
            self.pooled, self.sums = torch.empty(2, batch, HIDDEN, device=device, dtype=DTYPE)
        self.found["chorus_symmetric"] = self.chorus_symmetric
        self.found["chorus_c"] = self.chorus_c
        self.add("nccl_windows", self.make_windows, device, batch)
        self.add("symm_one_shot", self.make_symmetric, device, batch)
        if "symm_one_shot" in self.found:
            self.found["symm_two_shot"] = self.two_shot

    def add(self, name, make, device, batch):
        try:
            self.found[name] = make(device, batch)
        except Exception as why:  # noqa: BLE001 of whatever version of PyTorch is here
            self.missing[name] = f"{type(why).__name__}: {str(why).splitlines()[0]}"

    def none(self, x, w):
        return torch.mm(x, w)

    def chorus(self, x, w):
        return ct.all_reduce(torch.mm(x, w))

    def chorus_symmetric(self, x, w):
        torch.mm(x, w, out=self.pooled)
        return chorus.reduce(self.sums, self.pooled, stream=torch.cuda.current_stream())

    def chorus_c(self, x, w):
        """The C call on ordinary memory, with nothing of this package but the call."""
        y = torch.mm(x, w)
        code = c_call(0, y.data_ptr(), y.data_ptr(), y.numel(), torch.cuda.current_stream().cuda_stream)
        assert code == 0, code
        return y

    def nccl(self, x, w):
        y = torch.mm(x, w)
        dist.all_reduce(y)
        return y

    def make_windows(self, device, batch):
        backend = self.group._get_backend(device)
        pool = torch.cuda.MemPool(backend.mem_allocator)
        with torch.cuda.use_mem_pool(pool):
            buffers = torch.empty(2, batch, HIDDEN, device=device, dtype=DTYPE)
        backend.register_mem_pool(pool, symm=True)
        self.window_pool = pool

        def windows(x, w):
            y = other_than(x, buffers)
            torch.mm(x, w, out=y)
            dist.all_reduce(y)
            return y
        return windows

    def make_symmetric(self, device, batch):
        self.buffers = [symm_mem.empty(batch, HIDDEN, device=device, dtype=DTYPE) for _ in range(2)]
        for buffer in self.buffers:
            symm_mem.rendezvous(buffer, self.group.group_name)

        def one_shot(x, w):
            y = other_than(x, self.buffers)
            torch.mm(x, w, out=y)
            return torch.ops.symm_mem.one_shot_all_reduce(y, "sum", self.group.group_name)
        return one_shot

    def two_shot(self, x, w):
        y = other_than(x, self.buffers)
        torch.mm(x, w, out=y)
        return torch.ops.symm_mem.two_shot_all_reduce_(y, "sum", self.group.group_name)


def other_than(x, buffers):
    """The one of two that a product of x may be written into."""
    return buffers[buffers[0].data_ptr() == x.data_ptr()]


def find_c_call():
    import ctypes
    from chorus._library import lib
    call = lib["chorusx_bfloat16_sum_reduce_on_stream"]
    call.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    return call


def graph_of(way, x, weights):
    def step():
        y = x
        for w in weights:
            y = way(y, w)
        return y

    for _ in range(2):
        step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = step()
    graph.out = out
    return graph


def timed(replay, times):
    torch.cuda.synchronize()
    dist.barrier()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    replay()
    begin.record()
    for _ in range(times):
        replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1000 / times


def slowest(values, device):
    most = torch.tensor(values, device=device, dtype=torch.float64)
    dist.all_reduce(most, dist.ReduceOp.MAX)
    return most.tolist()


def measure_batch(batch, weights, device):
    """What each way adds for each all-reduce, in us; its result is compared with NCCL's."""
    made = torch.Generator(device).manual_seed(batch)
    x = torch.randn(batch, HIDDEN, generator=made, device=device, dtype=DTYPE)
    ways = Ways(device, batch)
    graphs = {}
    for name, way in ways.found.items():
        try:
            graphs[name] = graph_of(way, x, weights)
        except Exception as why:  # noqa: BLE001 one way fails alone
            ways.missing[name] = f"{type(why).__name__}: {str(why).splitlines()[0]}"
            torch.cuda.synchronize()
    times = {name: [] for name in graphs}
    for _ in range(ROUNDS):
        for name, graph in graphs.items():
            times[name].append(timed(graph.replay, REPLAYS))
    expected = graphs["nccl"].out.float()
    right = {name: torch.allclose(graph.out.float(), expected, rtol=0.1, atol=0.1 * expected.std().item())
             for name, graph in graphs.items() if name != "none"}
    medians = slowest([statistics.median(times[name]) for name in graphs], device)
    bare = dict(zip(graphs, medians))["none"]
    added = {name: (median - bare) / LAYERS for name, median in zip(graphs, medians)}
    return added, right, ways.missing


def measure_eager(device):
    """Host time of a call that is queued, in us: of 16 KiB, no autograd."""
    x = torch.ones(8192, device=device, dtype=DTYPE)
    calls = {"chorus": lambda: ct.all_reduce(x), "nccl": lambda: dist.all_reduce(x),
             "chorus_operator": lambda: torch.ops.chorus.all_reduce(x),
             "chorus_c": lambda: c_call(0, x.data_ptr(), x.data_ptr(), 8192, stream),
             "empty_like": lambda: torch.empty_like(x)}
    stream = torch.cuda.current_stream().cuda_stream
    costs = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            torch.cuda.synchronize()
            dist.barrier()
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(EAGER_CALLS):
                call()
            costs[name].append((time.perf_counter() - begin) * 1e6 / EAGER_CALLS)
    return dict(zip(calls, slowest([statistics.median(costs[name]) for name in calls], device)))


def measure_decode(batch, device):
    """Tokens a second of a small transformer's decode step, by who adds up."""
    def nccl(tensor):
        dist.all_reduce(tensor)
        return tensor

    steps, speeds = {}, {}
    for name, sum_up in (("chorus", ct.all_reduce), ("nccl", nccl), ("none", lambda tensor: tensor)):
        decoder = Decoder(chorus.my_pe(), chorus.n_pes(), sum_up, device, DTYPE, batch=batch,
                          hidden=2048, heads=16, layers=8, positions=256, vocabulary=1024)
        steps[name] = captured(decoder), decoder
    times = {name: [] for name in steps}
    for _ in range(ROUNDS):
        for name, (step, _) in steps.items():
            times[name].append(timed(step, REPLAYS))
    medians = slowest([statistics.median(times[name]) for name in steps], device)
    for name, median in zip(steps, medians):
        speeds[name] = batch / median * 1e6
    return speeds


def main():
    global c_call
    batches = [int(b) for b in sys.argv[2:]] or BATCHES
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    chorus.init(heap="cuda", device=device.index)
    dist.init_process_group("nccl", device_id=device)
    me, n = chorus.my_pe(), chorus.n_pes()
    c_call = find_c_call()
    lines = [f"# program: bench/python/run, PyTorch {torch.__version__}, NCCL "
             f"{'.'.join(map(str, torch.cuda.nccl.version()))}, bf16, sum",
             f"# machine: {n} x {torch.cuda.get_device_name()}, no multicast",
             f"# layers: {LAYERS} products of [batch, {HIDDEN}] and [{HIDDEN}, {HIDDEN}] in a CUDA graph",
             f"# time: median of {ROUNDS} rounds of {REPLAYS} replays, slowest PE", f"# date: {date.today()}",
             "what,peer,batch,bytes,value,unit,correct"]
    torch.manual_seed(me)
    weights = [torch.randn(HIDDEN, HIDDEN, device=device, dtype=DTYPE) * (HIDDEN * n) ** -0.5
               for _ in range(LAYERS)]
    untold = {}
    for batch in batches:
        added, right, missing = measure_batch(batch, weights, device)
        untold.update(missing)
        lines += [f"added,{name},{batch},{2 * batch * HIDDEN},{us:.2f},us,{right[name]}"
                  for name, us in added.items() if name != "none"]
    del weights
    lines += [f"host,{name},1,16384,{us:.2f},us," for name, us in measure_eager(device).items()]
    for batch in (1, 16, 128):
        lines += [f"decode,{name},{batch},{2 * batch * 2048},{speed:.0f},tokens_per_s,"
                  for name, speed in measure_decode(batch, device).items()]
    lines += [f"# not here: {name}: {why}" for name, why in untold.items()]
    if me == 0:
        Path(sys.argv[1]).write_text("\n".join(lines) + "\n", encoding="ascii", errors="replace")
    dist.barrier()
    torch.cuda.synchronize()
    sys.stdout.flush()
    os._exit(0)  # symmetric memory of PyTorch has no order in which it and NCCL end


if __name__ == "__main__":
    main()
