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
GATHER = "src/apps/gather.c"
# What hosts and kernels share, and what kernels are made of.
ORDER, DEVICE = (f"include/chorus/apps/halo_{part}" for part in ("order.h", "device.cuh"))
HALO_KERNEL, HALO_GPU = "src/apps/halo_kernel_cuda.h", "src/apps/halo_gpu.c"
WIRE, COMBINE, DISPATCH, MOE_CHECK = (f"src/apps/moe_{part}.c" for part in ("wire", "combine", "dispatch", "check"))
MOE_KERNEL = "src/apps/moe_kernel_cuda.h"
NO_KERNELS = {"halo": "src/apps/halo_launch_none.c", "moe": "src/apps/moe_gpu_none.c"}
# The cases of each part that the simulated machine runs.
SIMULATED = {"halo": '"exchange", "boxes"', "moe": '"moe__", "dispatch"'}
FLAGS = ["-std=gnu11", "-ffp-contract=off", "-D_GNU_SOURCE", "-O1", "-w", "-pthread"]


class Mutant(typing.NamedTuple):
    name: str
    file: str
    old: str
    new: str  # what stands there instead
    within: str = ""


MUTANTS = [
    Mutant("parity is forgotten", ORDER, "return (step & 1) * ch_halo_slot_bytes", "return 0 * ch_halo_slot_bytes"),
    Mutant("a sender has one slot", RUN, "return slots + ch_halo_slot_at(w->n_out, halo->elem_bytes, w->sent + 1);",
           "return slots;"),
    Mutant("slots share a word, whose changes networks exchange", RUN,
           "w->arrived_there[step & 1], step, CHORUS_SIGNAL_SET,\n",
           "w->arrived_there[0], step, CHORUS_SIGNAL_SET,\n"),
    Mutant("the signal comes before the last part", RUN, "if (ch_halo_note_sent(&view, act)) announce(halo, w);",
           "(void)ch_halo_note_sent(&view, act), announce(halo, w);"),
    Mutant("an element that depends on others is sent early", ORDER,
           "has_all = ch_halo_are_taken(v->ways, w->after, w->n_after);", "has_all = 1;"),
    Mutant("the last of the elements that are sent at once depends on others", MAKE,
           "if (forward->at_once > order->at) forward->at_once = order->at;",
           "if (forward->at_once > order->at + 1) forward->at_once = order->at + 1;"),
    Mutant("a slot is written before it is free", ORDER, "CH_HALO_LOAD(w->freed[step & 1]) + 2 >= step",
           "CH_HALO_LOAD(w->freed[step & 1]) + 4 >= step"),
    Mutant("a message of the step before is taken", ORDER, "CH_HALO_LOAD(w->arrived[step & 1]) >= step",
           "CH_HALO_LOAD(w->arrived[step & 1]) + 1 >= step"),
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
    Mutant("kernels have one slot for what arrives", DEVICE,
           "return w->slots + ch_halo_slot_at(w->n_in, elem_bytes, w->taken + 1);", "return w->slots;"),
    Mutant("the first block to pack signals", HALO_KERNEL, "atomicAdd(n_done, 1u) == share.n - 1", "atomicAdd(n_done, 1u) == 0",
           "ch_halo_is_last"),
    Mutant("blocks signal for themselves", HALO_KERNEL,
           "if (act.to == w->n_out && ch_halo_is_last(board, share, w->n_packed))", "if (act.to == w->n_out)"),
    Mutant("kernels signal before the last part", HALO_KERNEL,
           "if (act.to == w->n_out && ch_halo_is_last(board, share, w->n_packed))",
           "if (ch_halo_is_last(board, share, w->n_packed))"),
    Mutant("a slot is freed by the first block that has read it", HALO_KERNEL,
           "if (ch_halo_is_last(board, share, w->n_taken) && ch_halo_lane() == 0) ch_halo_free_slot(w);",
           "if (ch_halo_lane() == 0) ch_halo_free_slot(w);"),
    Mutant("a kernel sends early what depends on others", DEVICE, "#define CH_HALO_LOAD(word) chorus_signal_fetch(word)",
           "#define CH_HALO_LOAD(word) (*(word) + 1)"),
    Mutant("blocks divide each part of a message anew", DEVICE, "return s->lo <= first ? first :", "return 1 ? s->lo + first :"),
    Mutant("a counter of blocks is not cleared", HALO_KERNEL, "if (board->is_last) *n_done = 0;", ";"),
    Mutant("a block forgets what it did when the exchange began", HALO_KERNEL, "kept[i] = v->own[i];", ";"),
    Mutant("the first block to leave raises the steps", HALO_KERNEL,
           "if (!ch_halo_is_last(board, all, &task->halo.common->n_ended)) return;", "if (blockIdx.x != 0) return;"),
    Mutant("a kernel's put does not wait for its slot", DEVICE,
           "ch_halo_await_word(w->freed[step & 1], step > 2 ? step - 2 : 0);", "__syncthreads();"),
    Mutant("a kernel's unpack does not wait", DEVICE, "ch_halo_await_word(w->arrived[step & 1], step);", "__syncthreads();"),
    Mutant("lanes go on before the word that one waits for", DEVICE,
           "    __syncthreads(); /* what came before the word is there for all */\n", ""),
    Mutant("lanes have packed less than is signalled", DEVICE, "    __syncthreads(); /* all lanes have packed */\n", ""),
    Mutant("a lane changes the act that others read", HALO_KERNEL,
           "        __syncthreads(); /* all have done it before the next is found */\n", ""),
    Mutant("tables have the lists of the other way", HALO_GPU, "w.out = way == CH_HALO_FORWARD ? send : recv;",
           "w.out = way != CH_HALO_FORWARD ? send : recv;"),
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
    Mutant("peers are told when the first block has done its part", MOE_KERNEL, "if (*n_before != gridDim.x - 1) return;",
           "if (*n_before == 0) ch_moe_tell(moe, moe->last); if (*n_before != gridDim.x - 1) return;"),
    Mutant("rows of the PEs before are not left free", MOE_KERNEL, "experts->base[e] = base;", "experts->base[e] = 0;"),
    Mutant("combine reads what is not there", MOE_KERNEL, "    if (!ch_moe_hear(moe, moe->first)) return;\n", "",
           "ch_moe_combine_kernel"),
    Mutant("rows follow from counts that have not come", MOE_KERNEL, "    if (!ch_moe_hear(moe, moe->first)) return;\n",
           "    __syncthreads();\n", "ch_moe_dispatch_kernel"),
    Mutant("a call ends before all have sent or read", MOE_KERNEL, "    if (!ch_moe_hear(moe, moe->last)) return;\n",
           "    __syncthreads();\n"),
    Mutant("a kernel's rows have no capacity", MOE_KERNEL,
           "if (moe->capacity != 0 && rank >= moe->capacity) return place;", ""),
    Mutant("rows are written behind the array", MOE_KERNEL, "if (place.row < moe->rows_max) place.pe", "place.pe"),
    Mutant("counts are of rows that there is no room for", MOE_KERNEL, "n < room ? n : room", "n"),
    Mutant("rows of an expert overlap those of the one before", MOE_KERNEL, "row += n;", "row += n > 0 ? n - 1 : 0;"),
    Mutant("a block does not count the entries before it", MOE_KERNEL,
           "ch_moe_count(moe, call->topk_idx, range.lo * moe->topk, experts->next);",
           "ch_moe_count(moe, call->topk_idx, 0, experts->next);"),
    Mutant("entries of a warp share a row", MOE_KERNEL, "next[expert] + (uint32_t)__popc(before)", "next[expert]"),
    Mutant("a warp forgets how many entries it had", MOE_KERNEL, "rank + (uint32_t)__popc(equals)", "rank + 1"),
    Mutant("experts that are off are counted", MOE_KERNEL, "moe->is_on[e] != 0 ? count[e] : 0", "count[e]"),
    Mutant("kernels do not renormalise", MOE_KERNEL, "moe->renormalises\n", "0 && moe->renormalises\n"),
    Mutant("lanes read the summands of the next token", MOE_KERNEL,
           "width);\n        __syncwarp();", "width);", "ch_moe_add_range"),
    Mutant("warps that share a token move the same part", MOE_KERNEL, "part % share->parts *", "0 *"),
    Mutant("calls have the same number", MOE_KERNEL, "moe->numbers[p]++;", "(void)0;"),
    Mutant("a route of before a mask serves", MOE_CHECK, "if (route->mask != moe->mask_number)", "if (0)"),
]


