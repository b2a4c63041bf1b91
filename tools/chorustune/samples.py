# SPDX-License-Identifier: Apache-2.0
"""What chorus-sweep measured, as chorus-tune reads it; and what chorus-info says of algorithms."""
import csv
import re
import shutil
import subprocess
import sys
from pathlib import Path

COLUMNS = ["coll", "algo", "proto", "ctas", "pes", "bytes", "time_us_p50", "wrong", "rule"]
RADIX_MOST = 64  # of a rule


def fail(message):
    print(f"chorus-tune: {message}", file=sys.stderr)
    sys.exit(1)


def whole(what, text, least, most):
    """The number in decimal digits alone, as the library reads it."""
    if not re.fullmatch("[0-9]{1,19}", text) or not least <= int(text) <= most:
        raise ValueError(f"{what} is {quote(text)}; expected a whole number from {least} to {most}")
    return int(text)


def decimal(what, text, most):
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]{1,3})?", text) or not float(text) <= most:
        raise ValueError(f"{what} is {quote(text)}; expected a number from 0 to {most:g}")
    return float(text)


def quote(text):
    """As a text in quotes of YAML, in ASCII, whatever is in it."""
    def escape(c):
        code = ord(c) - 0xdc00 if "\udc80" <= c <= "\udcff" else ord(c)  # a byte that is no UTF-8
        if 0x20 <= code < 0x7f:
            return "\\" + c if c in '"\\' else c
        return f"\\x{code:02x}" if code < 0x100 else f"\\U{code:08x}"

    return f'"{"".join(map(escape, text))}"'


def ask(program, *words):
    try:
        return subprocess.run([program, *words], capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        fail(f"cannot ask {program}: {error}")


def find_info(info):
    beside = Path(__file__).resolve().parent / "chorus-info"
    program = info or (str(beside) if beside.exists() else shutil.which("chorus-info"))
    if program is None:
        fail("no chorus-info beside it or on PATH; name it with --info")
    return program


def known_algorithms(program):
    """By (collective, name, protocol): what it needs, and whether a radix changes what it does."""
    done = ask(program, "algorithms")
    if done.returncode != 0:
        fail(f"cannot ask {program}: {done.stderr.strip()}")
    words = (line.split(maxsplit=4) for line in done.stdout.splitlines()[1:] if not line.startswith("#"))
    return {tuple(w[:3]): (w[3].split(","), bool(re.search(r"\bk\b", w[4])))
            for w in words if len(w) == 5}


def collectives(known):
    """In the order of chorus-info."""
    return list(dict.fromkeys(coll for coll, _, _ in known))


class Sample:
    """A line of a file: what ran, for what, and how long it took."""

    def __init__(self, row, radix, where):
        self.where, self.coll = where, row["coll"]
        self.pes = whole("pes", row["pes"], 1, 2**31)
        self.bytes = whole("bytes", row["bytes"], 0, 0 if self.coll == "barrier" else 2**62)
        self.choice = row["algo"], row["proto"], whole("ctas", row["ctas"], 1, 2**31), radix
        self.us = decimal("time_us_p50", row["time_us_p50"], 1e15)
        self.us_min = min(self.us, decimal("time_us_min", row.get("time_us_min", row["time_us_p50"]), 1e15))
        self.dtype, self.op = row.get("dtype", "none"), row.get("op", "none")

    def name(self):
        return self.coll, *self.choice[:2]

    def has(self, known):
        """What known_algorithms says of it."""
        return known[self.name()]

    def is_plain(self, known):
        return set(self.has(known)[0]) <= {"map", "put", "packets", "symmetric_dest", "symmetric_source"}


def lines_of(path):
    """The file's lines. It is named in the rules, so its name has the form that they need."""
    if not re.fullmatch(r"(?s).+\.csv", Path(path).name) or not Path(path).is_file():
        fail(f"{path}: cannot read: expected a file whose name ends in .csv")
    try:
        text = Path(path).read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        fail(f"{path}: cannot read: {error}")
    if "\0" in text:
        fail(f"{path}: cannot read: it holds a NUL; expected what chorus-sweep --csv writes")
    lines = text.split("\n")  # as what is cited is counted, and not at other breaks
    return [line.rstrip("\r") for line in (lines if lines[-1] else lines[:-1])]


def cells_of(line):
    try:
        return next(csv.reader([line]), [])
    except csv.Error as error:
        raise ValueError(error) from None


def sample_of(names, cells, radix, where, colls):
    """A line's measurement; nothing if it was not found right, chosen by a rule, or of none of the collectives."""
    if names is None or len(cells) != len(names):
        raise ValueError("no row of chorus-sweep; expected what --csv writes")
    row = dict(zip(names, cells))
    if not decimal("time_us_p50", row["time_us_p50"], 1e15) > 0:
        raise ValueError("time_us_p50 is 0; expected more")
    if row["wrong"] != "0" or row["rule"] != "forced" or row["coll"] not in colls:
        return None
    return Sample(row, radix, where)


def heading(cells):
    missing = [name for name in COLUMNS if name not in cells]
    if missing:
        raise ValueError(f"heading without {', '.join(missing)}; expected what chorus-sweep --csv writes")
    return cells


def read(path, colls):
    """The file's measurements of these collectives that were found right, and its comments by name.
    A file may be several put together, each with a heading of its own."""
    samples, facts, names, radix = [], {}, None, 2
    for number, line in enumerate(lines_of(path), 1):
        try:
            if line.startswith("# "):
                name, _, text = line[2:].partition(": ")
                facts.setdefault(name, text)
                if name == "command":
                    asked = re.search(r"--radix[ =](\S*)", text)
                    radix = whole("--radix", asked[1], 2, RADIX_MOST) if asked else 2
            elif line.startswith("coll,"):
                names = heading(cells_of(line))
            else:
                samples.append(sample_of(names, cells_of(line), radix, f"{Path(path).name}:{number}", colls))
        except ValueError as error:
            fail(f"{path}:{number}: {error}")
    return [sample for sample in samples if sample], facts


def leave_unknown(samples, known, program):
    """The samples of algorithms that there are; the others are of another version."""
    gone = {sample.name(): sample.where for sample in samples if sample.name() not in known}
    for name, where in gone.items():
        print(f"chorus-tune: {where}: {program} has no {quote(':'.join(name))}; its lines are left out",
              file=sys.stderr)
    return [sample for sample in samples if sample.name() not in gone]
