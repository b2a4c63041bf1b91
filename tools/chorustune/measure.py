# SPDX-License-Identifier: Apache-2.0
"""Measure all candidates: every algorithm, radix and number of CTAs, by a sweep of its own.

Each candidate is first run once for each size, with its data checked; one whose data is wrong is not
timed. How long that took says how many iterations fit in the time for a candidate. Then all are timed,
and once more, in another order, those that are near the best of some call: what times do meanwhile is
the noise. A sweep that has ended is a file in the folder `parts`, so a run that was stopped goes on there.
"""
import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

from chorustune.samples import collectives, fail, read

ITERATIONS = 5, 200  # of a size, the least and the most
WARMUP = 5
REPEATED = 1.3  # what is so many times as slow as the best, for every call, is not measured again


def whole_lines(path):
    """The file, without half a line at its end, as a sweep that was stopped may leave it."""
    text = path.read_text()
    path.write_text(text[:text.rfind("\n") + 1])
    return path


class Candidate:
    def __init__(self, pes, name, radix, ctas):
        self.pes, self.name, self.radix, self.ctas = pes, name, radix, ctas

    def options(self):
        coll, algo, proto = self.name
        words = ["--coll", coll, "--algo", f"{algo}:{proto}"]
        words += ["--radix", str(self.radix)] if self.radix else []
        return words + (["--ctas", str(self.ctas)] if self.ctas > 1 else [])

    def file(self, what):
        return "-".join([str(self.pes), *self.name, f"r{self.radix or 0}", f"c{self.ctas}", str(what)]) + ".csv"

    def __str__(self):
        coll, algo, proto = self.name
        return f"{coll} {algo}:{proto}" + (f" radix {self.radix}" if self.radix else "") + f", {self.pes} PEs"


class Bar:
    """Progress on standard error: a bar on a terminal, else a line for each tenth."""

    def __init__(self, total):
        self.total, self.done, self.ran, self.began, self.is_terminal = total, 0, 0, time.monotonic(), sys.stderr.isatty()

    def step(self, text, has_run):
        self.done, self.ran = self.done + 1, self.ran + has_run
        left = (time.monotonic() - self.began) / max(1, self.ran) * (self.total - self.done)
        if self.is_terminal:
            full = 30 * self.done // self.total
            sys.stderr.write(f"\r\033[K[{'#' * full}{'.' * (30 - full)}] {self.done}/{self.total}, {left:.0f} s left: {text}"
                             + ("\r\033[K" if self.done == self.total else ""))
        elif self.done * 10 // self.total > (self.done - 1) * 10 // self.total:
            sys.stderr.write(f"chorus-tune: {self.done} of {self.total}, about {left:.0f} s left\n")
        sys.stderr.flush()


