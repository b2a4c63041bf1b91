#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does faults.py see what the launcher and the library could do wrong when a PE is lost?

    mutants.py BUILD_DIR

As ../mutants/mutants.py: each mutant is a launcher, or a program with the library in it, of which
one source has one mistake. Runs with the fault must fail and must say why in the words given.
"""
import concurrent.futures
import dataclasses
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "mutants"))
import built  # pylint: disable=wrong-import-position

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
LAUNCHER, PROGRAM = "tools/chorusrun", "tests/faults/faults_pe"
SEEDS = 4
GIVE_UP_S = 4.5  # more than a run of these faults may take


@dataclasses.dataclass
class Mutant:
    name: str
    file: str
    old: str
    new: str
    fault: str  # which shows it
    moment: str
    says: str  # a regular expression


MUTANTS = [
    Mutant("a dead PE is ignored", "tools/chorusrun_judge.c",
           "judge_ended(job, pe, false, news->value, news->text);", ";", "kill", "reduce",
           "has not ended after"),
    Mutant("the wrong PE is named", "tools/chorusrun_judge.c",
           "who(pe, &w), signo, strsignal(signo), blame);",
           "who(&job->pes[pe == job->pes && job->n_started > 1], &w), signo, "
           "strsignal(signo), blame);", "segv", "team", "does not say"),
    Mutant("its status is lost", "tools/chorusrun_judge.c",
           "job_end(job, status, \"%s exited", "job_end(job, STATUS_NOT_LEFT, \"%s exited",
           "quit", "alltoall", "status 1; expected"),
    Mutant("what dead PEs left lives on", "tools/chorusrun_end.c", "while (sweep_once(path))",
           "while (0)", "orphan", "growth", "left behind"),
    Mutant("a stopped PE is never killed", "tools/chorusrun_end.c",
           "signal_all(job, SIGKILL);", "", "stop", "quiet_barrier", "has not ended after"),
    Mutant("a PE that became another program is not missed", "tools/chorusrun_judge.c",
           "if (news->kind == NEWS_MISSED) miss(job, pe);", "", "exec_lives", "reducescatter",
           "has not ended after"),
    Mutant("waits have no deadline", "src/base/door.c", "now - w->start_ns > p->timeout_ns", "0",
           "stop", "barrier", "has not ended after"),
    Mutant("the heap of a thread's job stays", "src/api/start.c", "ch_heap_close(context->heap);", "",
           "storm", "fcollect", "left behind: .* mapped memfds"),
]


def survives(build, place, mutant):
    """Why the mutant is alive, or nothing."""
    text = (TOP / mutant.file).read_text()
    if text.count(mutant.old) != 1:
        return f"{mutant.file} has {text.count(mutant.old)} places with: {mutant.old}"
    place.mkdir(parents=True)
    source = place / pathlib.Path(mutant.file).name
    source.write_text(text.replace(mutant.old, mutant.new))
    programs = {LAUNCHER: build / LAUNCHER, PROGRAM: build / PROGRAM}
    target = LAUNCHER if mutant.file.startswith("tools/") else PROGRAM
    programs[target] = place / pathlib.Path(target).name
    holder = LAUNCHER if target == LAUNCHER else built.INSIDE
    built.link(build, target, *built.compile_in_place_of(build, holder, mutant.file, source), programs[target])
    result = subprocess.run([sys.executable, str(TOP / "tests/faults/faults.py"),
                             *map(str, programs.values()), "--fault", mutant.fault, "--moment",
                             mutant.moment, "--seeds", f"1..{SEEDS}", "--jobs", str(SEEDS), "--give-up", str(GIVE_UP_S)],
                            capture_output=True, text=True, timeout=100, check=False)
    if result.returncode == 1 and re.search(mutant.says, result.stdout):
        return ""
    return f"was expected to say '{mutant.says}', but: {result.stdout}{result.stderr}"


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    top = build / "tests/faults/mutants"
    shutil.rmtree(top, ignore_errors=True)
    places = [top / str(i) for i in range(len(MUTANTS))]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(4) as pool:  # most of the time they hang
        outcomes = pool.map(lambda m, p: survives(build, p, m), MUTANTS, places)
        for mutant, wrong in zip(MUTANTS, outcomes):
            print(f"{'ALIVE' if wrong else 'killed'}  {mutant.name}{': ' if wrong else ''}{wrong}")
            failed += bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
