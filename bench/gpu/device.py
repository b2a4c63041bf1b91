# SPDX-License-Identifier: Apache-2.0
"""A short table of calls inside kernels, ours beside NVSHMEM's. usage: device.py FILE.csv"""
import csv
import sys
from pathlib import Path

KEY = ("call", "scope", "bytes", "ctas")


def main():
    lines = Path(sys.argv[1]).read_text(encoding="ascii").splitlines()
    times, wrong = {}, 0
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        if row["library"] == "library":
            continue  # the heading of the second program's rows
        wrong += row["wrong"] != "0"
        times.setdefault(tuple(row[name] for name in KEY), {})[row["library"]] = row
    print(f"{'call':12} {'scope':6} {'bytes':>9} {'ctas':>4} {'us':>9} {'GBps':>7} {'nvshmem':>9} ratio")
    for key, rows in times.items():
        ours, theirs = (float(rows[name]["time_us"]) if name in rows else 0 for name in ("chorus", "nvshmem"))
        print(f"{key[0]:12} {key[1]:6} {key[2]:>9} {key[3]:>4} {ours:9.2f} "
              f"{rows.get('chorus', {}).get('GBps', '-'):>7} "
              + (f"{theirs:9.2f} {ours / theirs:5.2f}" if theirs else f"{'-':>9} {'-':>5}"))
    print(f"{len(times)} lines, {wrong} rows with wrong data")
    sys.exit(1 if wrong or not times else 0)


if __name__ == "__main__":
    main()