class Measuring:
    """One run in a folder."""

    def __init__(self, options, known):
        self.options, self.folder = options, Path(options.measure)
        self.parts, self.commands = self.folder / "parts", self.folder / "commands"
        self.known = {name: about for name, about in known.items() if name[0] in options.coll}
        self.start_s = {}  # that a job of so many PEs may take besides its calls, once it was measured
        self.parts.mkdir(parents=True, exist_ok=True)
        self.settle()

    def settle(self):
        """What is measured must be the same as when the folder was begun."""
        asked = {name: getattr(self.options, name) for name in ("bytes", "factor", "mode", "launcher")}
        asked, path = json.loads(json.dumps(asked)), self.folder / "settings.json"
        if path.exists() and json.loads(path.read_text()) != asked:
            fail(f"{self.folder} was measured with {path.read_text().strip()}; use another folder, or the same options")
        path.write_text(json.dumps(asked) + "\n")

    def candidates(self, pes):
        for name, (_, takes_radix) in self.known.items():
            radices = sorted({min(radix, pes) for radix in self.options.radix if radix <= max(2, pes)}) if takes_radix else [None]
            for radix in radices:
                for ctas in self.options.ctas:
                    yield Candidate(pes, name, max(2, radix) if radix else None, ctas)

    def command(self, candidate, most, iterations, path):
        first, last = self.options.bytes
        launcher = shlex.split(self.options.launcher.replace("{pes}", str(candidate.pes)))
        return [*launcher, self.options.sweep, *candidate.options(), "--mode", self.options.mode, "-b", str(first),
                "-e", str(min(last, most)), "-f", str(self.options.factor), "-n", str(iterations),
                "-w", str(min(WARMUP, iterations - 1)), "--csv", str(path)]

    def run(self, command, seconds):
        """(status, or nothing if the time was up; what it said; the seconds that it took)"""
        with self.commands.open("a") as log:
            log.write(shlex.join(command) + "\n")
        began = time.monotonic()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
                              env={**os.environ, "CHORUS_WARN": "0"}) as job:
            try:
                _, said = job.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                job.terminate()  # chorusrun ends its PEs
                _, said = job.communicate()
                return None, said, seconds
            except BaseException:
                job.terminate()
                raise
        return job.returncode, said, time.monotonic() - began

    def starting(self, pes):
        """How long a job may take to start, by one that does nearly nothing."""
        if pes not in self.start_s:
            launcher = shlex.split(self.options.launcher.replace("{pes}", str(pes)))
            seconds = self.run([*launcher, self.options.sweep, "--coll", "barrier", "-n", "1", "-w", "0"], 60)[2]
            self.start_s[pes] = 0.5 + 3 * seconds
        return self.start_s[pes]

    def check(self, candidate):
        """Run it once, and keep the verdict: what is the largest size to time, and in how many iterations?"""
        path = self.parts / candidate.file("check")
        verdict = path.with_suffix(".json")
        if verdict.exists():
            return json.loads(verdict.read_text()), False
        limit = self.options.seconds + self.starting(candidate.pes)
        status, said, seconds = self.run(self.command(candidate, self.options.bytes[1], 1, path), limit)
        samples = read(whole_lines(path), collectives(self.known))[0] if path.exists() else []
        found = {"most": 0, "iterations": 0, "why": said.strip().split("\n")[0]}
        if status == 1:
            print(f"chorus-tune: {candidate}: its data is wrong, or it failed: {said.strip()}", file=sys.stderr)
        elif samples:
            fits = int(self.options.seconds / max(seconds, 0.001))
            found = {"most": max(s.bytes for s in samples) or self.options.bytes[1], "iterations": min(max(fits, ITERATIONS[0]), ITERATIONS[1])}
            if status is None:
                found["late"] = f"timed up to {found['most']} bytes, which took {limit:.3g} s once"
        elif status is None:
            found["late"] = f"left out: it did no size in {limit:.3g} s; give more --seconds"
        path.unlink(missing_ok=True)
        verdict.write_text(json.dumps(found))
        return found, True

    def time(self, candidate, found, repeat):
        path = self.parts / candidate.file(repeat)
        if path.exists():
            return False
        partial = path.with_suffix(".partial.csv")
        # Data is made and checked for each call, whose time varies: four times the time that was asked for.
        status, said, _ = self.run(self.command(candidate, found["most"], found["iterations"], partial),
                                   4 * self.options.seconds + 5)
        if status not in (0, None):
            print(f"chorus-tune: {candidate}: left out: {said.strip()}", file=sys.stderr)
            partial.write_text("")
        partial.touch()
        whole_lines(partial).rename(path)
        return True

    def tell_late(self, candidates, n_fit):
        """Which are not timed at all sizes for want of time, and how many are."""
        for candidate in candidates:
            late = self.check(candidate)[0].get("late")
            if late:
                print(f"chorus-tune: {candidate}: {late}", file=sys.stderr)
        print(f"chorus-tune: {n_fit} of {len(candidates)} candidates run here and are timed", file=sys.stderr)

    def contenders(self, candidates):
        """Those within REPEATED of the best of some call."""
        best, found = defaultdict(lambda: float("inf")), {}
        for candidate in candidates:
            found[candidate] = read(self.parts / candidate.file(0), collectives(self.known))[0]
            for s in found[candidate]:
                best[s.coll, s.bytes] = min(best[s.coll, s.bytes], s.us)
        return [c for c in candidates if any(s.us <= REPEATED * best[s.coll, s.bytes] for s in found[c])]

    def measure(self, pes):
        """All candidates for a number of PEs; the file with what was measured."""
        candidates, fit = list(self.candidates(pes)), []
        bar = Bar(len(candidates))
        for candidate in candidates:
            found, has_run = self.check(candidate)
            if found["iterations"]:
                fit.append((candidate, found))
            bar.step(f"check {candidate}", has_run)
        self.tell_late(candidates, len(fit))
        near, verdicts = [candidate for candidate, _ in fit], dict(fit)
        for repeat in range(self.options.repeat):
            bar = Bar(max(1, len(near)))
            for candidate in near if repeat % 2 == 0 else reversed(near):
                bar.step(f"time {candidate}", self.time(candidate, verdicts[candidate], repeat))
            near = self.contenders(near) if repeat == 0 else near
        return self.gather(pes)

    def gather(self, pes):
        """The parts one after another, as one file for rules to cite."""
        path = self.folder / f"measured_{pes}.csv"
        parts = [part for part in sorted(self.parts.glob(f"{pes}-*.csv")) if not re.search("partial|check", part.name)]
        text = "".join(part.read_text() for part in parts)
        asked = shlex.join(["chorus-tune", *sys.argv[1:]])
        path.write_text(f"# run: {asked}\n" + re.sub(r"--csv \S+", f"--csv {path.name}", text))
        return path


def measure(options, known):
    """The files with what was measured, one for each number of PEs."""
    measuring = Measuring(options, known)
    return [str(measuring.measure(pes)) for pes in options.job]
