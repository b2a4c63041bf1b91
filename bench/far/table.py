# SPDX-License-Identifier: Apache-2.0
"""A CSV and a short table of what bench/gpu/run --far measured. usage: table.py ROWS.csv OUT.csv

ROWS.csv has the output of several sweeps. A line "# far: WHO MODE CTAS" before each says what its
rows are: ours (PEs on two hosts), nccl (two nodes, with NCCL_MAX_CTAS or its default), beside (PEs
without access to each other's GPU) or floor (chorus-floor)."""
import csv
import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean, median

KIB = 1 << 10
NAMES = "job,coll,bytes,mode,ours_us,nccl_us,ratio,nccl_ctas,floor_us,fraction".split(",")
SHORT, LONG, ROW = 0.5, 0.8, 1.0  # most that Chorus may take of NCCL's time: means up to 64 KiB, above; a row
SMALL_US, MIDDLE_US, RATE = 8, 14, 0.9  # beside: up to 4 KiB; 64 KiB; least fraction of the rate of copies above


def read(path):
    """The median time in each round, by (who, mode, ctas) and (coll, bytes); the rows with wrong data."""
    found, names, what, wrong = defaultdict(lambda: defaultdict(list)), None, None, 0
    for line in Path(path).read_text(encoding="ascii").splitlines():
        cells = next(csv.reader([line]), [])
        if line.startswith("# far: "):
            what = tuple(line.split()[2:])
        elif line.startswith(("coll,", "what,")):
            names = cells
        elif cells and not line.startswith("#"):
            row = dict(zip(names, cells))
            if row.get("wrong", "0") == "0":
                key = row.get("coll", row.get("what")), int(row["bytes"])
                found[what][key].append(float(row.get("time_us_p50", row.get("us"))))
            wrong += row.get("wrong", "0") != "0"
    return {what: {key: median(us) for key, us in times.items()} for what, times in found.items()}, wrong


def rows_of(found):
    """A row of OUT.csv for each that Chorus has, and for the floor."""
    floor = found.get(("floor", "kernel", "-"), {})
    for (who, mode, _), times in found.items():
        nccl = {what[2]: us for what, us in found.items() if what[:2] == ("nccl", mode)}
        for (coll, size), us in times.items() if who in ("ours", "beside") else ():
            row = {"job": "far" if who == "ours" else "beside", "coll": coll, "bytes": size, "mode": mode, "ours_us": us}
            best = min(((theirs[coll, size], ctas) for ctas, theirs in nccl.items() if (coll, size) in theirs),
                       default=None)
            if who == "ours" and best:
                row |= {"nccl_us": best[0], "ratio": us / best[0], "nccl_ctas": best[1]}
            copies = floor.get(("copies", size))
            if who == "beside" and copies:
                row |= {"floor_us": copies, "fraction": copies / us}
            yield row
    for (what, size), us in floor.items():
        yield {"job": "floor", "coll": what, "bytes": size, "mode": "kernel", "floor_us": us}


def cell(value, is_met, form="5.2f"):
    """A value, with a mark where it misses its target; nothing where it was not measured."""
    return "-" if value is None else f"{value:{form}}".strip() + ("" if is_met else "!")


def mean_of(values):
    return mean(values) if values else None


def print_far(rows):
    print(f"PEs on two hosts: time of Chorus / NCCL; means, at most {SHORT} and {LONG}, and largest row, at most {ROW:g}")
    print(f"{'coll':10} {'mode':7} {'to 64K':>7} {'above':>7} {'largest':>8} of bytes")
    for (coll, mode), own in rows.items():
        own = [row for row in own if "ratio" in row]
        short = mean_of([row["ratio"] for row in own if row["bytes"] <= 64 * KIB])
        long = mean_of([row["ratio"] for row in own if row["bytes"] > 64 * KIB])
        worst = max(own, key=lambda row: row["ratio"], default={"ratio": None, "bytes": "-"})
        print(f"{coll:10} {mode:7} {cell(short, short and short <= SHORT):>7} {cell(long, long and long <= LONG):>7} "
              f"{cell(worst['ratio'], worst['ratio'] and worst['ratio'] <= ROW):>8} {worst['bytes']}")


def print_beside(rows, floor):
    print(f"PEs without access to each other's GPU: most us, at most {SMALL_US} up to 4 KiB and {MIDDLE_US} at 64 KiB; "
          f"least fraction of the rate of copies above, at least {RATE}")
    print(f"{'coll':10} {'mode':7} {'to 4K':>8} {'64K':>8} {'above':>7}")
    for (coll, mode), own in rows.items():
        small = max((row["ours_us"] for row in own if row["bytes"] <= 4 * KIB), default=None)
        middle = max((row["ours_us"] for row in own if row["bytes"] == 64 * KIB), default=None)
        large = min((row["fraction"] for row in own if "fraction" in row), default=None)
        print(f"{coll:10} {mode:7} {cell(small, small and small <= SMALL_US):>8} "
              f"{cell(middle, middle and middle <= MIDDLE_US):>8} {cell(large, large and large >= RATE):>7}")
    for row in floor:
        print(f"floor: {row['coll']} of {row['bytes']} bytes: {row['floor_us']:.2f} us")


def main():
    found, wrong = read(sys.argv[1])
    rows = list(rows_of(found))
    with open(sys.argv[2], "w", encoding="ascii", newline="") as file:
        table = csv.DictWriter(file, NAMES, lineterminator="\n")
        table.writeheader()
        for row in rows:
            table.writerow({name: f"{value:.3f}" if isinstance(value, float) else value for name, value in row.items()})
    by_job = defaultdict(lambda: defaultdict(list))
    for row in rows:
        by_job[row["job"]][row["coll"], row["mode"]].append(row)
    if "far" in by_job:
        print_far(by_job["far"])
    if "beside" in by_job or "floor" in by_job:
        print_beside(by_job["beside"], [row for own in by_job["floor"].values() for row in own])
    print(f"{len(rows)} rows, {wrong} with wrong data; \"!\" marks what misses a target")
    sys.exit(1 if wrong or not rows else 0)


if __name__ == "__main__":
    main()
