# SPDX-License-Identifier: Apache-2.0
"""docs/openshmem-calls.md has one line for each call of OpenSHMEM 1.6, with the standard's names and parameters
(golden/openshmem.txt, which signatures.py compares with shmem.h), and names calls of Chorus that are declared.

usage: page.py COMPILER
"""
import re
import subprocess
import sys

import signatures

PAGE = signatures.TESTS.parent / "docs" / "openshmem-calls.md"
ROW = re.compile(r"^\| `(.*?)` \| (.*?) \| (.*) \|$")


def plain(text):
    """A declaration of the standard as the page writes it."""
    return text.replace("<TYPENAME>", "T").replace("<SIZE>", "N").replace("TYPE", "T").strip()


def name_of(declaration):
    return re.search(r"(\w+)\(", declaration).group(1)


def standard():
    """(declarations of calls: name -> text, names with a context, names without a type), as the page writes them."""
    calls, contexts, generics = {}, set(), set()
    for line in (signatures.TESTS / "golden" / "openshmem.txt").read_text().splitlines():
        match = re.match(r"(c|c11) (\S+) (?:\(deprecated\) )?(.*\(.*\))$", line)
        if not match or "1.6" not in match.group(2).split(","):
            continue
        text = plain(match.group(3))
        name = name_of(text)
        if match.group(1) == "c11" or name in signatures.GENERIC:
            generics.add(name)
        else:
            calls[name] = text
    contexts = {name for name in calls if name.startswith("shmem_ctx_") and name.replace("ctx_", "", 1) in calls}
    return {name: text for name, text in calls.items() if name not in contexts}, contexts, generics


def page_rows():
    for line in PAGE.read_text().splitlines():
        match = ROW.match(line)
        if match:
            yield match.group(1), re.findall(r"`(\w+)`", match.group(2)), match.group(3)


def declared(compiler):
    """Functions of chorus.h and chorusx.h, with a type or a number of bits as T and N."""
    include = signatures.INCLUDE
    out = subprocess.run([compiler, "-E", "-P", f"-I{include}", "-x", "c", "-"], input='#include "chorus/chorusx.h"\n',
                         text=True, capture_output=True, check=True).stdout
    names = set(re.findall(r"\b(chorusx?_\w+)\s*\(", out))
    return names | {re.sub(r"(?<=_)(int|complexd|uint)_", "T_", n) for n in names} | {
        re.sub(r"(put|get)64", r"\1N", n) for n in names}


def problems(compiler):
    calls, contexts, generics = standard()
    known, seen, also = declared(compiler), {}, set()
    for text, others, here in page_rows():
        name = name_of(text)
        if name in seen:
            yield f"{name}: two lines"
        seen[name] = text
        also |= set(others)
        yield from (f"{name}: {c} is not declared in chorusx.h" for c in re.findall(r"`(chorusx?_\w+)`", here)
                    if c not in known)
    yield from (f"{name}: no line" for name in sorted(calls.keys() - seen.keys()))
    yield from (f"{name}: not in OpenSHMEM 1.6" for name in sorted(seen.keys() - calls.keys()))
    yield from (f"{name}: '{seen[name]}'; the standard has '{calls[name]}'" for name in sorted(seen.keys() & calls.keys())
                if seen[name] != calls[name])
    expected = contexts | (generics - seen.keys())
    yield from (f"{name}: named in no line" for name in sorted(expected - also - {g for g in generics if g in seen}))
    yield from (f"{name}: no further name of the standard" for name in sorted(also - contexts - generics))


def main():
    found = list(problems(sys.argv[1]))
    print("\n".join(found))
    return 1 if found else 0


sys.exit(main())