def fails(command):
    """Whether a program ends with a failure. Some wait for ever."""
    try:
        result = subprocess.run(command, capture_output=True, timeout=150, check=False,
                                env={**os.environ, "CHORUS_TIMEOUT": "3", "CK_DEFAULT_TIMEOUT": "60"})
    except subprocess.TimeoutExpired:
        return False
    return result.returncode != 0


def programs(part, library, mutant):
    """The tests of a part, and what each is compiled with besides the sources of the part."""
    tests = TOP / "tests/apps"
    linked = [TOP / "tests/api_pes.c", library, f"-Wl,-rpath,{library.parent}"]
    if mutant.file in (DEVICE, HALO_KERNEL, HALO_GPU):
        return [("kernel", ["-Dchorusx_heap_info=fake_heap_info", "-DCH_HALO_SHARE_BYTES=48", "-fno-strict-aliasing",
                            tests / "test_apps_halo_gpu.c", tests / "kernel_fake.c", *linked])]
    if mutant.file == MOE_KERNEL:
        return [("kernel", ["-Dchorusx_heap_info=moe_fake_heap_info", tests / "test_apps_moe_stream.c", tests / "moe_gpu_fake.c",
                            tests / "kernel_fake.c", *linked])]
    test = tests / f"test_apps_{part}.c"
    return [("sim", ["-Dusleep=sim_sleep", f"-DSIM_CASES={SIMULATED[part]}", test, tests / "sim_pes.c"]), ("test", [test, *linked])]


def survives(library, compiler, check, mutant, text, place):
    """Why the mutant is alive, or nothing."""
    part = "moe" if "moe" in mutant.file else "halo"
    shutil.copytree(TOP / "src/apps", place / "src/apps")
    shutil.copytree(TOP / "include/chorus/apps", place / "include/chorus/apps")
    (place / mutant.file).write_text(text)
    for name, more in programs(part, library, mutant):
        sources = [*(place / "src/apps").glob(f"{part}*.c"), place / "src/apps/gather.c"]
        if name == "kernel":
            sources.remove(place / NO_KERNELS[part])
        subprocess.run([*compiler, *FLAGS, f"-I{place}/src", f"-I{place}/include", f"-I{TOP}/include", f"-I{TOP}/tests",
                        *sources, *more, "-o", place / name, *check, "-lm"], check=True)
        if fails([place / name, *(["6"] if name == "sim" else [])]):
            return ""
    return "all pass"


def main():
    folder, library, compiler = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3:]
    check = subprocess.run(["pkg-config", "--cflags", "--libs", "check"], capture_output=True, text=True,
                           check=True).stdout.split()
    return judge(MUTANTS, folder, functools.partial(survives, library, compiler, check), 2)


if __name__ == "__main__":
    sys.exit(main())
