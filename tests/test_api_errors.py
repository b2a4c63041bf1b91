# SPDX-License-Identifier: Apache-2.0
"""CHORUS_ERRORS: what a PE prints when a function returns a code that its program ignores.

usage: test_api_errors.py CHORUSRUN ERRORS_PE
"""
import os
import re
import subprocess
import sys

chorusrun, program = sys.argv[1:3]
faults = []

# What errors_pe is to do; the start of each line that each of two PEs logs, in order.
LINES = {
    "collectives": [
        ("chorus_int_broadcast: ", "root is 9", "ERR_ARG"),
        ("chorus_int_sum_reduce: ", "team is CHORUS_TEAM_INVALID", "ERR_ARG"),
        ("chorusx_int_gather: ", "root is -1", "ERR_ARG"),
    ],
    "memory": [
        ("chorus_malloc: ", "", "ERR_NOMEM"),
        ("chorus_calloc: ", "exceed the address space", "ERR_ARG"),
        ("chorus_align: ", "alignment is 3", "ERR_ARG"),
        ("chorusx_team_malloc: ", "team is CHORUS_TEAM_INVALID", "ERR_ARG"),
    ],
    "teams": [
        ("chorus_team_split_strided: ", "count of PEs is 99", "ERR_ARG"),
        ("chorus_team_get_config: ", "team is CHORUS_TEAM_INVALID", "ERR_ARG"),
    ],
    "streams": [
        ("chorusx_int_put_on_stream: ", "not in the symmetric heap", "ERR_NOT_SYMMETRIC"),
        ("chorusx_int_wait_until_on_stream: ", "not in the symmetric heap", "ERR_NOT_SYMMETRIC"),
        ("chorusx_stream_destroy: ", "stream is null", "ERR_ARG"),
    ],
}
LINE = re.compile(r"chorus \d\d:\d\d:\d\d\.\d{3}(?: PE (\d))? error: (\w+: )(.*) \((\w+); "
                  r"logged once for this function\)")


def run(what, **variables):
    """Status, standard output and standard error of errors_pe on two PEs."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CHORUS_")} | variables
    done = subprocess.run([chorusrun, "-n", "2", "--timeout", "20", program, what], env=environment,
                          text=True, timeout=30, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return done.returncode, done.stdout, done.stderr


def expect(holds, what, result):
    if not holds:
        faults.append(f"{what}: status {result[0]}\n{result[1]}{result[2]}")


def is_logged(lines, text):
    """Does each PE log these lines alone, in this order?"""
    found = [LINE.fullmatch(line) for line in text.splitlines()]
    if None in found:
        return False
    for pe in "01":
        of_pe = [match for match in found if match.group(1) == pe]
        if len(of_pe) != len(lines):
            return False
        for match, (function, part, code) in zip(of_pe, lines):
            if match.group(2) != function or part not in match.group(3) or match.group(4) != code:
                return False
    return len(found) == 2 * len(lines)


for name, lines in LINES.items():
    result = run(name)
    expect(result[:2] == (0, "end\nend\n") and is_logged(lines, result[2]), f"{name}, report", result)
    result = run(name, CHORUS_ERRORS="return")
    expect(result == (0, "end\nend\n", ""), f"{name}, return", result)
    result = run(name, CHORUS_LOG="none")
    expect(result == (0, "end\nend\n", ""), f"{name}, no log", result)
    result = run(name, CHORUS_ERRORS="fatal")
    function, part, _ = lines[0]
    expect(result[0] == 1 and "end" not in result[1] and "logged once" not in result[2] and
           re.search(rf"^chorus: PE \d: {function}.*{part}", result[2], re.M), f"{name}, fatal", result)

# A start that fails; a PE has no number yet.
result = run("", CHORUS_HEAP_MAX="many")
expect(result[2].count("chorus_init: CHORUS_HEAP_MAX is \"many\"") == 2 and "(ERR_ARG; logged once" in result[2],
       "init, report", result)
result = run("", CHORUS_HEAP_MAX="many", CHORUS_ERRORS="return")
expect("CHORUS_HEAP_MAX" not in result[2], "init, return", result)
result = run("", CHORUS_HEAP_MAX="many", CHORUS_ERRORS="fatal")
expect("chorus: CHORUS_HEAP_MAX is \"many\"" in result[2] and result[0] == 1, "init, fatal", result)
result = run("", CHORUS_ERRORS="loud")
expect("CHORUS_ERRORS is \"loud\"; expected report, fatal or return" in result[2], "another value", result)

# A function that returns nothing passes its failure to the handler alone.
result = run("rma")
expect(result[0] == 1 and "chorus_int_p: " in result[2] and "logged once" not in result[2], "rma", result)

print("\n".join(faults))
sys.exit(1 if faults else 0)
