# SPDX-License-Identifier: Apache-2.0
"""
Three ways to train on several PEs with PyTorch, each checked against torch.distributed: a
tensor-parallel MLP, data-parallel training with gradient buckets, expert-parallel rows.

    torchrun --nproc-per-node 2 examples/python/parallel.py

On GPUs it runs on them, beside NCCL; elsewhere on the host, beside Gloo.
"""
import os

import torch
import torch.distributed as dist
from torch import nn

import chorus
import chorus.torch as ct


def random(*shape, seed, device):
    """The same on every PE."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(device)


def sum_by_distributed(tensor):
    total = tensor.clone()
    dist.all_reduce(total)
    return total


def tensor_parallel_mlp(me, n, device):
    """Columns of the first matrix and rows of the second lie on each PE; one reduction adds up."""
    hidden, inner, batch = 64, 128, 8
    first, second = (random(hidden, inner, seed=1, device=device) / 8,
                     random(inner, hidden, seed=2, device=device) / 11)
    x = random(batch, hidden, seed=3, device=device)
    columns, rows = first.chunk(n, 1)[me].clone(), second.chunk(n, 0)[me].clone()
    columns.requires_grad_()
    partial = torch.relu(x @ columns) @ rows
    y = ct.all_reduce(partial)
    assert torch.allclose(y, sum_by_distributed(partial.detach()), atol=1e-5)
    assert torch.allclose(y, torch.relu(x @ first) @ second, atol=1e-4)
    y.square().mean().backward()
    assert columns.grad.isfinite().all()


def data_parallel_training(me, n, device):
    """Each PE has a part of the batch. Gradients of several parameters are one bucket, reduced by one
    call."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 1)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x = random(32 * n, 16, seed=4, device=device)
    target = (x[:, :4].sum(1, keepdim=True) / 2).tanh()
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        part = slice(32 * me, 32 * (me + 1))
        loss = (model(x[part]) - target[part]).square().mean()
        loss.backward()
        gradients = [parameter.grad for parameter in model.parameters()]
        bucket = torch.cat([gradient.reshape(-1) for gradient in gradients])
        total = ct.all_reduce(bucket)
        assert torch.allclose(total, sum_by_distributed(bucket), atol=1e-6)
        for gradient, mean in zip(gradients, (total / n).split([g.numel() for g in gradients])):
            gradient.copy_(mean.view_as(gradient))
        optimizer.step()
        losses.append(ct.all_reduce(loss.detach()).item() / n)
    assert losses[-1] < losses[0] / 2
    return losses


def expert_parallel(me, n, device):
    """Rows go to the PE that has their expert, and back."""
    x = random(12, 8, seed=10 + me, device=device)
    expert = torch.arange(12) * (me + 1) % n
    order = expert.argsort(stable=True)
    counts = torch.bincount(expert, minlength=n)
    arriving = ct.all_to_all_single(counts.to(device)).tolist()
    counts = counts.tolist()
    rows = ct.all_to_all_single(x[order].contiguous(), arriving, counts)
    same = torch.empty_like(rows)
    dist.all_to_all_single(same, x[order].contiguous(), arriving, counts)
    assert torch.equal(rows, same)
    back = ct.all_to_all_single(rows * (me + 1), counts, arriving)
    scale = (expert[order] + 1).to(device)[:, None]
    assert torch.allclose(back, x[order] * scale)


def main():
    on_gpu = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(device)
    chorus.init(heap="cuda" if on_gpu else "host")
    dist.init_process_group("nccl" if on_gpu else "gloo")
    me, n = chorus.my_pe(), chorus.n_pes()
    tensor_parallel_mlp(me, n, device)
    losses = data_parallel_training(me, n, device)
    expert_parallel(me, n, device)
    if me == 0:
        print(f"{n} PEs on {device.type}: as torch.distributed; loss {losses[0]:.3f} to {losses[-1]:.3f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
