#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does the simulator see the faults that these algorithms could have?

    mutants.py FOLDER ALL_H LIBRARY COMPILER...

      FOLDER   for what this makes
      ALL_H    coll/all.h as the build wrote it
      LIBRARY  test_sim_coll as an archive

Each mutant is one algorithm compiled with one fault in a header. With that in place of the
algorithm's own body (tests/sim/instance.c) test_sim_coll must fail and must say why in the words
given. The test fails for a mutant that survives, that is killed for another reason, or whose
place in the sources is no longer found.
"""
import concurrent.futures
import dataclasses
import pathlib
import re
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
# It takes longer to compile an algorithm than to run it until it fails.
FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-DCH_SIM", "-O0", "-w"]
BODY = """#include "sim/instance.h"

#include "coll/all.h"

chorus_status sim_run_{fn}(const struct ch_coll *c, struct ch_lanes g)
{{
    return {fn}(c, g);
}}
"""
SEEDS = 1500


@dataclasses.dataclass
class Mutant:
    name: str
    file: str
    old: str
    new: str
    algo: str  # that has the fault
    says: str  # in the message, a regular expression
    pes: int = 3


# Which of several consequences comes first depends on the seeds.
WRONG = "not knowing whether|of dest is wrong"
DEADLOCK = WRONG + "|nobody can go on"

MUTANTS = [
    # Memory order.
    Mutant("release made relaxed", "src/base/exec_sim.h",
           "ch_sim_word_store(word, value, sense, CH_SIM_RELEASE)",
           "ch_sim_word_store(word, value, sense, CH_SIM_RELAXED)",
           "broadcast:put_to_all:simple", WRONG),
    Mutant("release made relaxed, barrier", "src/base/exec_sim.h",
           "ch_sim_word_store(word, value, sense, CH_SIM_RELEASE)",
           "ch_sim_word_store(word, value, sense, CH_SIM_RELAXED)",
           "barrier:dissemination:signal", "left the barrier before all had entered"),
    Mutant("acquire made relaxed", "src/base/exec_sim.h",
           "ch_sim_word_wait(word, least, CH_SIM_ACQUIRE)",
           "ch_sim_word_wait(word, least, CH_SIM_RELAXED)",
           "fcollect:all_push:simple", WRONG),
    Mutant("acquire of a credit made relaxed", "src/base/exec_sim.h",
           "ch_sim_word_load(word, CH_SIM_ACQUIRE)",
           "ch_sim_word_load(word, CH_SIM_RELAXED)",
           "broadcast:tree:simple", WRONG),
    # Peers on other hosts.
    Mutant("a word overtakes the puts before it", "src/base/exec_sim.h",
           "if (ch_sim_route_is_weak(route)) (void)ch_sim_route_flush(route);", "",
           "broadcast:put_to_all:simple", WRONG),
    Mutant("source reused while it is read", "src/coll/algo/broadcast_put_to_all.h",
           "return ch_flush(c, g);", "return CHORUS_OK;",
           "broadcast:put_to_all:simple", WRONG),
    Mutant("own blocks reused while they are read", "src/coll/algo/fcollect_bruck_direct.h",
           "st == CHORUS_OK ? ch_flush(c, g) : st", "st",
           "fcollect:bruck:simple", WRONG),
    Mutant("a message announced before it is put", "src/coll/words/fifo.h",
           "ch_sent(c, peer, slot->memory, bytes);\n"
           "        ch_say(c, peer, CH_WORD_FILLED, slot->end, CH_DATA);",
           "ch_say(c, peer, CH_WORD_FILLED, slot->end, CH_DATA);\n"
           "        ch_sent(c, peer, slot->memory, bytes);",
           "fcollect:ring:simple", WRONG),
    Mutant("a combination that goes on is not put", "src/coll/words/relay.h",
           "    ch_sent(c, next, m.memory, bytes);\n", "",
           "reduce:ring:simple", WRONG),
    Mutant("plain data of an exchange is not put", "src/coll/words/exchange.h",
           "            ch_sent(c, pe, ch_place(to, last + 1).memory, gift->bytes);\n", "",
           "reduce:one_shot:simple", WRONG),
    # Counts and places that PEs give each other, rooted collectives, scans.
    Mutant("a collect's block behind too few others", "src/coll/algo/collect_direct.h",
           "for (uint32_t pe = 0; pe < c->me; pe++)", "for (uint32_t pe = 1; pe < c->me; pe++)",
           "collect:all_push:simple", WRONG),
    Mutant("counts used before they are here", "src/coll/words/given.h",
           "return st == CHORUS_OK ? ch_hear_all(c, CH_WORD_GIVEN, *exchange, g) : st;",
           "return st;",
           "collect:all_push:simple", WRONG),
    Mutant("blocks are not awaited", "src/coll/words/given.h",
           "st = ch_hear_all(c, CH_WORD_DONE, epoch, g); /* dest is complete */",
           "st = CHORUS_OK;",
           "alltoallv:all_push:simple", WRONG),
    Mutant("more is sent than the receiver expects", "src/coll/algo/alltoallv_direct.h",
           "ch_min(most, p->src_counts[peer]) * c->elem_bytes",
           "(most + p->src_counts[peer]) * c->elem_bytes",
           "alltoallv:all_push:simple", WRONG + "|wire is"),
    Mutant("elements packed without their stride", "src/coll/words/strided.h",
           "ch_copy(to.at + i * to.step, from.at + i * from.step, bytes, alone);",
           "ch_copy(to.at + i * to.step, from.at + i * bytes, bytes, alone);",
           "alltoalls:all_push:simple", WRONG),
    Mutant("sources of an alltoalls reused while they are read", "src/coll/algo/alltoalls_pull.h",
           "return ch_disseminate(c, CH_WORD_DONE, epoch, CH_CREDIT, g);", "return CHORUS_OK;",
           "alltoalls:all_pull:simple", WRONG),
    Mutant("an exclusive scan with the own elements", "src/coll/algo/scan_one_shot.h",
           "return ch_scan_one_shot(c, CH_CELL_ll, 0, g);",
           "return ch_scan_one_shot(c, CH_CELL_ll, 1, g);",
           "exscan:one_shot:ll", WRONG),
    Mutant("a scan in place sends what it has combined", "src/coll/algo/scan_one_shot.h",
           "ch_send(c, kind, after, c->src + at, 0, bytes, g)",
           "ch_send(c, kind, after, c->dst + at, 0, bytes, g)",
           "inscan:one_shot:simple", WRONG),
    Mutant("a gather into a dest whose PE is not in the call", "src/coll/algo/gather_direct.h",
           "st = ch_hear(c, c->root, CH_WORD_READY, epoch, g);", "st = CHORUS_OK;",
           "gather:all_push:simple", WRONG),
    Mutant("a gather's root does not wait", "src/coll/algo/gather_direct.h",
           "return ch_hear_all(c, CH_WORD_DONE, epoch, g);", "return CHORUS_OK;",
           "gather:all_push:simple", WRONG),
    Mutant("a scatter into a dest whose PE is not in the call", "src/coll/algo/scatter_direct.h",
           "st = ch_hear_all(c, CH_WORD_READY, epoch, g);", "st = CHORUS_OK;",
           "scatter:put_to_all:simple", WRONG),
    Mutant("a source reused while the root reads it", "src/coll/algo/reduce_to_pull.h",
           "return ch_hear(c, c->root, CH_WORD_DONE, epoch, g);", "return CHORUS_OK;",
           "reduce_to:one_shot_pull:simple", WRONG),
    # Rounds.
    Mutant("first round of dissemination dropped", "src/coll/words/vocab.h",
           "for (uint32_t span = 1; span < c->n;",
           "for (uint32_t span = c->radix; span < c->n;",
           "barrier:dissemination:signal", "left the barrier before all had entered"),
    Mutant("last round of dissemination dropped", "src/coll/words/vocab.h",
           "for (uint32_t span = 1; span < c->n;",
           "for (uint32_t span = 1; span * c->radix < c->n;",
           "barrier:dissemination:signal", "left the barrier before all had entered", 5),
    Mutant("dissemination does not wait for the last target", "src/coll/words/vocab.h",
           "ch_is_target(c, span, j) && st == CHORUS_OK",
           "ch_is_target(c, span, j + 1) && st == CHORUS_OK",
           "barrier:dissemination:signal", "left the barrier before all had entered"),
    Mutant("last round of recursive exchange dropped", "src/coll/algo/reduce_recursive.h",
           "span < p; span *= c->radix",
           "span * c->radix < p; span *= c->radix",
           "reduce:recursive_exchange:ll", WRONG, 5),
    Mutant("remainder not handed the result", "src/coll/algo/reduce_recursive.h",
           "return st == CHORUS_OK ? ch_send(c, kind, folded, dst, 0, bytes, g) : st;",
           "return st;",
           "reduce:recursive_exchange:simple", DEADLOCK, 5),
    Mutant("last round of a gather in rounds dropped", "src/coll/algo/fcollect_bruck.h",
           "span < c->n && st == CHORUS_OK; span *= c->radix",
           "span * c->radix < c->n && st == CHORUS_OK; span *= c->radix",
           "fcollect:bruck:ll", WRONG, 5),
    Mutant("a block short in the last round of a gather", "src/coll/shape_rounds.h",
           "return ch_min(span, n - j * span);", "return ch_min(span, n - j * span - (span > 1));",
           "fcollect:bruck:simple", WRONG, 5),
    Mutant("a forwarded block sent from the source", "src/coll/algo/alltoall_bruck.h",
           "i == base ?", "1 ?",
           "alltoall:bruck:ll", WRONG, 5),
    Mutant("an own block sent from dest", "src/coll/algo/alltoall_bruck.h",
           "i == base ?", "0 ?",
           "alltoall:bruck:ll", WRONG, 5),
    Mutant("a forwarded block kept in a wrong place", "src/coll/algo/alltoall_bruck.h",
           "return f->dst + ch_after(c, c->n - i) * f->dst_step;",
           "return f->dst + ch_after(c, i) * f->dst_step;",
           "alltoall:bruck:ll", WRONG, 5),
    Mutant("no round of halving but the first", "src/coll/algo/reduce_halving.h",
           "for (uint32_t span = 1; span < p; span *= c->radix) {",
           "for (uint32_t span = 1; span == 1; span *= c->radix) {",
           "reduce:recursive_halving:simple", WRONG, 8),
    Mutant("the remainder not combined", "src/coll/algo/reduce_halving.h",
           "const uint32_t count = r->group.count + r->rest.count;",
           "const uint32_t count = r->group.count;",
           "reduce:recursive_halving:simple", WRONG, 5),
    Mutant("the remainder not given the result", "src/coll/algo/reduce_halving.h",
           "ch_copy(ch_on_peer(c, c->me + p, c->dst), c->dst, ch_bytes(c), g);", "",
           "reduce:recursive_halving:simple", WRONG, 5),
    # Epochs, flags and room.
    Mutant("epoch not advanced", "src/coll/words/vocab.h",
           "if (g.lane == 0) *c->epoch = last + count;", "",
           "broadcast:put_to_all:simple", WRONG),
    Mutant("flag does not change from lap to lap", "src/team/sync.h",
           "m.flag = (m.begin >> layout->cells_log2[kind]) + 1;", "m.flag = 1;",
           "broadcast:tree:ll", WRONG),
    Mutant("room for one cell more, simple", "src/coll/words/fifo.h",
           "if (end - link->freed <= cells) return", "if (end - link->freed <= cells + 1) return",
           "broadcast:tree:simple", WRONG),
    Mutant("room for one line of packets more", "src/coll/words/fifo.h",
           "if (end - link->freed <= cells) return", "if (end - link->freed <= cells + 4) return",
           "broadcast:tree:ll", WRONG),
    Mutant("room for one cell more, LL128", "src/coll/words/fifo.h",
           "if (end - link->freed <= cells) return", "if (end - link->freed <= cells + 1) return",
           "broadcast:tree:ll128", WRONG),
    Mutant("waits for room for one line of packets less", "src/coll/words/fifo.h",
           "CH_WORD_TAKEN + kind, end - cells)", "CH_WORD_TAKEN + kind, end - cells - 4)",
           "broadcast:tree:ll", WRONG, 2),
    Mutant("room never told", "src/coll/words/fifo.h",
           "<< c->layout->cells_log2[kind]) / 4) return;",
           "<< c->layout->cells_log2[kind]) * 4) return;",
           "broadcast:tree:simple", DEADLOCK),
    Mutant("cells told taken before they are", "src/coll/words/fifo.h",
           "CH_WORD_TAKEN + kind, slot->end, CH_CREDIT)",
           "CH_WORD_TAKEN + kind, slot->end + 1, CH_CREDIT)",
           "broadcast:tree:simple", WRONG),
    # Exchanges.
    Mutant("one place in place of two, LL", "src/coll/words/cells.h",
           "(uint32_t)exchange % 2)", "(uint32_t)exchange % 1)",
           "fcollect:all_push:ll", WRONG),
    Mutant("one place in place of two, LL128", "src/coll/words/cells.h",
           "(uint32_t)exchange % 2)", "(uint32_t)exchange % 1)",
           "alltoall:all_push:ll128", WRONG),
    Mutant("one place in place of two, simple", "src/coll/words/cells.h",
           "(uint32_t)exchange % 2)", "(uint32_t)exchange % 1)",
           "reducescatter:all_push:simple", WRONG),
    Mutant("flag of an exchange does not change", "src/coll/words/cells.h",
           "slot.flag = exchange;", "slot.flag = 1;",
           "reduce:one_shot:ll", WRONG),
    Mutant("exchange not numbered on", "src/coll/words/exchange.h",
           "*exchange = last + 1;\n    ch_last_is(c, kind, last + 1, g);\n    for", "*exchange = last + 1;\n    for",
           "reduce:one_shot:ll128", DEADLOCK),
    Mutant("plain data of an exchange not waited for", "src/coll/words/exchange.h",
           "st = ch_hear_all(c, CH_WORD_GIVEN, exchange, g);", "st = CHORUS_OK;",
           "reduce:one_shot:simple", WRONG),
    Mutant("no meeting after an exchange is given", "src/coll/words/exchange.h",
           "st = ch_agree_on(c, ch_may_exchange(c, kind, last), g); /* all lanes have given */",
           "st = CHORUS_OK;", "reduce:one_shot:simple", DEADLOCK + "|bit for bit"),
    Mutant("no meeting after an exchange is taken", "src/coll/words/exchange.h",
           "return ch_agree(st, g); /* all lanes have read the places */", "return st;",
           "alltoall:all_push:ll", DEADLOCK),
    Mutant("no meeting after an exchange is combined", "src/coll/words/exchange.h",
           "return ch_agree(st, g); /* all lanes have combined what was in the places */",
           "return st;", "reduce:one_shot:ll", DEADLOCK),
    Mutant("number of an exchange in rounds not stored", "src/coll/words/rounds.h",
           "if (g.lane == 0) c->exchanges[kind] = last + 1;", "",
           "reducescatter:bruck:ll", DEADLOCK),
    Mutant("no meeting before an exchange in rounds", "src/coll/words/rounds.h",
           "ch_agree(ch_may_exchange(c, kind, last), g);", "ch_may_exchange(c, kind, last);",
           "alltoall:bruck:ll", DEADLOCK),
    Mutant("messages of an exchange in rounds in one place", "src/coll/words/rounds.h",
           "l->at += ch_divide_up(", "l->at += 0 * ch_divide_up(",
           "fcollect:bruck:ll", WRONG + "|" + DEADLOCK),
    Mutant("messages of an exchange in rounds too close", "src/coll/words/rounds.h",
           "ch_divide_up(count * ch_block_bytes", "ch_divide_up((count - 1) * ch_block_bytes",
           "alltoall:bruck:ll", WRONG + "|" + DEADLOCK, 5),
    Mutant("one own place in place of two, two levels", "src/coll/words/cells.h",
           "p.odd = c->layout->own_bytes[kind];", "p.odd = 0;",
           "reducescatter:two_level:simple", WRONG, 5),
    Mutant("blocks taken before all lanes have given", "src/coll/algo/alltoall_bruck.h",
           "ch_lanes_sync(g); /* all lanes have loaded what is overwritten below */",
           "", "alltoall:bruck:ll", WRONG + "|without notifying", 5),
    Mutant("nobody woken in a round of a gather", "src/coll/algo/fcollect_bruck.h",
           "ch_notify(c->patience, c->peers[ch_after(c, c->n - j * span)].door);", ";",
           "fcollect:bruck:ll", "has not notified|without notifying"),
    Mutant("nobody woken in a round of forwarding", "src/coll/algo/alltoall_bruck.h",
           "ch_notify(c->patience, c->peers[ch_after(c, j * span)].door);", ";",
           "alltoall:bruck:ll", "has not notified|without notifying"),
    Mutant("nobody woken by an exchange", "src/coll/words/exchange.h",
           "ch_notify(c->patience, c->peers[pe].door);", ";",
           "fcollect:all_push:ll", "has not notified|without notifying"),
    # Boards.
    Mutant("room on the board not awaited, simple", "src/coll/words/board.h",
           "st = ch_hear_all(c, CH_WORD_READ + kind, end - cells, g);", "st = CHORUS_OK;",
           "broadcast:board:simple", WRONG),
    Mutant("room on the board not awaited, LL", "src/coll/words/board.h",
           "st = ch_hear_all(c, CH_WORD_READ + kind, end - cells, g);", "st = CHORUS_OK;",
           "broadcast:board:ll", WRONG),
    Mutant("room on the board awaited from one reader", "src/coll/words/board.h",
           "st = ch_hear_all(c, CH_WORD_READ + kind, end - cells, g);",
           "st = ch_hear(c, ch_after(c, 1), CH_WORD_READ + kind, end - cells, g);",
           "broadcast:board:ll128", DEADLOCK),
    Mutant("room on the board is the last reader's", "src/coll/words/board.h",
           "least = ch_min(least, ch_word_load(word));", "least = ch_word_load(word);",
           "broadcast:board:ll", DEADLOCK),
    Mutant("room on the board for one line of packets more", "src/coll/words/board.h",
           "if (end - own->freed <= cells) return", "if (end - own->freed <= cells + 4) return",
           "broadcast:board:ll", WRONG),
    Mutant("flag of the board does not change from lap to lap", "src/team/sync.h",
           "m.flag = (m.begin >> layout->cells_log2[kind]) + 1;", "m.flag = 1;",
           "broadcast:board:ll", WRONG),
    Mutant("room on the board never told", "src/coll/words/board.h",
           "<< c->layout->cells_log2[kind]) / 4) return;",
           "<< c->layout->cells_log2[kind]) * 4) return;",
           "broadcast:board:simple", DEADLOCK),
    Mutant("board told read before it is", "src/coll/words/board.h",
           "CH_WORD_READ + kind, m.end, CH_CREDIT)", "CH_WORD_READ + kind, m.end + 1, CH_CREDIT)",
           "broadcast:board:simple", WRONG),
    Mutant("board not waited for", "src/coll/words/board.h",
           "st = ch_posted(c, kind, owner, m.end, g);", "st = CHORUS_OK;",
           "broadcast:board:simple", WRONG),
    Mutant("board read before it is announced", "src/coll/words/board.h",
           "ch_word_wait(c->patience, word, end)",
           "ch_word_wait(c->patience, word, end - 1)",
           "broadcast:board:simple", WRONG),
    Mutant("readers of the board not woken", "src/coll/words/board.h",
           "ch_notify(c->patience, c->peers[ch_after(c, k)].door);", ";",
           "broadcast:board:ll", "has not notified|without notifying"),
    # Entry and exit.
    Mutant("READY wait skipped, broadcast", "src/coll/algo/broadcast_put_to_all.h",
           "st = ch_hear_all(c, CH_WORD_READY, epoch, g);", "st = CHORUS_OK;",
           "broadcast:put_to_all:simple", WRONG),
    Mutant("READY wait skipped, pull", "src/coll/algo/broadcast_pull.h",
           "st = ch_hear(c, c->root, CH_WORD_READY, epoch, g);", "st = CHORUS_OK;",
           "broadcast:pull:simple", WRONG),
    Mutant("READY wait skipped, fcollect", "src/coll/algo/fcollect_direct.h",
           "st = ch_hear_all(c, CH_WORD_READY, epoch, g);", "st = CHORUS_OK;",
           "fcollect:all_push:simple", WRONG),
    Mutant("READY wait skipped, alltoall", "src/coll/algo/alltoall_direct.h",
           "st = ch_hear_all(c, CH_WORD_READY, epoch, g);", "st = CHORUS_OK;",
           "alltoall:all_push:simple", WRONG),
    Mutant("READY wait skipped, two shots", "src/coll/algo/reduce_two_shot.h",
           "st = ch_hear_all(c, CH_WORD_READY, epoch, g);", "st = CHORUS_OK;",
           "reduce:two_shot:simple", WRONG),
    Mutant("READY wait skipped, two phases", "src/coll/algo/reduce_two_phase.h",
           "st = ch_hear_all(c, CH_WORD_READY, epoch, g);", "st = CHORUS_OK;",
           "reduce:two_phase:simple", WRONG),
    Mutant("READY wait skipped, all pull", "src/coll/algo/reducescatter_pull.h",
           "st = ch_hear_all(c, CH_WORD_READY, epoch, g);", "st = CHORUS_OK;",
           "reducescatter:all_pull:simple", WRONG),
    Mutant("READY wait skipped, fcollect in rounds", "src/coll/algo/fcollect_bruck_direct.h",
           "st = ch_hear(c, peer, CH_WORD_READY, epoch, g);", "st = CHORUS_OK;",
           "fcollect:bruck:simple", WRONG),
    Mutant("DONE wait skipped, fcollect in rounds", "src/coll/algo/fcollect_bruck_direct.h",
           "st = ch_listen(c, ch_after(c, j * span), CH_WORD_DONE, epoch);", "st = CHORUS_OK;",
           "fcollect:bruck:simple", WRONG),
    Mutant("block not waited for, fcollect all pull", "src/coll/algo/fcollect_pull.h",
           "st = ch_disseminate(c, CH_WORD_DONE, given, CH_DATA, g);", "st = CHORUS_OK;",
           "fcollect:all_pull:simple", WRONG),
    Mutant("DONE wait skipped, fcollect all pull", "src/coll/algo/fcollect_pull.h",
           "return ch_disseminate(c, CH_WORD_DONE, taken, CH_CREDIT, g);", "return CHORUS_OK;",
           "fcollect:all_pull:simple", WRONG),
    Mutant("READY wait skipped, alltoall all pull", "src/coll/algo/alltoall_pull.h",
           "ch_disseminate(c, CH_WORD_READY, epoch, CH_ENTRY, g);", "CHORUS_OK;",
           "alltoall:all_pull:simple", WRONG),
    Mutant("DONE wait skipped, alltoall all pull", "src/coll/algo/alltoall_pull.h",
           "return ch_disseminate(c, CH_WORD_DONE, epoch, CH_CREDIT, g);", "return CHORUS_OK;",
           "alltoall:all_pull:simple", WRONG),
    Mutant("halving does not wait", "src/coll/algo/reduce_halving.h",
           "st = ch_round_hear(c, &r, r.group.count + r.rest.count, word, epoch, g);",
           "st = CHORUS_OK;", "reduce:recursive_halving:simple", WRONG, 5),
    Mutant("halving does not wait for the remainder", "src/coll/algo/reduce_halving.h",
           "st = ch_round_hear(c, &r, r.group.count + r.rest.count, word, epoch, g);",
           "st = ch_round_hear(c, &r, r.group.count, word, epoch, g);",
           "reduce:recursive_halving:simple", WRONG, 5),
    Mutant("doubling does not wait", "src/coll/algo/reduce_halving.h",
           "st = ch_round_hear(c, &r, r.group.count, CH_WORD_DONE, epoch, g);",
           "st = CHORUS_OK;", "reduce:recursive_halving:simple", WRONG, 5),
    Mutant("READY wait skipped, two levels", "src/coll/algo/reducescatter_two_level.h",
           "ch_level_meet(c, &l, CH_WORD_READY, epoch, CH_ENTRY, g);", "CHORUS_OK;",
           "reducescatter:two_level:simple", WRONG, 5),
    Mutant("DONE wait skipped, two levels", "src/coll/algo/reducescatter_two_level.h",
           "return ch_level_meet(c, &l, CH_WORD_DONE, epoch, CH_CREDIT, g);", "return CHORUS_OK;",
           "reducescatter:two_level:simple", WRONG, 5),
    Mutant("posts not waited for, two levels", "src/coll/algo/reducescatter_two_level.h",
           "st = ch_level_exchange(c, &l, exchange, g);", "st = CHORUS_OK;",
           "reducescatter:two_level:simple", WRONG, 5),
    Mutant("not heard from who posts for a missing one", "src/coll/algo/reducescatter_two_level.h",
           "i <= l->posts && st == CHORUS_OK", "i < l->posts && st == CHORUS_OK",
           "reducescatter:two_level:simple", WRONG, 5),
    Mutant("a post combines a group short", "src/coll/algo/reducescatter_two_level.h",
           "ch_combine_slots(c, dst, groups, bytes, g);",
           "ch_combine_slots(c, dst, groups - (groups > 1), bytes, g);",
           "reducescatter:two_level:simple", WRONG, 5),
    Mutant("slots set while others read them", "src/coll/algo/reducescatter_two_level.h",
           "ch_lanes_sync(g); /* other lanes have read the slots */", "",
           "reducescatter:two_level:simple", WRONG, 8),
    Mutant("no meeting before posts are told", "src/coll/algo/reducescatter_two_level.h",
           "ch_lanes_sync(g); /* other lanes' posts precede the stores */", "",
           "reducescatter:two_level:simple", WRONG, 5),
    Mutant("no meeting before doubling", "src/coll/algo/reduce_halving.h",
           "ch_lanes_sync(g); /* each lane gives what others combined */", "",
           "reduce:recursive_halving:simple", WRONG, 5),
    Mutant("no meeting before signals of a round", "src/coll/algo/reduce_halving.h",
           "ch_lanes_sync(g); /* other lanes' accesses precede the stores */", "",
           "reduce:recursive_halving:simple", WRONG, 5),
    Mutant("DONE wait skipped, pull", "src/coll/algo/broadcast_pull.h",
           "return ch_hear_all(c, CH_WORD_DONE, epoch, g);", "return CHORUS_OK;",
           "broadcast:pull:simple", WRONG),
    Mutant("DONE wait skipped, fcollect", "src/coll/algo/fcollect_direct.h",
           "st = ch_hear_all(c, CH_WORD_DONE, epoch, g);", "st = CHORUS_OK;",
           "fcollect:all_push:simple", WRONG),
    Mutant("DONE wait skipped, alltoall", "src/coll/algo/alltoall_direct.h",
           "st = ch_hear_all(c, CH_WORD_DONE, epoch, g);", "st = CHORUS_OK;",
           "alltoall:all_push:simple", WRONG),
    Mutant("DONE wait skipped, two shots", "src/coll/algo/reduce_two_shot.h",
           "return ch_hear_all(c, CH_WORD_DONE, epoch, g);", "return CHORUS_OK;",
           "reduce:two_shot:simple", WRONG),
    Mutant("DONE wait skipped, two phases", "src/coll/algo/reduce_two_phase.h",
           "return ch_hear_all(c, CH_WORD_DONE, epoch, g);", "return CHORUS_OK;",
           "reduce:two_phase:simple", WRONG),
    Mutant("DONE wait skipped, all pull", "src/coll/algo/reducescatter_pull.h",
           "return ch_hear_all(c, CH_WORD_DONE, epoch, g);", "return CHORUS_OK;",
           "reducescatter:all_pull:simple", WRONG),
    Mutant("READY wait skipped, scatter", "src/coll/algo/broadcast_scatter.h",
           "st = ch_hear_all(c, CH_WORD_READY, epoch, g);", "st = CHORUS_OK;",
           "broadcast:scatter_allgather:simple", WRONG),
    Mutant("READY wait skipped, broadcast by multicast", "src/coll/algo/broadcast_multicast.h",
           "st = ch_hear_all(c, CH_WORD_READY, epoch, g);", "st = CHORUS_OK;",
           "broadcast:multicast:simple", WRONG),
    Mutant("READY wait skipped, fcollect by multicast", "src/coll/algo/fcollect_multicast.h",
           "st = ch_hear_all(c, CH_WORD_READY, epoch, g);", "st = CHORUS_OK;",
           "fcollect:multicast:simple", WRONG),
    Mutant("READY wait skipped, one shot by loads", "src/coll/algo/reduce_one_shot_pull.h",
           "st = ch_hear_all(c, CH_WORD_READY, epoch, g);", "st = CHORUS_OK;",
           "reduce:one_shot_pull:simple", WRONG),
    Mutant("READY wait skipped, one shot by multicast", "src/coll/algo/reduce_multicast_one.h",
           "st = ch_hear_all(c, CH_WORD_READY, epoch, g);", "st = CHORUS_OK;",
           "reduce:multicast_one_shot:simple", WRONG),
    Mutant("READY wait skipped, two shots by multicast", "src/coll/algo/reduce_multicast_two.h",
           "st = ch_hear_all(c, CH_WORD_READY, epoch, g);", "st = CHORUS_OK;",
           "reduce:multicast_two_shot:simple", WRONG),
    Mutant("READY wait skipped, reducescatter by multicast", "src/coll/algo/reducescatter_multicast.h",
           "st = ch_hear_all(c, CH_WORD_READY, epoch, g);", "st = CHORUS_OK;",
           "reducescatter:multicast_one_shot:simple", WRONG),
    Mutant("READY wait skipped, copy engine", "src/coll/words/engine.h",
           "return ch_hear_all(c, CH_WORD_READY, epoch, g);", "return CHORUS_OK;",
           "alltoall:copy_engine:simple", WRONG),
    Mutant("DONE wait skipped, scatter", "src/coll/algo/broadcast_scatter.h",
           "return ch_scatter_hear(c, CH_WORD_DONE, epoch, g);", "return CHORUS_OK;",
           "broadcast:scatter_allgather:simple", WRONG),
    Mutant("DONE wait skipped, fcollect by multicast", "src/coll/algo/fcollect_multicast.h",
           "return ch_hear_all(c, CH_WORD_DONE, epoch, g);", "return CHORUS_OK;",
           "fcollect:multicast:simple", WRONG),
    Mutant("DONE wait skipped, one shot by loads", "src/coll/algo/reduce_one_shot_pull.h",
           "return ch_hear_all(c, CH_WORD_DONE, epoch, g);", "return CHORUS_OK;",
           "reduce:one_shot_pull:simple", WRONG),
    Mutant("DONE wait skipped, one shot by multicast", "src/coll/algo/reduce_multicast_one.h",
           "return ch_hear_all(c, CH_WORD_DONE, epoch, g);", "return CHORUS_OK;",
           "reduce:multicast_one_shot:simple", WRONG),
    Mutant("DONE wait skipped, two shots by multicast", "src/coll/algo/reduce_multicast_two.h",
           "return ch_hear_all(c, CH_WORD_DONE, epoch, g);", "return CHORUS_OK;",
           "reduce:multicast_two_shot:simple", WRONG),
    Mutant("DONE wait skipped, reducescatter by multicast", "src/coll/algo/reducescatter_multicast.h",
           "return ch_hear_all(c, CH_WORD_DONE, epoch, g);", "return CHORUS_OK;",
           "reducescatter:multicast_one_shot:simple", WRONG),
    Mutant("DONE wait skipped, copy engine", "src/coll/words/engine.h",
           "return ch_hear_all(c, CH_WORD_DONE, epoch, g);", "return CHORUS_OK;",
           "fcollect:copy_engine:simple", WRONG),
    Mutant("no room waited for in a relay", "src/coll/words/relay.h",
           "st = ch_wait_for_room(c, CH_CELL_simple, next, m.end);", "st = CHORUS_OK;",
           "reduce:ring:simple", WRONG, 8),
    Mutant("a relay not announced", "src/coll/words/relay.h",
           "    ch_say(c, next, CH_WORD_FILLED, m.end, CH_DATA); /* pairs with ch_slot_from */\n", "",
           "reducescatter:ring:simple", DEADLOCK),
    # Data.
    Mutant("slices begin one too early", "src/coll/shape.h",
           "s.first = pe * base + (pe < extra ? pe : extra);",
           "s.first = pe * base + (pe < extra ? pe : extra) - (pe > 1);",
           "reduce:two_shot:simple", WRONG),
    Mutant("slices one element too long", "src/coll/shape.h",
           "s.count = base + (pe < extra ? 1 : 0);", "s.count = base + (pe <= extra ? 1 : 0);",
           "reduce:two_shot:simple", WRONG),
    Mutant("tree passes on its source", "src/coll/algo/broadcast_tree.h",
           "c->me == c->root ? c->src : c->dst;", "c->src;",
           "broadcast:tree:ll128", WRONG, 5),
    Mutant("combined in an order of each PE's own", "src/coll/words/pes.h",
           "const struct ch_pes all = {0, 1, c->n};",
           "const struct ch_pes all = {c->me, 1, c->n};",
           "reduce:one_shot:simple", "bit for bit"),
    Mutant("the last turn of a ring reduce dropped", "src/coll/algo/reduce_ring.h",
           "t == 2 * c->n - 2)", "t >= 2 * c->n - 3)",
           "reduce:ring:simple", DEADLOCK),
    Mutant("a ring reduce combines another slice than it passes on", "src/coll/algo/reduce_ring.h",
           "return ch_fold_on(c, c->src + from, l.bytes, g);",
           "return ch_fold_on(c, c->src + at, l.bytes, g);",
           "reduce:ring:simple", WRONG),
    # Lanes and sleepers.
    Mutant("no meeting after a message is sent", "src/coll/words/fifo.h",
           "ch_lanes_sync(g); /* all lanes have stored their share */", "",
           "broadcast:tree:simple", WRONG, 2),
    Mutant("no meeting after a message is taken", "src/coll/words/fifo.h",
           "st = ch_agree(st, g); /* all lanes have read the cells */", "",
           "broadcast:tree:simple", WRONG, 2),
    Mutant("no meeting before a message is posted", "src/coll/words/board.h",
           "ch_lanes_sync(g); /* lane 0 has stored `sent`, other lanes their share of src */", "",
           "broadcast:board:ll", DEADLOCK, 2),
    Mutant("no meeting after a message is posted", "src/coll/words/board.h",
           "ch_lanes_sync(g); /* all lanes have read `sent` and stored their share */", "",
           "broadcast:board:simple", WRONG, 2),
    Mutant("no meeting before a posted message is read", "src/coll/words/board.h",
           "ch_lanes_sync(g); /* lane 0 has stored `read` */", "",
           "broadcast:board:simple", DEADLOCK, 2),
    Mutant("no meeting after a posted message is read", "src/coll/words/board.h",
           "st = ch_agree(st, g); /* all lanes have read the cells and `read` */", "",
           "broadcast:board:simple", WRONG, 2),
    Mutant("no meeting before the epoch is stored", "src/coll/words/vocab.h",
           "ch_lanes_sync(g); /* all lanes have read it */", "",
           "reduce:two_shot:simple", DEADLOCK, 5),
    Mutant("no meeting before signals to all", "src/coll/words/vocab.h",
           "ch_lanes_sync(g); /* other lanes' accesses precede the stores */", "",
           "reduce:two_shot:simple", WRONG),
    Mutant("no meeting before a signal", "src/coll/words/vocab.h",
           "ch_lanes_sync(g); /* other lanes' accesses precede the store */", "",
           "broadcast:pull:simple", WRONG),
    Mutant("no meeting before the last signals of a scatter", "src/coll/algo/broadcast_scatter.h",
           "ch_lanes_sync(g); /* other lanes' accesses precede the stores */", "",
           "broadcast:scatter_allgather:simple", WRONG),
    Mutant("a barrier waits for the exchange before", "src/coll/algo/barrier_push.h",
           "CH_WORD_MET, exchange, g)", "CH_WORD_MET, exchange - 1, g)",
           "barrier:all_push:signal", "left the barrier before all had entered"),
    Mutant("the root waits for nobody", "src/coll/algo/broadcast_push.h",
           "return ch_hear_all(c, CH_WORD_MET, exchange, g);", "return CHORUS_OK;",
           "broadcast:push:ll", DEADLOCK),
    Mutant("who is not the root waits for the root alone", "src/coll/algo/broadcast_push.h",
           "if (ch_after(c, k) != c->root)", "if (c->n == 0)",
           "broadcast:push:ll", DEADLOCK),
    Mutant("no meeting before a relay", "src/coll/words/relay.h",
           "ch_lanes_sync(g); /* lane 0 has stored `sent` */", "",
           "reducescatter:ring:simple", WRONG),
    # Pieces in the wake of one another.
    Mutant("piece combined before it is given", "src/coll/algo/reduce_two_shot_push.h",
           "st = ch_hear_all(c, CH_WORD_GIVEN, exchange, g);", "st = CHORUS_OK;",
           "reduce:two_shot_push:simple", WRONG),
    Mutant("piece given before the last but one is taken", "src/coll/algo/reduce_two_shot_push.h",
           """st = ch_hear_all(c, CH_WORD_GIVEN, exchange, g); /* all are here: their dest may be
                                                            written */
        if (st != CHORUS_OK) return st;
        ch_shot_give(c, at + ch_shot_piece_bytes(c), exchange + 1, g);""",
           """ch_shot_give(c, at + ch_shot_piece_bytes(c), exchange + 1, g);
        st = ch_hear_all(c, CH_WORD_GIVEN, exchange, g);
        if (st != CHORUS_OK) return st;""",
           "reduce:two_shot_push:simple", WRONG),
    Mutant("last exchange of a call not counted", "src/coll/algo/reduce_two_shot_push.h",
           "ch_last_is(c, CH_CELL_simple, exchange, g);",
           "ch_last_is(c, CH_CELL_simple, exchange - 1, g);",
           "reduce:two_shot_push:simple", WRONG + "|bytes outside dest changed"),
    Mutant("result not waited for, two shots by stores", "src/coll/algo/reduce_two_shot_push.h",
           "return ch_hear_all(c, CH_WORD_GIVEN, exchange, g);", "return CHORUS_OK;",
           "reduce:two_shot_push:simple", WRONG),
    Mutant("results in the exchange of the slices", "src/coll/algo/reduce_two_shot_push_ll.h",
           "ch_two_shot_send(c, &v, &b, exchange + 1);", "ch_two_shot_send(c, &v, &b, exchange);",
           "reduce:two_shot_push:ll", DEADLOCK),
    Mutant("exchange of the results not counted", "src/coll/algo/reduce_two_shot_push_ll.h",
           "ch_last_is(c, CH_CELL_ll, exchange + 1, g);", "",
           "reduce:two_shot_push:ll", DEADLOCK),
    Mutant("padding not taken", "src/coll/algo/reduce_two_shot_push_ll.h",
           "ch_value_take(c, CH_CELL_ll, pe, place.memory, &v, &b, place.flag, st);",
           "ch_value_take(c, CH_CELL_ll, pe, place.memory, &v, &data, place.flag, st);",
           "reduce:two_shot_push:ll", WRONG),
    Mutant("padding stored", "src/coll/algo/reduce_two_shot_push_ll.h",
           "ch_value_store(dst, &v, &data);", "ch_value_store(dst, &v, &b);",
           "reduce:two_shot_push:ll", WRONG + "|bytes outside dest changed"),
    Mutant("no meeting after results are taken", "src/coll/algo/reduce_two_shot_push_ll.h",
           "return ch_agree(st, g); /* all lanes have read the places */", "return st;",
           "reduce:two_shot_push:ll", DEADLOCK),
    Mutant("nobody woken by a result", "src/coll/algo/reduce_two_shot_push_ll.h",
           "ch_notify(c->patience, c->peers[peer].door);", ";",
           "reduce:two_shot_push:ll", "has not notified|without notifying"),
    Mutant("nobody woken", "src/coll/words/vocab.h",
           "ch_notify(c->patience, c->peers[peer].door);", "",
           "fcollect:all_push:simple", "has not notified|without notifying"),
]


def functions():
    """The function of each algorithm, by the name that users write."""
    rows = (TOP / "src/coll/algorithm.h").read_text()
    return {":".join(names): fn for *names, fn in
            re.findall(r"^    X\((\w+), (\w+), (\w+), (ch_\w+),", rows, re.M)}


class Bench:
    """Where mutants are made, and what of."""

    def __init__(self, folder, all_h, library, compiler):
        self.folder, self.library, self.compiler = folder, library, compiler
        self.functions = functions()
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "all/coll").mkdir(parents=True)
        shutil.copy(all_h, folder / "all/coll/all.h")

    def program(self, mutant, text, place):
        """test_sim_coll with `text` in place of the mutant's file."""
        (place / mutant.file).parent.mkdir(parents=True)
        (place / mutant.file).write_text(text)
        (place / "body.c").write_text(BODY.format(fn=self.functions[mutant.algo]))
        program = place / "test_sim_coll"
        includes = [f"-I{place}/src", f"-I{self.folder}/all", f"-I{TOP}/src", f"-I{TOP}/include",
                    f"-I{TOP}/tests"]
        subprocess.run([*self.compiler, *FLAGS, *includes, str(place / "body.c"),
                        str(self.library), "-lm", "-o", str(program)], check=True)
        return program

    def try_mutant(self, mutant, place):
        """What is wrong with the mutant's death, or nothing."""
        text = (TOP / mutant.file).read_text()
        if text.count(mutant.old) != 1:
            return f"{mutant.file} has {text.count(mutant.old)} places with: {mutant.old}"
        program = self.program(mutant, text.replace(mutant.old, mutant.new), place)
        result = subprocess.run([str(program), "--algo", mutant.algo, "--pes", str(mutant.pes),
                                 "--seeds", str(SEEDS)], capture_output=True, text=True,
                                timeout=120)
        if result.returncode == 0:
            return f"survived {SEEDS} seeds of {mutant.algo} on {mutant.pes} PEs"
        if result.returncode != 1 or not re.search(mutant.says, result.stdout):
            return f"was expected to say '{mutant.says}', but: {result.stdout}{result.stderr}"
        return ""


def main():
    folder, all_h, library = map(pathlib.Path, sys.argv[1:4])
    bench = Bench(folder, all_h, library, sys.argv[4:])
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        places = [folder / str(i) for i in range(len(MUTANTS))]
        for mutant, wrong in zip(MUTANTS, pool.map(bench.try_mutant, MUTANTS, places)):
            print(f"{'ALIVE' if wrong else 'killed'}  {mutant.name}{': ' if wrong else ''}{wrong}")
            failed += bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
