#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do faults.py and inside.py see what the launcher and the library could do wrong when a PE is lost?

    mutants.py BUILD_DIR

As ../mutants/mutants.py: each mutant is a launcher, or a program with the library in it, of which
one source has one mistake. Runs with the fault must fail and must say why in the words given.
"""
import dataclasses
import functools
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "mutants"))
import built  # pylint: disable=wrong-import-position
from judge import TOP, judge  # pylint: disable=wrong-import-position

LAUNCHER, PROGRAM, GPU_PROGRAM = "tools/chorusrun", "tests/faults/faults_pe", "tests/faults/faults_gpu_pe"
SEEDS = 4
ATTEMPTS = 3  # of faults inside kernels
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
    is_of_gpus: bool = False
    is_inside: bool = False  # inside.py shows it

    @property
    def target(self):
        if self.is_of_gpus or self.is_inside:
            return GPU_PROGRAM
        return LAUNCHER if self.file.startswith("tools/") else PROGRAM


MUTANTS = [
    Mutant("a dead PE is ignored", "tools/chorusrun_judge.c",
           "judge_ended(job, pe, false, news->value, news->text);", ";", "kill", "reduce",
           "has not ended after|status 0; expected one of"),
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
    Mutant("messages of GPUs stay registered", "src/heap/pool.c", "ch_device_unregister(data->device, there);", "(void)there;",
           "kill", "put", "left behind: .* registrations: [1-9]", True),
    Mutant("an operation on a stream does not say who was lost", "src/coll/cuda/gpu_cuda.c",
           "peers, ch_wait_why(gpu->policy, status)", "peers, ch_status_text(status)", "kill", "stream_get", "does not say", True),
    Mutant("a timeout inside a kernel does not say who is late", "src/coll/cuda/gpu_cuda.c",
           "!= CHORUS_ERR_TIMEOUT) return UINT32_MAX;", "!= CHORUS_ERR_STATE) return UINT32_MAX;", "stop", "get",
           "PE 1 is not named", is_inside=True),
    Mutant("calls inside kernels wait on when the job ends", "src/base/door.c",
           "if (__atomic_load_n(&p->door->aborted, __ATOMIC_RELAXED)) return CHORUS_ERR_ABORTED;", "", "kill", "amo",
           "no '.*atomic, failed", is_inside=True),
    Mutant("bytes of strangers end the network", "src/transport/tcp/connect.c",
           "(void)ch_tcp_call_send(call, &answer, sizeof(answer));\n    end_accepted(ep, call);",
           "(void)ch_tcp_call_send(call, &answer, sizeof(answer));\n    ep->status = CHORUS_ERR_SYSTEM;\n    end_accepted(ep, call);",
           "strangers", "get", "a call has failed", is_inside=True),
]


def survives(build, mutant, text, place):
    """Why the mutant is alive, or nothing."""
    source = place / pathlib.Path(mutant.file).name
    source.write_text(text)
    programs = {name: build / name for name in (LAUNCHER, PROGRAM, GPU_PROGRAM)}
    target = mutant.target
    programs[target] = place / pathlib.Path(target).name
    holder = LAUNCHER if target == LAUNCHER else built.INSIDE
    built.link(build, target, *built.compile_in_place_of(build, holder, mutant.file, source), programs[target])
    if mutant.is_inside:
        command = [str(TOP / "tests/faults/inside.py"), str(programs[GPU_PROGRAM]), mutant.fault, "far", mutant.moment]
        why = ""
        for _ in range(ATTEMPTS):  # where other work has the cores, an attempt may look before the harm is done
            why = is_alive(mutant, command)
            if not why:
                break
        return why
    gpus = ["--gpus", str(programs[GPU_PROGRAM]), "--only-gpus"] if mutant.is_of_gpus else []
    return is_alive(mutant, [str(TOP / "tests/faults/faults.py"), str(programs[LAUNCHER]), str(programs[PROGRAM]), *gpus,
                             "--fault", mutant.fault, "--moment", mutant.moment, "--seeds", f"1..{SEEDS}", "--jobs",
                             str(SEEDS), "--give-up", str(GIVE_UP_S)])


def is_alive(mutant, command):
    result = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=100, check=False)
    if result.returncode == 1 and re.search(mutant.says, result.stdout):
        return ""
    return f"was expected to say '{mutant.says}', but: {result.stdout}{result.stderr}"


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    has_gpus = (build / GPU_PROGRAM).exists()
    mutants = [mutant for mutant in MUTANTS if has_gpus or not (mutant.is_of_gpus or mutant.is_inside)]
    return judge(mutants, build / "tests/faults/mutants",
                 functools.partial(survives, build), 4)  # most of the time they hang


if __name__ == "__main__":
    sys.exit(main())
