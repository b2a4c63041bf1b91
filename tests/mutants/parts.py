#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do the tests of the boot tree, of the record of calls, of CHORUS_CHECK, of the tags of lengths, of the network
for GPU memory and of the order of calls inside kernels see the faults that these could have?

    parts.py BUILD_DIR

As mutants.py: each mutant is a test with the library in it, of which one source has one mistake.
The test must fail and must say why in the words given; one that hangs is killed for another reason.
"""
import dataclasses
import functools
import os
import pathlib
import re
import subprocess
import sys

import built
from judge import judge

TREE, HOSTILE = "tests/test_boot_tree", "tests/test_boot_hostile"
RECORD, CHECK = "tests/test_base_record", "tests/test_coll_check_inside"
LENGTHS = "tests/test_coll_lengths_inside"  # without CHORUS_CHECK
STAGED, DIRECT = "tests/test_transport_staged", "tests/test_transport_direct"
# Where there is CUDA: PEs with GPUs that are fakes, on hosts of their own.
LITMUS, INSIDE = "tests/cuda_far_litmus_pe", "tests/cuda_far_inside_pe"
FAR_ENV = {"CHORUS_HEAP": "cuda", "CHORUS_SYNC_MAX": "256M", "CHORUS_CTAS": "2", "CHORUS_LOG": "none", "CHORUS_TIMEOUT": "20"}
FAR = {LITMUS: ("3", {**FAR_ENV, "CHORUS_NODES": "3", "CHORUS_TRANSPORT": "mapped,adapter"}),  # which accesses GPU memory
       INSIDE: ("2", {**FAR_ENV, "CHORUS_NODES": "2", "CHORUS_TRANSPORT": "mapped,tcp"})}
FILLED = "is_filled"  # what arrived is not what was sent


@dataclasses.dataclass
class Mutant:
    name: str
    file: str
    old: str
    new: str
    test: str
    case: str  # of the test: its other cases take longer; "pes": all, on 3 PEs; of LITMUS: rounds
    says: str  # a regular expression


MUTANTS = [
    Mutant("a hello's MAC is not looked at", "src/boot/tree/conn.c",
           "hello->magic == CH_TREE_MAGIC && sodium_memcmp(mac, hello->mac, sizeof(mac)) == 0 &&",
           "hello->magic == CH_TREE_MAGIC &&", TREE, "handshake", "ch_tree_hello_check.*other"),
    Mutant("a recorded hello serves again", "src/boot/tree/conn.c",
           "(void)crypto_generichash_update(&state, challenge->nonce, sizeof(challenge->nonce));", "",
           TREE, "handshake", "ch_tree_hello_check.*other"),
    Mutant("an answer may be for another hello", "src/boot/tree/conn.c",
           "if (nonce != NULL) (void)crypto_generichash_update(&state, nonce, CH_TREE_NONCE_BYTES);", "",
           TREE, "handshake", "ch_tree_answer_check.*bad"),
    Mutant("versions are not compared", "src/boot/tree/conn.c",
           "hello->version_minor != CHORUS_MINOR_VERSION", "0", TREE, "handshake", "ch_tree_hello_fits"),
    Mutant("a PE has no number of the job", "src/boot/tree/conn.c", "hello->n == n && hello->pe < n", "hello->n == n",
           TREE, "handshake", "ch_tree_hello_fits"),
    Mutant("a message is as long as it says", "src/boot/tree/conn.c",
           "return head->pe < n && head->bytes <= CH_TREE_BLOB_MAX;", "return head->pe < n;",
           TREE, "handshake", "ch_tree_head_check"),
    Mutant("parts lie in another order", "src/boot/tree/round.c", "memcpy(all + pe * bytes,",
           "memcpy(all + (tree->terms.n - 1 - pe) * bytes,", TREE, "exchange", "on a PE|Test timeout expired"),
    Mutant("parts of unlike bytes are put together", "src/boot/tree/round.c",
           "if (part->bytes == first->bytes && part->code == first->code) continue;", "continue;",
           TREE, "told", "on a PE|signal"),
    Mutant("connections with a wrong secret are not counted", "src/boot/tree/accept.c", "f->n++;", "",
           TREE, "told", "never joined\""),
    Mutant("noise counts as a hello with a wrong secret", "src/boot/tree/conn.c",
           "return hello->magic == CH_TREE_MAGIC && memcmp(job,", "return memcmp(job,", HOSTILE, "kinds", "why_failed"),
    Mutant("a recorded hello counts as one with a wrong secret", "src/boot/tree/accept.c",
           "if (ch_tree_hello_is_foreign(&s->hello, tree->terms.secret))", "if (1)", HOSTILE, "kinds", "why_failed"),
    Mutant("whoever knows no secret gets in", "src/boot/tree/accept.c",
           "if (!ch_tree_hello_check(&s->hello, tree->terms.secret, &s->challenge)) {", "if (0) {",
           HOSTILE, "kinds", "kind 5 stays"),
    Mutant("strangers that say nothing stay", "src/boot/tree/accept.c",
           "if (now - tree->unverified[i].since_ns > most_ns)\n"
           "            close_unverified(tree, &tree->unverified[i]);", ";",
           HOSTILE, "kinds", "kind 2 stays"),
    Mutant("strangers have no time to say hello", "src/boot/tree/accept.c",
           "tree->terms.hello_ns != 0 ? tree->terms.hello_ns : CH_TREE_STRANGER_NS;", "CH_NS_PER_MS;",
           HOSTILE, "kinds", "is_closed_by_root"),
    Mutant("a call of another team is found", "src/base/record.c", "out->doing.team == team && ", "",
           RECORD, "record", "find__a_team"),
    Mutant("an allocation is taken for a collective", "src/base/record.c",
           "out->doing.number == number &&\n            ch_doing_is_collective(&out->doing) == is_collective)",
           "out->doing.number == number)", RECORD, "record", "find__a_team"),
    Mutant("a call that runs is passed over", "src/base/record.c",
           "if (ch_called_is_running(out)) return true;", "", RECORD, "record", "latest__a_call"),
    Mutant("counts are not compared", "src/base/record.c", "return a->count == b->count ||", "return a->count != b->count + 1000 ||",
           RECORD, "record", "agrees__calls.*count"),
    Mutant("a root is compared where there is none", "src/base/record.c",
           ".root = has_root ? (int32_t)(word >> CH_CALL_ROOT_AT & ROOT_MASK) : 0,",
           ".root = (int32_t)(word >> CH_CALL_ROOT_AT & ROOT_MASK),", RECORD, "record", "agrees__calls"),
    Mutant("PEs that wait are not told of a difference", "src/team/differ.c",
           "        store_refusal(there, &r);", "  if (team->n == 0) store_refusal(there, &r);",
           CHECK, "pes", "CHORUS_ERR_ARG|team_split_strided"),
    Mutant("the digest of a call leaves out its count", "src/team/check.c",
           "count * UINT64_C(0xd6e8feb86659fd93);", "(count & 0);", CHECK, "pes", "are_refused"),
    Mutant("a refused team goes on", "src/team/check.c",
           "__atomic_store_n(&team->status, (int)CHORUS_ERR_ARG, __ATOMIC_RELEASE);", "",
           CHECK, "pes", "chorusx_team_status"),
    Mutant("a call of a known PE is not looked for", "src/coll/host/launch.c",
           "is_known && ch_team_find_clash(", "is_known && other == UINT32_MAX && ch_team_find_clash(", LENGTHS, "pes", "is_told"),
    # What kernels post.
    Mutant("a call keeps requests of other contexts waiting", "src/transport/proxy.c",
           "call->ctx == ch_request_ctx(r) &&", "", INSIDE, "", "passes_quiet"),
    Mutant("nothing waits for a call to end", "src/transport/proxy.c",
           "return is_favoured(ch_clock_ns() - proxy->calls[i].since_ns);", "return false;", INSIDE, "",
           r"far_make\(ring, &call\) == CHORUS_OK"),
    # The network staged.
    Mutant("a word of a host overtakes copies to the GPU", "src/transport/staged/receive.c",
           "if (!ch_staged_has_ended(&ep->in, peer->in_mark)) return false;", "", STAGED, "litmus", FILLED),
    Mutant("a word of a host overtakes slots", "src/transport/staged/post.c",
           "if (has_slots(peer, ctx) || is_there", "if (is_there", STAGED, "litmus", FILLED),
    Mutant("a word of a GPU takes another stream than data", "src/transport/staged/receive.c",
           "peer->in_mark = ch_staged_change(ep, &ep->in, peer, &request, fetched);",
           "(void)ch_staged_change(ep, &ep->out, peer, &request, fetched);", STAGED, "litmus", FILLED),
    Mutant("a slot overtakes what its context sent directly", "src/transport/staged/send.c",
           "ch_staged_put_inner(ep, out->ctx,", "ch_staged_put_inner(ep, CH_CTX_STAGED,", STAGED, "litmus", FILLED),
    Mutant("the slot of a word overtakes direct data", "src/transport/staged/send.c",
           "ch_staged_put_inner(ep, out->ctx,", "ch_staged_put_inner(ep, CH_CTX_STAGED,", LITMUS, "100", "seen->wrong == 0"),
    Mutant("a word is sent before direct data", "src/transport/staged/post.c",
           "if (put->bytes != 0) CH_TRY(put_direct(ep, peer, ctx, put->dest, put->source, put->bytes));\n"
           "    add_op(ep, peer, ctx, &op, NULL);",
           "add_op(ep, peer, ctx, &op, NULL);\n"
           "    if (put->bytes != 0) CH_TRY(put_direct(ep, peer, ctx, put->dest, put->source, put->bytes));",
           LITMUS, "100", "seen->wrong == 0"),
    Mutant("a word comes with the first chunk", "src/transport/staged/send.c",
           "if (is_last || op->head.kind", "if (is_last || op->at == 0 || op->head.kind", STAGED, "litmus", FILLED),
    Mutant("credit is given before copies have ended", "src/transport/staged/receive.c",
           "ch_staged_has_ended(&ep->in, in_of(ep, peer, peer->ended)->mark))", "in_of(ep, peer, peer->ended) != NULL)",
           STAGED, "litmus", FILLED),
    Mutant("a slot is sent before its copy has ended", "src/transport/staged/send.c",
           "if (!ch_staged_has_ended(&ep->out, out->mark)) return;", "", STAGED, "litmus", FILLED),
    Mutant("a source may change before it was copied", "src/transport/staged/send.c",
           "out->serial = op->serial;", "out->serial = op->serial;\n    if (op->serial != 0) peer->read = op->serial;",
           STAGED, "litmus", FILLED),
    Mutant("what is sent counts as done", "src/transport/staged/post.c",
           "return peer->done < peer->ctx_posted[", "return peer->read < peer->ctx_posted[", STAGED, "litmus", FILLED),
    Mutant("a mark precedes its copy", "src/transport/staged/stream.c",
           "return stream->marks + 1;", "return stream->marks;", STAGED, "litmus", FILLED),
    # GPU memory that the network below accesses.
    Mutant("memory of this GPU that is not attached is passed on", "src/transport/staged/post.c",
           "if (is_here_gpu && !ch_staged_is_registered(&ep->parts, here, head->bytes)) return true;", "",
           DIRECT, "direct", "part != "),
    Mutant("parts of a peer that are staged are passed on", "src/transport/staged/post.c",
           "return is_there_on_gpu(peer, there) &&\n           !ch_staged_is_registered(&peer->parts, there, head->bytes);",
           "return false;",
           DIRECT, "direct", "part != "),
    Mutant("only the first part is looked at", "src/transport/staged/direct.c",
           "next = part->base + part->bytes;", "next = end;", DIRECT, "direct", "part != "),
    Mutant("words of GPUs are passed on", "src/transport/staged/post.c",
           "if (has_slots(peer, ctx) || is_there_on_gpu(peer, word))", "if (has_slots(peer, ctx))",
           DIRECT, "direct", "is_on_gpu"),
    Mutant("peers take a refused part for an attached one", "src/transport/staged/direct.c",
           "ch_error_forget();\n    return CH_STAGED_GPU_KEY;", "ch_error_forget();\n    return 1;", DIRECT, "direct", "keys"),
    Mutant("a part with the key of staged memory stays attached", "src/transport/staged/direct.c",
           "if (status != CHORUS_OK || *key_out != CH_STAGED_GPU_KEY) return status;", "if (status != CHORUS_OK || true) return status;",
           DIRECT, "direct", "attached"),
    Mutant("the inner network forgets no key", "src/transport/staged/memory.c",
           "if (is_inside(part.kind, part.key) && (ep->inner_caps & CH_LINK_KEYS) != 0)\n        ep->inner->drop",
           "if (part.kind == CH_MEMORY_HOST && (ep->inner_caps & CH_LINK_KEYS) != 0)\n        ep->inner->drop",
           DIRECT, "direct", "known"),
    Mutant("a word of a GPU overtakes data that goes directly", "src/transport/staged/post.c",
           "if (put->bytes != 0) CH_TRY(put_direct(ep, peer, ctx, put->dest, put->source, put->bytes));\n"
           "    add_op(ep, peer, ctx, &op, NULL);",
           "add_op(ep, peer, ctx, &op, NULL);\n"
           "    if (put->bytes != 0) CH_TRY(put_direct(ep, peer, ctx, put->dest, put->source, put->bytes));",
           STAGED, "litmus", FILLED),
    Mutant("a word is stored before the flush", "src/transport/staged/receive.c",
           "if (in->head.flushes != 0 && !ch_staged_flush(ep, peer)) return false;", "", STAGED, "litmus", FILLED),
    Mutant("a word of a host overtakes the flush", "src/transport/staged/post.c",
           "if (ep->terms.flush != CH_STAGED_FLUSH_WORDS) return false;", "return false;", STAGED, "litmus", FILLED),
    Mutant("a quiet asks for no flush", "src/transport/staged/post.c",
           "if (ctx < CH_STAGED_CTXS && peer->is_unflushed[ctx]) {", "if (false) {", STAGED, "litmus", FILLED),
    Mutant("a GPU that must flush is put data that it asked for", "src/transport/staged/post.c",
           "(asks.is_on_gpu && ep->terms.has_flush)", "false", DIRECT, "direct", "FLUSH_WORDS"),
    Mutant("what goes directly counts as done", "src/transport/staged/post.c",
           "if (!ep->inner->is_done(ep->inner_ep, ctx, peer->pe)) return false;", "", STAGED, "litmus", FILLED),
    Mutant("two threads advance the queues", "src/transport/staged/staged.c",
           "if (ep->is_stepping) return;\n    ep->is_stepping = true;\n    for", "for", STAGED, "litmus", FILLED + "|st == CHORUS_OK"),
    Mutant("a get is over before its copy has ended", "src/transport/staged/receive.c",
           "if (request->got == request->bytes) in->request = request;",
           "if (request->got == request->bytes) request->dst = NULL;", STAGED, "staged", FILLED),
    Mutant("copies go on after abandon", "src/transport/staged/post.c",
           "if (peer->has_failed) ch_staged_drain(ep);", "", STAGED, "staged", "POISON"),
]


def survives(build, mutant, text, place):
    """Why the mutant is alive, or nothing."""
    source, program = place / pathlib.Path(mutant.file).name, place / "test"
    source.write_text(text)
    built.link(build, mutant.test, *built.compile_in_place_of(build, built.INSIDE, mutant.file, source), program)
    n, env = FAR.get(mutant.test, ("3", {"CHORUS_TIMEOUT": "2"}))
    is_job = mutant.case == "pes" or mutant.test in FAR
    as_pes = [build / "tools/chorusrun", "-n", n, "--timeout", "80" if mutant.test in FAR else "20", program, mutant.case]
    result = subprocess.run(as_pes if is_job else [program], capture_output=True, text=True, timeout=100, check=False,
                            env={**os.environ, "CK_RUN_CASE": mutant.case, "CK_TIMEOUT_MULTIPLIER": "0.1",
                                 "CHORUS_CHECK": "0" if mutant.test == LENGTHS else "1", **env})
    if result.returncode == 1 and re.search(mutant.says, result.stdout + result.stderr):
        return ""
    return f"was expected to say '{mutant.says}', but: {result.stdout}{result.stderr}"


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    mutants = [mutant for mutant in MUTANTS if (build / mutant.test).exists()]
    return judge(mutants, build / "tests/parts_mutants",
                 functools.partial(survives, build), 4)  # some wait most of the time


if __name__ == "__main__":
    sys.exit(main())
