# SPDX-License-Identifier: Apache-2.0
"""What programs that try mutants share: which mutants are tried, their sources, what is printed."""
import concurrent.futures
import os
import pathlib
import re
import shutil

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
SHARE = 12  # one mutant of so many is tried where CHORUS_MUTANTS is not "all"


def span_of(mutant, text):
    """Where the function `within` of a mutant begins and ends; all of the text if it names none."""
    function = getattr(mutant, "within", "")
    found = re.search(rf"^CH_(?:FN|PART) [^;{{}}]*\b{function}\([^;{{}}]*\)\n{{.*?^}}", text, re.M | re.S) if function else None
    return found.span() if found else (0, len(text))


def judge(mutants, folder, attempt, at_once):
    """Exit status: 1 if one of the mutants is alive, or if its place in the sources is not found.

    A mutant has a name, a `file` of the sources, and in it, or in its function `within`, a text `old` in whose
    place `new` stands.
    attempt(mutant, text, place) says why a mutant is alive: `text` is its source, `place` a folder
    of its own in `folder`. So many are tried at once. `./dev mutants` sets CHORUS_MUTANTS."""
    shutil.rmtree(folder, ignore_errors=True)
    is_all = os.environ.get("CHORUS_MUTANTS") == "all"

    def outcome(numbered):
        number, mutant = numbered
        text = (TOP / mutant.file).read_text()
        begin, end = span_of(mutant, text)
        part = text[begin:end]
        if part.count(mutant.old) != 1:
            return f"{mutant.file} has {part.count(mutant.old)} places with: {mutant.old}"
        if not is_all and number % SHARE != 0:
            return None
        place = folder / str(number)
        place.mkdir(parents=True)
        return attempt(mutant, text[:begin] + part.replace(mutant.old, mutant.new) + text[end:], place)

    alive, tried = [], 0
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        for mutant, wrong in zip(mutants, pool.map(outcome, enumerate(mutants))):
            tried += wrong is not None
            if wrong:
                alive.append(f"ALIVE  {mutant.name}: {wrong}")
            elif wrong is not None:
                print(f"killed  {mutant.name}")
    print(*alive, f"{tried} of {len(mutants)} mutants tried, {len(alive)} alive", sep="\n")
    return 1 if alive else 0
