# SPDX-License-Identifier: Apache-2.0
"""Draws what bench/apps/run has measured: for each program, the time of a step by the number of
elements, and strong and weak scaling by the number of PEs."""
import math

COLOURS = [["#1b6ca8", "#63a7d1"], ["#c0392b", "#e08e79"], ["#2e8b57", "#9acd7f"], ["#8e44ad", "#c39bd3"]]  # way, MPI
WIDTH, HEIGHT = 300, 220  # of a panel
LEFT, TOP, GAP_X, GAP_Y = 70, 40, 90, 80
KEY_WIDTH = 150


def powers(lo, hi, base):
    """The exponents of `base` that enclose lo to hi."""
    first, last = math.floor(math.log(lo, base) + 1e-9), math.ceil(math.log(hi, base) - 1e-9)
    return list(range(first, max(last, first + 1) + 1))


class Panel:
    """Lines over logarithmic axes, at a place in the picture."""

    def __init__(self, at, title, labels, lines):
        self.left, self.top = at
        self.title, self.labels, self.lines = title, labels, lines
        points = [point for line in lines.values() for point in line]
        self.bases = (2, 10 if labels[1].startswith("us") else 2)
        self.ticks = [powers(min(p[i] for p in points), max(p[i] for p in points), base)
                      for i, base in enumerate(self.bases)]

    def place(self, axis, value):
        """How far along an axis, 0 to 1."""
        ticks = self.ticks[axis]
        return (math.log(value, self.bases[axis]) - ticks[0]) / (ticks[-1] - ticks[0])

    def x(self, value):
        return self.left + WIDTH * self.place(0, value)

    def y(self, value):
        return self.top + HEIGHT * (1 - self.place(1, value))

    def axes(self):
        yield (f'<text x="{self.left + WIDTH / 2}" y="{self.top - 12}" text-anchor="middle" font-weight="bold">'
               f'{self.title}</text>')
        yield (f'<text x="{self.left + WIDTH / 2}" y="{self.top + HEIGHT + 36}" text-anchor="middle">'
               f'{self.labels[0]}</text>')
        yield (f'<text transform="translate({self.left - 48},{self.top + HEIGHT / 2}) rotate(-90)" '
               f'text-anchor="middle">{self.labels[1]}</text>')
        for power in self.ticks[0]:
            x = self.x(2.0 ** power)
            text = f"{2 ** power}" if power < 10 else f"{2 ** (power - 10)}K" if power < 20 else f"{2 ** (power - 20)}M"
            yield (f'<path d="M{x:.1f} {self.top}v{HEIGHT}" stroke="#eee"/><text x="{x:.1f}" '
                   f'y="{self.top + HEIGHT + 18}" text-anchor="middle">{text if power % self.every() == 0 else ""}</text>')
        for power in self.ticks[1]:
            value = float(self.bases[1]) ** power
            yield (f'<path d="M{self.left} {self.y(value):.1f}h{WIDTH}" stroke="#ddd"/><text x="{self.left - 8}" '
                   f'y="{self.y(value) + 4:.1f}" text-anchor="end">{value:g}</text>')

    def every(self):
        """Of how many powers of two one has its number at the axis."""
        return 1 + len(self.ticks[0]) // 9

    def draw(self, colours):
        yield from self.axes()
        for name, line in self.lines.items():
            points = [(self.x(x), self.y(y)) for x, y in sorted(line)]
            yield (f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}" fill="none" '
                   f'stroke="{colours[name]}" stroke-width="2"/>')
            yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colours[name]}"/>' for x, y in points)


def line_of(row):
    """The name of the line of a way and an MPI."""
    return f"{row['way']} ({row['mpi']})"


def lines_of(rows, point):
    """The points of each line."""
    lines = {}
    for row in rows:
        lines.setdefault(line_of(row), []).append(point(row))
    return lines


def colours_of(rows):
    """The colour of each line: a hue for the way, a shade for the MPI."""
    ways, mpis = (list(dict.fromkeys(row[field] for row in rows)) for field in ("way", "mpi"))
    return {line_of(row): COLOURS[ways.index(row["way"]) % len(COLOURS)][mpis.index(row["mpi"]) % 2] for row in rows}


def scaling(rows, kind, value):
    """Points (PEs, value) of one kind of scaling; value gets the row and that of one PE."""
    chosen = [row for row in rows if row["scaling"] == kind]
    largest = max((row["side"] for row in chosen), default=0)
    alone = {line_of(row): row for row in chosen if row["pes"] == 1 and row["side"] == largest}
    return lines_of([row for row in chosen if row["side"] == largest and line_of(row) in alone],
                    lambda row: (row["pes"], value(row, alone[line_of(row)])))


def panels(rows, program, top):
    mine = [row for row in rows if row["program"] == program]
    most = max(row["pes"] for row in mine)
    times = [row for row in mine if row["scaling"] == "strong" and row["pes"] == most]
    for i, (title, labels, lines) in enumerate([
            (f"{program}: time on {most} PEs", ("elements", "us of a step"),
             lines_of(times, lambda row: (row["elements"], row["us"]))),
            (f"{program}: strong scaling", ("PEs, one grid", "times as fast as 1 PE"),
             scaling(mine, "strong", lambda row, one: one["us"] / row["us"])),
            (f"{program}: weak scaling", ("PEs, as many elements each", "time of 1 PE / time"),
             scaling(mine, "weak", lambda row, one: one["us"] / row["us"]))]):
        if lines:
            yield Panel((LEFT + i * (WIDTH + GAP_X), top), title, labels, lines)


def svg(rows):
    """The picture, in which a program has a row of panels."""
    colours = colours_of(rows)
    programs = list(dict.fromkeys(row["program"] for row in rows))
    width, height = LEFT + 3 * (WIDTH + GAP_X) + KEY_WIDTH, TOP + len(programs) * (HEIGHT + GAP_Y)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
           'font-size="12">', '<rect width="100%" height="100%" fill="white"/>']
    for i, program in enumerate(programs):
        for panel in panels(rows, program, TOP + i * (HEIGHT + GAP_Y)):
            out += panel.draw(colours)
    for i, (name, colour) in enumerate(colours.items()):
        out.append(f'<text x="{LEFT + 3 * (WIDTH + GAP_X) - 50}" y="{TOP + 16 * i + 12}" fill="{colour}">{name}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"
