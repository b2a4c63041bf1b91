#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every recipe of docs/howto.md works as the page has it.

test_docs_howto.py ROOT BUILD CHORUSRUN CHORUS-INFO CHORUS-SWEEP CHORUS-TUNE LIBRARY: a recipe has a row
in RECIPES; what is neither run here nor tested elsewhere says why. Lines of C are put into a program
that checks what they do, and in which PEs are late.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

root, build, *programs, library = map(os.path.abspath, sys.argv[1:])
names = dict(zip(("chorusrun", "chorus-info", "chorus-sweep", "chorus-tune"), programs))
faults = []

HEAD = r"""
#include <chorus/chorusx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define CHECK(x) do { if (!(x)) { fprintf(stderr, "PE %d: not so: %s\n", chorus_my_pe(), #x); exit(3); } } while (0)
int main(void)
{
    if (chorus_init() != 0) return 1;
    int me = chorus_my_pe(), n = chorus_n_pes();
"""
TAIL = "chorus_finalize(); (void)me, (void)n; return 0; }\n"

# A PE in turn is late before a step, and another one after its puts.
HALOS = r"""
    enum { COLUMNS = 4, STEPS = 300 };
    double (*halo)[2][COLUMNS] = chorus_calloc(2, sizeof(*halo)), first[COLUMNS], last[COLUMNS];
    uint64_t *arrived = chorus_calloc(2, sizeof(*arrived)), step;
    chorus_barrier_all();
    for (step = 1; step <= STEPS; step++) {
        for (int i = 0; i < COLUMNS; i++) first[i] = last[i] = (double)(step * 100 + (unsigned)me);
        if (step % 7 == 0 && step / 7 % (unsigned)n == (unsigned)me) usleep(3000);
        %s
        if (step % 5 == 0 && step / 5 % (unsigned)n == (unsigned)me) usleep(2000);
        for (int i = 0; i < COLUMNS; i++) {
            CHECK(me == 0 || halo[step % 2][ABOVE][i] == (double)(step * 100 + (unsigned)me - 1));
            CHECK(me + 1 == n || halo[step % 2][BELOW][i] == (double)(step * 100 + (unsigned)me + 1));
        }
    }
"""
TEAMS = r"""
    chorus_team_t even = CHORUS_TEAM_INVALID;
    int *sum = chorus_calloc(1, sizeof(int)), *one = chorus_calloc(1, sizeof(int));
    *one = 1;
    if (me == 0) usleep(20000);
    %s
    CHECK((even != CHORUS_TEAM_INVALID) == (me % 2 == 0));
    if (me % 2 == 0) CHECK(chorus_int_sum_reduce(even, sum, one, 1) == 0 && *sum == (n + 1) / 2);
"""
STREAM = r"""
    enum { count = 1000 };
    float *sums = chorus_calloc(count, sizeof(float)), *values = chorus_calloc(count, sizeof(float));
    chorus_stream_t stream;
    for (int i = 0; i < count; i++) values[i] = (float)(me + i);
    %s
    for (int i = 0; i < count; i++) CHECK(sums[i] == (float)(n * (n - 1) / 2 + n * i));
"""
BROKEN = r"""
    chorus_barrier_all();
    if (me == 1) exit(5);
    chorus_barrier_all();
"""
WAITS = r"""
    if (me == 1) sleep(3);
    chorus_barrier_all();
"""


def commands_of(block):
    return [line.split(" # ")[0].rstrip() for line in block]


def compile_program(folder, name, body):
    with open(f"{folder}/{name}.c", "w", encoding="utf-8") as file:
        file.write(HEAD + body + TAIL)
    run(folder, f"cc -w {name}.c $(pkg-config --cflags --libs chorus) -o {name}", 0)


