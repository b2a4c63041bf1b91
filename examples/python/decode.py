# SPDX-License-Identifier: Apache-2.0
"""
The decode step of a small transformer, tensor-parallel over all PEs: each has some heads and a part of
the MLP, and two reductions a layer add up what they made. On GPUs, in bfloat16 and in a CUDA graph.

    torchrun --nproc-per-node 2 examples/python/decode.py

Its logits are compared with those that torch.distributed's reductions give (NCCL; Gloo on a host).
"""
import gc
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F

import chorus
import chorus.torch as ct


def norm(x):
    return F.rms_norm(x, x.shape[-1:])


class Decoder:
    """One PE's part. `all_reduce` adds up a tensor over PEs; a step is made for `batch` tokens at once."""

    def __init__(self, me, n, all_reduce, device, dtype, *, batch=4, hidden=256, heads=8, layers=2,
                 positions=32, vocabulary=64):
        self.all_reduce, self.heads, self.width = all_reduce, heads // n, hidden // heads
        self.positions = positions
        part = hidden // n

        def weight(rows, columns, seed):
            made = torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))
            return made.mul_(rows ** -0.5)

        def mine(whole, dim):
            return whole.chunk(n, dim)[me].contiguous().to(device, dtype)

        self.embedding = weight(vocabulary, hidden, 0).mul_(8).to(device, dtype)
        self.layers = []
        for layer in range(layers):
            seeds = range(6 * layer + 1, 6 * layer + 7)
            self.layers.append([mine(weight(hidden, hidden, seed), 1) for seed in seeds[:3]]
                               + [mine(weight(hidden, hidden, seeds[3]), 0),
                                  mine(weight(hidden, 4 * hidden, seeds[4]), 1),
                                  mine(weight(4 * hidden, hidden, seeds[5]), 0)])
        shape = (layers, 2, batch, self.heads, positions, self.width)
        self.cache = torch.zeros(shape, device=device, dtype=dtype)
        self.at = torch.zeros(1, dtype=torch.int64, device=device)
        self.numbers = torch.arange(positions, device=device)
        self.tokens = torch.zeros(batch, dtype=torch.int64, device=device)
        assert part == self.heads * self.width

    def attention(self, x, cache, query, key, value, out):
        batch = x.shape[0]
        q, k, v = ((x @ w).view(batch, self.heads, 1, self.width) for w in (query, key, value))
        cache[0].index_copy_(2, self.at, k)
        cache[1].index_copy_(2, self.at, v)
        seen = (self.numbers <= self.at).view(1, 1, 1, -1)
        mixed = F.scaled_dot_product_attention(q, cache[0], cache[1], attn_mask=seen)
        return self.all_reduce(mixed.reshape(batch, -1) @ out)

    def step(self):
        """Logits of what follows self.tokens at position self.at; the next tokens take their place."""
        x = self.embedding[self.tokens]
        for cache, (query, key, value, out, up, down) in zip(self.cache, self.layers):
            x = x + self.attention(norm(x), cache, query, key, value, out)
            x = x + self.all_reduce(F.silu(norm(x) @ up) @ down)
        logits = norm(x) @ self.embedding.t()
        self.tokens.copy_(logits.argmax(-1))
        self.at.add_(1).remainder_(self.positions)
        return logits


def captured(decoder):
    """The step as a CUDA graph: a call replays it and gives the logits, which the next one overwrites."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            decoder.step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        logits = decoder.step()
    decoder.cache.zero_()
    decoder.at.zero_()
    decoder.tokens.zero_()

    def replay():
        graph.replay()
        return logits

    return replay


def by_distributed(tensor):
    dist.all_reduce(tensor)
    return tensor


def main():
    on_gpu = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpu else torch.device("cpu")
    dtype = torch.bfloat16 if on_gpu else torch.float32
    if on_gpu:
        torch.cuda.set_device(device)
    chorus.init(heap="cuda" if on_gpu else "host")
    dist.init_process_group("nccl" if on_gpu else "gloo", device_id=device if on_gpu else None)
    me, n = chorus.my_pe(), chorus.n_pes()
    ours, theirs = (Decoder(me, n, sum_up, device, dtype) for sum_up in (ct.all_reduce, by_distributed))
    step, reference = (captured(ours), captured(theirs)) if on_gpu else (ours.step, theirs.step)
    furthest = 0.0
    for _ in range(24):
        theirs.tokens.copy_(ours.tokens)  # rounding may choose another of two equal tokens
        found, expected = step(), reference()
        furthest = max(furthest, (found.float() - expected.float()).abs().max().item())
    assert furthest < (1.0 if on_gpu else 1e-3), furthest
    assert ours.at.item() == 24 and ours.tokens.shape == (4,)
    if me == 0:
        print(f"{n} PEs on {device.type}{', in a CUDA graph' if on_gpu else ''}: 24 tokens, logits as "
              f"torch.distributed's within {furthest:.2g}")
    if on_gpu:
        torch.cuda.synchronize()
    del step, reference  # NCCL waits at its end for the graphs that its calls were captured in
    gc.collect()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
