# SPDX-License-Identifier: Apache-2.0
"""A short table of sweeps: for each collective and bytes our time, what ran, and ratios.
usage: table.py FILE.csv..."""
import csv
import sys
from pathlib import Path


def rows_of(path):
    """Rows by column name; a file may be several sweeps, each with its heading."""
    names = None
    for line in Path(path).read_text(encoding="ascii").splitlines():
        cells = next(csv.reader([line]), [])
        if line.startswith("coll,"):
            names = cells
        elif cells and not line.startswith("#") and len(cells) == len(names or []):
            yield dict(zip(names, cells))


def key_of(row):
    """Collective and bytes of all PEs' blocks together, as NCCL's own tests count them."""
    blocks = int(row["pes"]) if row["coll"] in ("fcollect", "alltoall") else 1
    return row["coll"], row["dtype"], row["op"], int(row["pes"]), int(row["bytes"]) * blocks


def main():
    chosen, forced, wrong, unchecked = {}, {}, 0, 0
    for path in filter(lambda p: Path(p).exists(), sys.argv[1:]):
        for row in rows_of(path):
            wrong += row["wrong"] not in ("0", "")
            unchecked += row["wrong"] == ""
            if row["wrong"] not in ("0", ""):
                continue
            best = forced if row["rule"] == "forced" else chosen
            held = best.get(key_of(row))
            if held is None or float(row["time_us_p50"]) < float(held["time_us_p50"]):
                best[key_of(row)] = row
    print(f"{'coll':13} {'bytes':>10} {'chosen':28} {'us':>9} {'/nccl':>6} {'/windows':>8} "
          f"{'/nvshmem':>8} {'best forced':28} {'us':>9}")
    for key in sorted(chosen | forced):
        ours, best = chosen.get(key, {}), forced.get(key, {})
        print(f"{key[0]:13} {key[4]:>10} {name(ours):28} {time(ours):>9} "
              f"{ours.get('nccl_ratio') or '-':>6} {ours.get('nccl_windows_ratio') or '-':>8} "
              f"{ours.get('nvshmem_ratio') or '-':>8} "
              f"{name(best):28} {time(best):>9}")
    print(f"{len(chosen) + len(forced)} lines, {wrong} rows with wrong data"
          + (f", {unchecked} not checked" if unchecked else ""))
    sys.exit(1 if wrong or not chosen | forced else 0)


def name(row):
    return f"{row['algo']}:{row['proto']} x{row['ctas']}" if row else "-"


def time(row):
    return f"{float(row['time_us_p50']):.2f}" if row else "-"


if __name__ == "__main__":
    main()
