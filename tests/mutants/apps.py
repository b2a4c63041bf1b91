#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do the tests of libchorus-apps, and their cases on a simulated machine, see the faults that it could have?

    apps.py FOLDER LIBRARY COMPILER...

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
HEADER, GATHER = "src/apps/halo.h", "src/apps/gather.c"
WIRE, COMBINE, DISPATCH, MOE_CHECK = (f"src/apps/moe_{part}.c" for part in ("wire", "combine", "dispatch", "check"))
# The cases of each part that the simulated machine runs.
SIMULATED = {"halo": '"exchange", "boxes"', "moe": '"moe__", "dispatch"'}
FLAGS = ["-std=gnu11", "-ffp-contract=off", "-D_GNU_SOURCE", "-O1", "-w", "-pthread"]


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
    Mutant("a PE has one slot for a peer", WIRE, "const size_t at = (number & 1) * moe->slot_bytes;", "const size_t at = 0;"),
    Mutant("messages of a peer share a word", WIRE, "uint64_t *arrived = word(moe, ARRIVED, number, moe->me);",
           "uint64_t *arrived = word(moe, ARRIVED, 0, moe->me);"),
    Mutant("a message is written before its slot is free", WIRE, "__ATOMIC_ACQUIRE) >= number - 2;",
           "__ATOMIC_ACQUIRE) + 2 >= number - 2;"),
    Mutant("a message that has not come is read", WIRE, "__ATOMIC_ACQUIRE) < number)", "__ATOMIC_ACQUIRE) + 1 < number)"),
    Mutant("a token is added up before all of its rows are there", COMBINE, "        is_there = false;\n", ""),
    Mutant("a message is given back after its first token", COMBINE,
           " && list->first[p->in_at] + p->row_at == list->first[p->in_end])", ")"),
    Mutant("the own rows of a token are one row", COMBINE, "rows[moe->call.own_row++]", "rows[moe->call.own_row]"),
    Mutant("weights are not renormalised", COMBINE, "moe->config.renormalise != 0 ?", "0 ?"),
    Mutant("scales are those of the first token", DISPATCH,
           "memcpy(to + hidden, moe->call.from_scales + token * scale, scale);",
           "memcpy(to + hidden, moe->call.from_scales, scale);"),
    Mutant("a token without rows is left as it is", COMBINE, "        memset(out, 0, bytes);\n", "        ;\n"),
    Mutant("memory is freed to which words are under way", GATHER, "const int code = chorus_barrier(team);",
           "const int code = CHORUS_OK;"),
    Mutant("a route of before a mask serves", MOE_CHECK, "if (route->mask != moe->mask_number)", "if (0)"),
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
    part = "moe" if "moe" in mutant.file else "halo"
    shutil.copytree(TOP / "src/apps", place / "src/apps")
    (place / mutant.file).write_text(text)
    tests = TOP / "tests"
    sources = [*(place / "src/apps").glob(f"{part}*.c"), place / "src/apps/gather.c", tests / f"apps/test_apps_{part}.c"]
    for name, more in (("sim", ["-Dusleep=sim_sleep", f"-DSIM_CASES={SIMULATED[part]}", tests / "apps/sim_pes.c"]),
                       ("test", [tests / "api_pes.c", library, f"-Wl,-rpath,{library.parent}"])):
        subprocess.run([*compiler, *FLAGS, f"-I{place}/src", f"-I{TOP}/include", f"-I{tests}", *sources, *more,
                        "-o", place / name, *check, "-lm"], check=True)
        if fails([place / name, *(["6"] if name == "sim" else [])]):
            return ""
    return "both pass"


def main():
    folder, library, compiler = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3:]
    check = subprocess.run(["pkg-config", "--cflags", "--libs", "check"], capture_output=True, text=True,
                           check=True).stdout.split()
    return judge(MUTANTS, folder, functools.partial(survives, library, compiler, check), 2)


if __name__ == "__main__":
    sys.exit(main())
