# SPDX-License-Identifier: Apache-2.0
"""A short table of calls inside kernels, by our names and by NVSHMEM's (compat), beside NVSHMEM. usage: device.py FILE.csv"""
import csv
import statistics
import sys
from pathlib import Path

KEY = ("call", "scope", "bytes", "ctas")
LIBRARIES = ("chorus", "compat", "nvshmem")


def shown(us, name):
    """A time, as a column."""
    return f"{us[name]:9.2f}" if name in us else f"{'-':>9}"


def main():
    lines = Path(sys.argv[1]).read_text(encoding="ascii").splitlines()
    times, wrong = {}, 0
    # Not what a program says that fails.
    rows_of = ("library,", *(f"{name}," for name in LIBRARIES))
    for row in csv.DictReader(line for line in lines if line.startswith(rows_of)):
        if row["library"] == "library":
            continue  # the heading of another program's rows
        wrong += row["wrong"] != "0"
        times.setdefault(tuple(row[name] for name in KEY), {})[row["library"]] = row
    print(f"{'call':12} {'scope':6} {'bytes':>9} {'ctas':>4} {'us':>9} {'GBps':>7} {'compat':>9} {'nvshmem':>9} ratio compat")
    ratios = {"chorus": [], "compat": []}
    for key, rows in times.items():
        us = {name: float(row["time_us"]) for name, row in rows.items()}
        theirs = us.get("nvshmem")
        if theirs:
            for name, so_far in ratios.items():
                if name in us:
                    so_far.append(us[name] / theirs)
        print(f"{key[0]:12} {key[1]:6} {key[2]:>9} {key[3]:>4} {shown(us, 'chorus')} "
              f"{rows.get('chorus', {}).get('GBps', '-'):>7} {shown(us, 'compat')} {shown(us, 'nvshmem')} "
              + " ".join(f"{us[name] / theirs:5.2f}" if theirs and name in us else f"{'-':>5}" for name in ratios))
    for name, all_rows in ratios.items():
        if all_rows:
            mean = statistics.geometric_mean(all_rows)
            print(f"{name} / nvshmem: mean {mean:.2f}, largest {max(all_rows):.2f}, "
                  f"{sum(ratio > 1.02 for ratio in all_rows)} of {len(all_rows)} rows above 1.02")
    print(f"{len(times)} lines, {wrong} rows with wrong data")
    sys.exit(1 if wrong or not times else 0)


if __name__ == "__main__":
    main()
