# SPDX-License-Identifier: Apache-2.0
"""How good a table's choices are, by the measurements that are there: time(chosen) / time(best)."""
import os
import re
import subprocess
from collections import defaultdict

from chorustune.samples import fail

PLAN = re.compile(r"^plan   (\S+):(\S+), ctas (\d+)(?:, radix (\d+))?$", re.M)


class Verdict:
    """Of one table over all measured calls."""

    def __init__(self):
        self.ratios, self.worst, self.unmeasured = [], (0.0, "none"), 0

    def add(self, ratio, call):
        self.ratios.append(ratio)
        self.worst = max(self.worst, (ratio, call))

    def __str__(self):
        if not self.ratios:
            return "no choice of it was measured"
        mean = sum(self.ratios) / len(self.ratios)
        rest = f"; {self.unmeasured} choices were not measured" if self.unmeasured else ""
        return f"worst {self.worst[0]:.2f} ({self.worst[1]}), mean {mean:.3f} of {len(self.ratios)} calls{rest}"


def chosen(program, call, about, table):
    """(algorithm, protocol, CTAs, radix or nothing) that a job gets for a call, with a table or without."""
    coll, pes, size, dtype, op = call
    words = [program, "explain", coll, "--pes", str(pes), *about]
    words += [] if coll == "barrier" else ["--bytes", str(size)]
    words += ["--dtype", dtype] if dtype != "none" else []
    words += ["--op", op] if op != "none" else []
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CHORUS_")}
    environment["XDG_CONFIG_HOME"] = "/nonexistent"
    if table:
        environment["CHORUS_TUNING"] = table
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False, env=environment)
    plan = PLAN.search(done.stdout)
    if plan is None:
        fail(f"{' '.join(words)}: {done.stderr.strip()}")
    return plan[1], plan[2], int(plan[3]), plan[4] and int(plan[4])


def measured_calls(by_coll, known):
    """For each call the least time of each choice, as chorus-info names that."""
    calls = defaultdict(dict)
    for samples in by_coll.values():
        for s in samples:
            algo, proto, ctas, radix = s.choice
            choice = algo, proto, ctas, min(radix, s.pes) if s.has(known)[1] else None
            us = calls[s.coll, s.pes, s.bytes, s.dtype, s.op]
            us[choice] = min(s.us, us.get(choice, s.us))
    return calls


def judge(program, by_coll, known, about, table):
    """The Verdict on a table, or with none on those that a job reads without one of its user."""
    verdict = Verdict()
    for call, us in sorted(measured_calls(by_coll, known).items()):
        choice = chosen(program, call, about, table)
        if choice[3]:
            choice = *choice[:3], min(choice[3], call[1])
        if choice not in us:
            verdict.unmeasured += 1
            continue
        verdict.add(us[choice] / min(us.values()), f"{call[0]}, {call[1]} PEs, {call[2]} bytes: {choice[0]}:{choice[1]}")
    return verdict