def run(folder, command, status=None, **environment):
    """What a command says, found as it would be on a user's PATH."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("CHORUS_")}
    env |= {"PATH": f"{folder}/bin:{env['PATH']}", "XDG_CONFIG_HOME": folder, **environment}
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, text=True, timeout=100, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if status is not None and done.returncode != status:
        faults.append(f"{command} ended with {done.returncode}, not {status}:\n{done.stdout}")
    return done.stdout


def c_recipe(text, pes):
    def check(folder, blocks):
        code = "\n".join(blocks[0]).replace("...", "if (me == 1) usleep(20000);")
        compile_program(folder, "recipe", text.replace("%s", code))
        run(folder, f"chorusrun -n {pes} --timeout 60 ./recipe", 0)
        if pes > 2:
            run(folder, f"chorusrun -n {pes} --timeout 60 ./recipe", 0, CHORUS_NODES="2")
    return check


def start(folder, blocks):
    run(folder, f"cp {root}/examples/hello.c .")
    for command in commands_of(blocks[0]):
        said = run(folder, command.replace("--hosts", f"--launcher {root}/tests/launch_here --hosts"), 0)
        if "chorusrun" in command and said.count("PE ") < 4:
            faults.append(f"{command} prints:\n{said}")


def explain(folder, blocks):
    if "reduce" not in run(folder, commands_of(blocks[0])[0], 0):
        faults.append("chorus-info explain does not say which algorithm")


def sweeps(folder, blocks):
    first, second = commands_of(blocks[0])
    for name in ("before", "after"):
        run(folder, first.replace("-n 4", "-n 2").replace("before", name) + " -e 64 -n 5", 0)
    run(folder, second)


def hang(folder, blocks):
    compile_program(folder, "late", WAITS)
    background = subprocess.Popen([f"{folder}/bin/chorusrun", "-n", "2", f"{folder}/late"])
    time.sleep(1)
    said = run(folder, commands_of(blocks[0])[0].replace("PID", str(background.pid)), 0)
    background.wait(20)
    if "PE 0" not in said or "PE 1" not in said:
        faults.append(f"chorus-info job prints:\n{said}")
    compile_program(folder, "program", BROKEN)
    record, *shows = commands_of(blocks[1])
    run(folder, record, 5)
    for show in shows:
        said = run(folder, show)
        if "--perfetto" not in show and "barrier" not in said:
            faults.append(f"{show} does not print the calls:\n{said}")
    with open(f"{folder}/calls.json", encoding="utf-8") as timeline:
        json.load(timeline)


def none(_reason):
    return lambda folder, blocks: None


RECIPES = {
    "compile and start": start,
    "exchange halos": c_recipe(HALOS, 3),
    "collective on some": c_recipe(TEAMS, 3),
    "compute while": c_recipe(STREAM, 3),
    "use GPUs": lambda folder, blocks: run(folder, "CHORUS_HEAP=cuda chorus-info version"),
    "CUDA graph": none("tests/gpu and examples/run_graph.sh, on GPUs"),
    "inside a kernel": none("tests/gpu and examples/run_kernel.sh, on GPUs"),
    "which algorithm": explain,
    "tune for my machine": none("test_tools_tune.py; to measure takes minutes"),
    "made collectives slower": sweeps,
    "why a job hangs": hang,
    "different calls": none("mistake_pe, by test_tools_record.py"),
    "from ending the job": lambda folder, blocks: run(folder, "chorusrun -n 2 ./late", 0, CHORUS_TIMEOUT="0"),
    "in a profiler": none("test_api_nvtx.sh, test_api_trace.c"),
    "all variables": lambda folder, blocks: run(folder, "chorus-info options", 0),
}


def recipes():
    """Title and blocks of each."""
    with open(f"{root}/docs/howto.md", encoding="utf-8") as page:
        parts = re.split(r"^\*\*\.\.\. ", page.read(), flags=re.M)[1:]
    for part in parts:
        title = " ".join(part.split("**")[0].split())
        yield title, [[line[4:] for line in block.splitlines()]
                      for block in re.findall(r"(?:^ {4}.*\n)+", part, re.M)]


def lay_out(folder):
    """The programs of the build, as if they were installed."""
    os.mkdir(f"{folder}/bin")
    for name, program in names.items():
        os.symlink(program, f"{folder}/bin/{name}")
    with open(f"{folder}/bin/pkg-config", "w", encoding="utf-8") as file:
        where = os.path.dirname(library)
        file.write(f"#!/bin/sh\ncase $* in *--variable=libdir*) echo {where} ;;\n"
                   f"*) echo -I{root}/include -I{build}/include -L{where} -lchorus -Wl,-rpath,{where} ;; esac\n")
    os.chmod(f"{folder}/bin/pkg-config", 0o755)


with tempfile.TemporaryDirectory() as scratch:
    lay_out(scratch)
    for title, blocks in recipes():
        found = [check for words, check in RECIPES.items() if words in title]
        if len(found) != 1:
            faults.append(f"docs/howto.md: '{title}' has {len(found)} rows in RECIPES")
        else:
            found[0](scratch, blocks)
sys.exit("\n".join(faults) or 0)
