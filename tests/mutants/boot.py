#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do the tests of the boot tree see the faults that it could have?

    boot.py BUILD_DIR

As mutants.py: each mutant is a test with the library in it, of which one source has one mistake.
The test must fail and must say why in the words given; one that hangs is killed for another reason.
"""
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys

import built

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
TREE, HOSTILE = "tests/test_boot_tree", "tests/test_boot_hostile"


@dataclasses.dataclass
class Mutant:
    name: str
    file: str  # in src/boot
    old: str
    new: str
    test: str
    case: str  # of the test: its other cases take longer
    says: str  # a regular expression


MUTANTS = [
    Mutant("a hello's MAC is not looked at", "tree_message.c",
           "hello->magic == CH_TREE_MAGIC && sodium_memcmp(mac, hello->mac, sizeof(mac)) == 0 &&",
           "hello->magic == CH_TREE_MAGIC &&", TREE, "handshake", "ch_tree_hello_check.*other"),
    Mutant("a recorded hello serves again", "tree_message.c",
           "(void)crypto_generichash_update(&state, challenge->nonce, sizeof(challenge->nonce));", "",
           TREE, "handshake", "ch_tree_hello_check.*other"),
    Mutant("an answer may be for another hello", "tree_message.c",
           "if (nonce != NULL) (void)crypto_generichash_update(&state, nonce, CH_TREE_NONCE_BYTES);", "",
           TREE, "handshake", "ch_tree_answer_check.*bad"),
    Mutant("versions are not compared", "tree_message.c",
           "hello->version_minor != CHORUS_MINOR_VERSION", "0", TREE, "handshake", "ch_tree_hello_fits"),
    Mutant("a PE has no number of the job", "tree_message.c", "hello->n == n && hello->pe < n", "hello->n == n",
           TREE, "handshake", "ch_tree_hello_fits"),
    Mutant("a message is as long as it says", "tree_message.c",
           "return head->pe < n && head->bytes <= CH_TREE_BLOB_MAX;", "return head->pe < n;",
           TREE, "handshake", "ch_tree_head_check"),
    Mutant("parts lie in another order", "tree_round.c", "memcpy(all + pe * bytes,",
           "memcpy(all + (tree->terms.n - 1 - pe) * bytes,", TREE, "exchange", "on a PE"),
    Mutant("parts of unlike bytes are put together", "tree_round.c",
           "if (part->bytes == first->bytes && part->code == first->code) continue;", "continue;",
           TREE, "told", "on a PE|signal"),
    Mutant("connections with a wrong secret are not counted", "tree_accept.c", "tree->n_refused++;", "",
           TREE, "told", "never joined\""),
    Mutant("whoever knows no secret gets in", "tree_accept.c",
           "if (!ch_tree_hello_check(&s->hello, tree->terms.secret, &s->challenge)) {", "if (0) {",
           HOSTILE, "kinds", "kind 5 stays"),
    Mutant("strangers that say nothing stay", "tree_accept.c",
           "if (now - tree->strangers[i].since_ns > most_ns) drop(&tree->strangers[i]);", ";",
           HOSTILE, "kinds", "kind 2 stays"),
    Mutant("strangers have no time to say hello", "tree_accept.c",
           "tree->terms.hello_ns != 0 ? tree->terms.hello_ns : CH_TREE_STRANGER_NS;", "CH_NS_PER_MS;",
           HOSTILE, "kinds", "is_closed_by_root"),
]


def survives(build, place, mutant):
    """Why the mutant is alive, or nothing."""
    file = "src/boot/" + mutant.file
    text = (TOP / file).read_text()
    if text.count(mutant.old) != 1:
        return f"{file} has {text.count(mutant.old)} places with: {mutant.old}"
    place.mkdir(parents=True)
    source, program = place / mutant.file, place / "test"
    source.write_text(text.replace(mutant.old, mutant.new))
    built.link(build, mutant.test, *built.compile_in_place_of(build, built.INSIDE, file, source), program)
    result = subprocess.run([program], capture_output=True, text=True, timeout=100, check=False,
                            env={**os.environ, "CK_RUN_CASE": mutant.case, "CK_TIMEOUT_MULTIPLIER": "0.1"})
    if result.returncode == 1 and re.search(mutant.says, result.stdout):
        return ""
    return f"was expected to say '{mutant.says}', but: {result.stdout}{result.stderr}"


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    top = build / "tests/boot_mutants"
    shutil.rmtree(top, ignore_errors=True)
    places = [top / str(i) for i in range(len(MUTANTS))]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(4) as pool:  # some wait most of the time
        outcomes = pool.map(lambda m, p: survives(build, p, m), MUTANTS, places)
        for mutant, wrong in zip(MUTANTS, outcomes):
            print(f"{'ALIVE' if wrong else 'killed'}  {mutant.name}{': ' if wrong else ''}{wrong}")
            failed += bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
