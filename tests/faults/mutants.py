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
import shlex
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
LAUNCHER, PROGRAM, INSIDE = "tools/chorusrun", "tests/faults/faults_pe", "libchorus_inside.a"
SEEDS = 4


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


def commands_of(build, target):
    """What ninja runs for a target: lists of words, the last one links."""
    lines = subprocess.run(["ninja", "-C", str(build), "-t", "commands", target], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    return [shlex.split(line) for line in lines]


def compile_mutant(build, source, mutant):
    """The object made from it, and the one that it stands for."""
    target = LAUNCHER if mutant.file.startswith("tools/") else INSIDE
    command = next(c for c in commands_of(build, target) if c[-1].endswith("/" + mutant.file))
    at = command.index("-o") + 1
    original, command[at], command[-1] = command[at], str(source.with_suffix(".o")), str(source)
    command[command.index("-MF") + 1] = str(source.with_suffix(".d"))
    subprocess.run(command + ["-w"], cwd=build, check=True)
    return command[at], original


def link(build, target, mutated, original, out):
    """The target with the mutant's object, before what an archive has."""
    words = [word for word in commands_of(build, target)[-1] if word != original]
    at = words.index("-o") + 1
    words[at:at + 1] = [str(out), mutated]
    subprocess.run(words, cwd=build, check=True)


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
    link(build, target, *compile_mutant(build, source, mutant), programs[target])
    result = subprocess.run([sys.executable, str(TOP / "tests/faults/faults.py"),
                             *map(str, programs.values()), "--fault", mutant.fault, "--moment",
                             mutant.moment, "--seeds", f"1..{SEEDS}", "--jobs", str(SEEDS)],
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
