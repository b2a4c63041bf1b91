#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do test_apps_halo, and its cases on a simulated machine, see the faults that halo exchange could have?

    halo.py FOLDER LIBRARY COMPILER...

As mutants.py: each mutant is a file of src/apps with one fault, with which one of the two must fail. FOLDER gets
the programs; LIBRARY is libchorus.so.
"""
import functools
import os
import pathlib
import shutil
import subprocess
import sys
import typing

from judge import TOP, judge

RUN, MAKE, CHECK, ELEMENTS = (f"src/apps/halo{part}.c" for part in ("_run", "", "_check", "_elements"))
HEADER = "src/apps/halo.h"
FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-O1", "-w", "-pthread"]


class Mutant(typing.NamedTuple):
    name: str
    file: str
    old: str
    new: str  # what stands there instead


MUTANTS = [
    Mutant("parity is forgotten", HEADER, "(step & 1) * ch_halo_slot_bytes", "0 * ch_halo_slot_bytes"),
    Mutant("a sender has one slot", RUN, "return slots + ch_halo_slot_at(w->out->count, halo->elem_bytes, step);",
           "return slots;"),
    Mutant("slots share a word, whose changes networks exchange", RUN, "w->arrived_there[step & 1], step, CHORUS_SIGNAL_SET",
           "w->arrived_there[0], step, CHORUS_SIGNAL_SET"),
    Mutant("the signal comes before the last part", RUN, "if (has_all) announce(halo, link, w, step);",
           "announce(halo, link, w, step);"),
    Mutant("an element that depends on others is sent early", RUN,
           "const bool has_all = are_taken(halo, way, w->after, w->n_after);", "const bool has_all = true;"),
    Mutant("the last of the elements that are sent at once depends on others", MAKE,
           "if (forward->at_once > order->at) forward->at_once = order->at;",
           "if (forward->at_once > order->at + 1) forward->at_once = order->at + 1;"),
    Mutant("a slot is written before it is free", RUN, "__atomic_load_n(w->freed[step & 1], __ATOMIC_ACQUIRE) + 2 >= step",
           "__atomic_load_n(w->freed[step & 1], __ATOMIC_ACQUIRE) + 4 >= step"),
    Mutant("a message of the step before is taken", RUN, "__atomic_load_n(w->arrived[step & 1], __ATOMIC_ACQUIRE) >= step",
           "__atomic_load_n(w->arrived[step & 1], __ATOMIC_ACQUIRE) + 1 >= step"),
    Mutant("sums are added as they come", MAKE, "later != 0 && later != order->link + 1", "0"),
    Mutant("sums do not wait for what others add", MAKE, "add_number(&on->after, &on->n_after, order->link)", "true"),
    Mutant("what is sent does not wait for its links", MAKE, "add_number(&forward->after, &forward->n_after, from - 1)",
           "true"),
    Mutant("links to a peer are not told apart", CHECK, "if (records[i].peer == to && records[i].tag == tag) return i;",
           "if (records[i].peer == to) return i;"),
    Mutant("numbers of elements are not compared", CHECK, "if (mine->n_send == theirs->n_recv) return CHORUS_OK;",
           "return CHORUS_OK;"),
    Mutant("an element may be received twice", CHECK, "if (check->receiver[element] != 0)", "if (0)"),
    Mutant("a run is one element short", ELEMENTS, "? at + e->runs[r].count : to;", "? at + e->runs[r].count - 1 : to;"),
    Mutant("a box has its dimensions exchanged", ELEMENTS, "x * part->stride[0] + y * part->stride[1]",
           "x * part->stride[1] + y * part->stride[0]"),
]


def fails(command):
    """Whether a program ends with a failure. Some wait for ever."""
    try:
        result = subprocess.run(command, capture_output=True, timeout=60, check=False,
                                env={**os.environ, "CHORUS_TIMEOUT": "3", "CK_DEFAULT_TIMEOUT": "10"})
    except subprocess.TimeoutExpired:
        return False
    return result.returncode != 0


def survives(library, compiler, check, mutant, text, place):
    """Why the mutant is alive, or nothing."""
    shutil.copytree(TOP / "src/apps", place / "src/apps")
    (place / mutant.file).write_text(text)
    tests = TOP / "tests"
    sources = [*(place / "src/apps").glob("halo*.c"), place / "src/apps/gather.c", tests / "apps/test_apps_halo.c"]
    for name, more in (("sim_halo", ["-Dusleep=sim_sleep", '-DSIM_CASES="exchange", "boxes"', tests / "apps/sim_pes.c"]),
                       ("test_apps_halo", [tests / "api_pes.c", library, f"-Wl,-rpath,{library.parent}"])):
        subprocess.run([*compiler, *FLAGS, f"-I{place}/src", f"-I{TOP}/include", f"-I{tests}", *sources, *more,
                        "-o", place / name, *check], check=True)
        if fails([place / name]):
            return ""
    return "both pass"


def main():
    folder, library, compiler = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3:]
    check = subprocess.run(["pkg-config", "--cflags", "--libs", "check"], capture_output=True, text=True,
                           check=True).stdout.split()
    return judge(MUTANTS, folder, functools.partial(survives, library, compiler, check), 2)


if __name__ == "__main__":
    sys.exit(main())
