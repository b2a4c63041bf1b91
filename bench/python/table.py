# SPDX-License-Identifier: Apache-2.0
"""The rows of bench/python/run as tables in Markdown, and what an all-reduce adds as a plot.
usage: table.py FILE.csv [PLOT.svg]"""
import csv
import math
import sys
from pathlib import Path

COLOURS = ["#1b6ca8", "#63a7d1", "#0b3c5d", "#c0392b", "#e08e79", "#2e8b57", "#9acd7f"]
LEFT, TOP, WIDTH, HEIGHT = 60, 20, 520, 300


def rows_of(path):
    lines = [line for line in Path(path).read_text(encoding="ascii").splitlines() if line[:1] != "#"]
    return list(csv.DictReader(lines))


def table(rows, what, unit):
    mine = [row for row in rows if row["what"] == what]
    peers = list(dict.fromkeys(row["peer"] for row in mine))
    batches = sorted({int(row["batch"]) for row in mine})
    values = {(row["peer"], int(row["batch"])): row["value"] + ("" if row["correct"] != "False" else " WRONG")
              for row in mine}
    lines = [f"{what}, {unit}", "", "| batch | " + " | ".join(peers) + " |",
             "|---:" * (len(peers) + 1) + "|"]
    lines += ["| " + " | ".join([str(batch)] + [values.get((peer, batch), "-") for peer in peers]) + " |"
              for batch in batches]
    return "\n".join(lines) + "\n"


def plot(rows):
    """Batch to the right, us upwards, both by powers of two."""
    mine = [row for row in rows if row["what"] == "added" and float(row["value"]) > 0]
    peers = list(dict.fromkeys(row["peer"] for row in mine))
    batches = sorted({int(row["batch"]) for row in mine})
    values = [math.log2(float(row["value"])) for row in mine]
    lo, hi = math.floor(min(values)), math.ceil(max(values))
    span = max(math.log2(batches[-1] / batches[0]), 1)

    def x(batch):
        return LEFT + WIDTH * math.log2(batch / batches[0]) / span

    def y(power):
        return TOP + HEIGHT * (hi - power) / (hi - lo)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 160}" '
           f'height="{TOP + HEIGHT + 50}" font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>']
    for power in range(lo, hi + 1):
        out.append(f'<path d="M{LEFT} {y(power):.1f}h{WIDTH}" stroke="#ddd"/><text x="{LEFT - 8}" '
                   f'y="{y(power) + 4:.1f}" text-anchor="end">{2 ** power:g} us</text>')
    for batch in batches:
        out.append(f'<text x="{x(batch):.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle">{batch}</text>')
    out.append(f'<text x="{LEFT + WIDTH / 2}" y="{TOP + HEIGHT + 40}" text-anchor="middle">batch; what one '
               'all-reduce of batch x 8192 bf16 adds to a CUDA graph</text>')
    for i, peer in enumerate(peers):
        colour = COLOURS[i % len(COLOURS)]
        points = " ".join(f"{x(int(row['batch'])):.1f},{y(math.log2(float(row['value']))):.1f}"
                          for row in mine if row["peer"] == peer)
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out.append(f'<text x="{LEFT + WIDTH + 10}" y="{TOP + 16 * i + 12}" fill="{colour}">{peer}</text>')
    return "\n".join(out + ["</svg>"]) + "\n"


def main():
    rows = rows_of(sys.argv[1])
    print(table(rows, "added", "us for each all-reduce in a CUDA graph"))
    print(table(rows, "host", "us of the host for a call that is queued"))
    print(table(rows, "decode", "tokens a second"))
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text(plot(rows), encoding="ascii")
    wrong = [row for row in rows if row["correct"] == "False"]
    return f"{len(wrong)} results are wrong" if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
