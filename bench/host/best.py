# SPDX-License-Identifier: Apache-2.0
"""The best algorithm of each call that bench/host/run measured, beside Open MPI's time.
usage: best.py DIR NAME"""
import csv
import re
import sys
from pathlib import Path


def rows_of(path):
    """Rows by column name, with the radix that the sweep's command asks for."""
    names, radix = None, ""
    for line in path.read_text(encoding="ascii").splitlines():
        cells = next(csv.reader([line]), [])
        if line.startswith("# command: "):
            asked = re.search(r"--radix[ =](\d+)", line)
            radix = f" k{asked.group(1)}" if asked else ""
        elif line.startswith("coll,"):
            names = cells
        elif cells and not line.startswith("#") and len(cells) == len(names or []):
            yield dict(zip(names, cells), radix=radix)


def best_of(path):
    """By collective and bytes: the shortest time, and what took it."""
    best = {}
    for row in rows_of(path) if path.exists() else ():
        key, us = (row["coll"], int(row["bytes"])), float(row["time_us_p50"])
        if row["wrong"] not in ("0", ""):
            sys.exit(f"best.py: {path}: wrong data: {row}")
        if key not in best or us < best[key][0]:
            best[key] = us, f"{row['algo']}:{row['proto']}{row['radix']}"
    return best


def pes_of(path):
    return int(path.stem.rpartition("_")[2])


def main():
    folder, name = Path(sys.argv[1]), sys.argv[2]
    print(f"{'pes':>3} {'coll':13} {'bytes':>8} {'best':34} {'us':>10} {'Open MPI':>10} ratio")
    for path in sorted(folder.glob(f"{name}_*.csv"), key=pes_of):
        ours = best_of(path)
        theirs = best_of(folder / f"mpi_{pes_of(path)}.csv")
        for (coll, count), (us, algo) in ours.items():
            their, _ = theirs.get((coll, count), (None, None))
            beside = f"{their:10.2f} {us / their:5.2f}" if their else f"{'-':>10}     -"
            print(f"{pes_of(path):3} {coll:13} {count:8} {algo:34} {us:10.2f} {beside}")


if __name__ == "__main__":
    main()
