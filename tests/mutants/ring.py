#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does the simulator see the faults that the ring of requests could have?

    ring.py FOLDER LIBRARY COMPILER...

      FOLDER   for what this makes
      LIBRARY  test_sim_ring as an archive

As mutants.py: each mutant is tests/sim/ring.c compiled with one fault, in a header or in itself. With that in its
place test_sim_ring must fail and must say why in the words given.
"""
import functools
import pathlib
import re
import subprocess
import sys
import typing

from judge import TOP, judge

FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-DCH_SIM", "-O0", "-w"]
SEEDS = 1500
RING, FAR, MACHINE = "src/base/ring.h", "src/base/far.h", "tests/sim/ring.c"


class Mutant(typing.NamedTuple):
    name: str
    old: str
    new: str
    says: str  # in the message, a regular expression
    file: str = RING


# Which of several consequences comes first depends on the seeds.
REQUEST = "gets another request|gets a request that nobody posts"
REUSED = "stores slot .* again"
DEADLOCK = "nobody can go on"
RACE = "not knowing whether PE"
BACK = "in the completion words .* where there was"

MUTANTS = [
    Mutant("phases compared as if they did not wrap around", "(uint32_t)(hi[q] >> 32) != phase",
           "(uint32_t)(hi[q] >> 32) < phase", REQUEST + "|" + REUSED),
    Mutant("tickets compared as if they did not wrap around",
           "ticket - freed < UINT64_C(1) << ring->capacity_log2",
           "ticket < freed + (UINT64_C(1) << ring->capacity_log2)", REUSED + "|" + DEADLOCK),
    Mutant("the phase of one quad is looked at for all four", "if ((uint32_t)(hi[q] >> 32) != phase)",
           "if (q == CH_RING_QUADS - 1 && (uint32_t)(hi[q] >> 32) != phase)", REQUEST),
    Mutant("every lap has the same phase", "(uint32_t)(ticket >> capacity_log2) + 1", "1", REQUEST + "|" + REUSED),
    Mutant("a credit returned before the slot is copied", "ch_ring_unpack(lo, hi, request_out);",
           "for (uint32_t q = 0; q < CH_RING_QUADS; q++) ch_quad_load(slot->quad[q], &lo[q], &hi[q]);\n"
           "    ch_ring_unpack(lo, hi, request_out);", REQUEST),
    Mutant("credits out of order, past a slot without its request", "!= phase) return 0;",
           "!= phase) return ring->next % 2 == 0 ? (ring->next++, ch_ring_take(ring, request_out)) : 0;",
           REQUEST + "|" + DEADLOCK + "|" + REUSED),
    Mutant("the release of a credit made relaxed", "ch_word_store(ring->freed, ring->next, CH_CREDIT);",
           "ch_sim_word_store(ring->freed, ring->next, CH_CREDIT, CH_SIM_RELAXED);", REUSED),
    Mutant("the release of a completion word made relaxed", "ch_word_store(word, value, CH_DATA);",
           "ch_sim_word_store(word, value, CH_DATA, CH_SIM_RELAXED);", RACE),
    Mutant("a request before its data, since there is no fence",
           "if (ch_ring_has_data(request)) ch_release_fence();", "", RACE),
    Mutant("a request with a signal before its data, since there is no fence", "(op == CH_RING_PUT_SIGNAL && ch_request_inline_bytes(r) == 0)", "0", RACE),
    Mutant("a get that may store before what its lane read there, since there is no fence", " || op == CH_RING_GET", "", RACE),
    Mutant("a request dropped while the ring is full",
           "st = ch_ring_await_credit(ring, policy, ticket, &waited);\n        if (st != CHORUS_OK) return st;",
           "return CHORUS_OK;", REQUEST + "|" + DEADLOCK),
    Mutant("a completion word stored by the host before the link is flushed",
           "sim_link_sent(sim_link(plan.ctas, ch_request_pe(r)));", "", RACE, MACHINE),
    Mutant("a quiet completed when the sources were read", "(void)ch_link_flush(sim_link(plan.ctas, i));",
           "sim_link_sent(sim_link(plan.ctas, i));", RACE, MACHINE),
    Mutant("a get completed before its data is there, as the host does not wait", "await_effects(ch_request_pe(r));", "",
           RACE, MACHINE),
    Mutant("a quiet of all PEs that leaves one out", "i < hi; i++", "i < (hi - lo > 1 ? hi - 1 : hi); i++",
           RACE + "|is wrong after a quiet", MACHINE),
    Mutant("a completion word used again before its last call is complete",
           "const chorus_status st = ch_ring_wait(ring, policy, word, value - 1);",
           "const chorus_status st = CHORUS_OK;", BACK + "|" + RACE + "|" + DEADLOCK),
    Mutant("all calls that share a word have one value", "*value_out = (number >> ring->words_log2) + 1;",
           "*value_out = 1;", RACE + "|is wrong after a quiet"),
    Mutant("a quiet left out whatever was posted since", "- next >= UINT64_C(1) << 63) return 0;", "- next < 0) return 0;",
           RACE + "|is wrong after a quiet"),
    Mutant("a quiet that counts a request after its own", "quieted, ticket + 1)", "quieted, ticket + 2)",
           RACE + "|is wrong after a quiet"),
    Mutant("an inbox used again while lanes load from it",
           "while (ch_word_load(left) < number >> CH_RING_INBOXES_LOG2 && st", "while (st != CHORUS_OK && st",
           RACE + "|" + BACK + "|is wrong|" + DEADLOCK),
    Mutant("an inbox left without a release", "uint64_t number)\n{\n    ch_release_fence();", "uint64_t number)\n{", RACE),
    Mutant("an inbox left before all lanes have loaded", "ch_lanes_sync(g); /* all lanes have loaded theirs */", "",
           RACE, FAR),
    Mutant("an outbox sent before all lanes have stored", "ch_lanes_sync(g); /* all lanes have stored their share */", "",
           RACE, FAR),
    Mutant("a get whose data is not waited for", "if (st == CHORUS_OK) st = ch_ring_wait(ring, policy, word, value);\n    if", "if",
           RACE + "|is wrong"),
    Mutant("a quiet that is left out acquires nothing", "    ch_acquire_fence();\n", "", RACE),
    Mutant("the number of a quiet stored without a release", "return st;\n    ch_release_fence();\n    ch_relaxed_store(",
           "return st;\n    ch_relaxed_store(",
           RACE),
    Mutant("a call does not wait for its completion word",
           "return ch_ring_wait(ring, policy, word, posted.value);", "return st;",
           RACE + "|is wrong after a quiet"),
    Mutant("a flush does not wait for its completion word",
           "return st == CHORUS_OK ? ch_ring_wait(ring, policy, word, value) : st;", "return st;", RACE),
    Mutant("a slot reused one ticket early", "ticket - freed < UINT64_C(1)", "ticket - freed <= UINT64_C(1)", REUSED),
    Mutant("a slot reused without a credit", "return ticket - freed < UINT64_C(1) << ring->capacity_log2;", "return 1;",
           REUSED),
    Mutant("two lanes with one ticket", "return ch_sim_ticket_take(word);",
           "const uint64_t ticket = ch_sim_relaxed_load(word);\n\n"
           "    ch_sim_relaxed_store(word, ticket + 1);\n    return ticket;",
           REQUEST + "|" + DEADLOCK + "|" + REUSED, "src/base/exec_sim.h"),
]


def survives(library, compiler, mutant, text, place):
    """Why the mutant is alive, or nothing."""
    (place / mutant.file).parent.mkdir(parents=True)
    (place / mutant.file).write_text(text)
    program, source = place / "test_sim_ring", (place if mutant.file == MACHINE else TOP) / MACHINE
    subprocess.run([*compiler, *FLAGS, f"-I{place}/src", f"-I{TOP}/src", f"-I{TOP}/include", f"-I{TOP}/tests",
                    str(source), str(library), "-o", str(program)], check=True)
    result = subprocess.run([str(program), "--seeds", str(SEEDS)], capture_output=True, text=True, timeout=120,
                            check=False)
    if result.returncode == 1 and re.search(mutant.says, result.stdout):
        return ""
    return f"was expected to say '{mutant.says}', but ends with {result.returncode}: {result.stdout}{result.stderr}"


def main():
    folder, library = map(pathlib.Path, sys.argv[1:3])
    return judge(MUTANTS, folder, functools.partial(survives, library, sys.argv[3:]), 2)


if __name__ == "__main__":
    sys.exit(main())
