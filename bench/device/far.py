# SPDX-License-Identifier: Apache-2.0
"""A CSV and a short table of calls inside kernels to far peers, beside the same calls of hosts.
usage: far.py ROWS.csv OUT.csv

ROWS.csv has the output of several runs of chorus-device-far and of chorus-device-host, with and
without --stream. The median of each row over the runs counts."""
import csv
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

KEY = ("call", "scope", "bytes", "ctas")
NAMES = [*KEY, "us", "least_us", "most_us", "GBps", "Mcalls_s", "host_us", "over_host_us", "host_ratio", "stream_us",
         "stream_rate", "refused"]
OVER_HOST_US = 3  # most that a put_signal of 8 bytes and a barrier may take longer than a host's
STREAM_RATE = 0.9  # least part of the rate of puts on a stream that a block's puts of 1 MiB have
REFUSED = "ERR_UNSUPPORTED"  # other codes are failures


def read(path):
    """Times by library and key; codes of what was refused, by key; and what was wrong or failed."""
    times, refused, faults = defaultdict(lambda: defaultdict(list)), {}, []
    lines = [line for line in Path(path).read_text(encoding="ascii").splitlines() if not line.startswith("#")]
    for row in csv.DictReader(lines):
        if row["library"] == "library":
            continue  # the heading of another run
        key = (row["call"], row["scope"], int(row["bytes"]), int(row["ctas"]))
        if row["wrong"] != "0" or row["refused"] not in ("", REFUSED):
            faults.append(row)
        elif row["refused"]:
            refused[key] = row["refused"]
        else:
            times[row["library"]][key].append(float(row["time_us"]))
    return times, refused, faults


def beside(times, key):
    """What hosts take for the same call of as many bytes."""
    found = times.get((key[0], "host", key[2], 1))
    return median(found) if found else None


def row_of(key, times, refused):
    row = dict(zip(KEY, key), refused=refused.get(key, ""), host_us=beside(times["host"], key),
               stream_us=beside(times["stream"], key))
    if key in refused:
        return row
    us = median(times["chorus"][key])
    row |= {"us": us, "least_us": min(times["chorus"][key]), "most_us": max(times["chorus"][key]),
            "GBps": key[2] / us / 1e3, "Mcalls_s": 1 / us}
    if row["host_us"]:
        row |= {"over_host_us": us - row["host_us"], "host_ratio": us / row["host_us"]}
    if row["stream_us"]:
        row["stream_rate"] = row["stream_us"] / us
    return row


def misses(row):
    """The column that misses its target; none: the row has none, or meets it."""
    if row["call"] == "barrier" or (row["call"] == "put_signal" and row["bytes"] == 8):
        return "over_host_us" if row.get("over_host_us", 0) > OVER_HOST_US else None
    if row["call"] == "put" and row["bytes"] == 1 << 20 and row["ctas"] == 1:
        return "stream_rate" if row.get("stream_rate", 1) < STREAM_RATE else None
    return None


def cell(row, name, form=".2f"):
    value = row.get(name)
    return "-" if value is None else f"{value:{form}}" + ("!" if misses(row) == name else "")


def print_row(row):
    where = f"{row['call']:13} {row['scope']:6} {row['bytes']:>9} {row['ctas']:>4}"
    if row["refused"]:
        print(f"{where} {'refused':>10} {'':17} {cell(row, 'host_us'):>10}   {row['refused']}")
    else:
        print(f"{where} {cell(row, 'us'):>10} {cell(row, 'GBps'):>7} {cell(row, 'Mcalls_s', '.3f'):>9} "
              f"{cell(row, 'host_us'):>10} {cell(row, 'over_host_us'):>10} {cell(row, 'host_ratio'):>6} "
              f"{cell(row, 'stream_us'):>10} {cell(row, 'stream_rate'):>7}")


def main():
    times, refused, faults = read(sys.argv[1])
    keys = dict.fromkeys([*times["chorus"], *refused])
    rows = [row_of(key, times, refused) for key in keys]
    with open(sys.argv[2], "w", encoding="ascii", newline="") as file:
        table = csv.DictWriter(file, NAMES, lineterminator="\n")
        table.writeheader()
        for row in rows:
            table.writerow({name: f"{value:.3f}" if isinstance(value, float) else value for name, value in row.items()})
    print(f"Calls inside kernels to far peers: put_signal and barrier at most {OVER_HOST_US} us over hosts, a block's put "
          f"of 1 MiB at least {STREAM_RATE} of the rate on a stream")
    print(f"{'call':13} {'scope':6} {'bytes':>9} {'ctas':>4} {'us':>10} {'GBps':>7} {'Mcalls/s':>9} {'host us':>10} "
          f"{'over host':>10} {'ratio':>6} {'stream us':>10} {'of rate':>7}")
    for row in rows:
        print_row(row)
    for row in faults:
        print(f"fault: {row['library']}: {' '.join(row[name] for name in KEY)}: {row['wrong']} wrong {row['refused']}")
    print(f"{len(rows)} rows, {len(refused)} refused, {len(faults)} failed or with wrong data; \"!\" marks what misses a target")
    sys.exit(1 if faults or not times["chorus"] else 0)


if __name__ == "__main__":
    main()
