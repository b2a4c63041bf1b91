# SPDX-License-Identifier: Apache-2.0
"""From measurements to rules: which choice serves which calls, and what each rule rests on."""
import math
from collections import defaultdict

from chorustune.samples import fail, quote

EVIDENCE = 1.02  # a line cited is at most so many times the best of its call; a test holds tables to it


def in_bytes(n):
    if n == math.inf:
        return "inf"
    for unit, letter in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if n % unit == 0 and n > 0:
            return f"{n // unit}{letter}"
    return str(n)


def between(a, b):
    """Where the choice changes that was measured at a and at b: in the middle of their ratio."""
    grain = max(1, min(a, b - a) // 2)
    return min(max(a + 1, round(math.sqrt(a * b) / grain) * grain), b)


def by_choice(samples):
    """The medians of each choice, from the least on: several, if it was measured again."""
    medians = defaultdict(list)
    for sample in samples:
        medians[sample.choice].append(sample.us)
    return {choice: sorted(us) for choice, us in medians.items()}


def near_best(samples, near):
    """The least median of each choice, and the limit up to which one is as good as the best: near percent
    more, or what the best itself takes when it is measured again."""
    medians = by_choice(samples)
    least = {choice: us[0] for choice, us in medians.items()}
    best = min(medians.values())
    return least, max(best[0] * (1 + near / 100), best[len(best) // 2])


def spread(samples, choice):
    """From the least to the largest time that a choice is likely to take: of its medians if it was measured again,
    else as far above its median as its least time is below."""
    own = [sample for sample in samples if sample.choice == choice]
    if len(own) > 1:
        return min(s.us for s in own), max(s.us for s in own)
    return own[0].us_min, 2 * own[0].us - own[0].us_min


def rival(samples, choice):
    """The name of the best other choice if its spread overlaps the choice's, or nothing."""
    others = [sample for sample in samples if sample.choice != choice]
    if not others:
        return None
    best = min(others, key=lambda s: s.us)
    (lo, hi), (other_lo, other_hi) = spread(samples, choice), spread(samples, best.choice)
    return f"{best.choice[0]}:{best.choice[1]}" if other_lo <= hi and lo <= other_hi else None


def doubts(sizes, by_bytes, sample, high):
    """What a rule's choice rests on, if that is little: words for a comment."""
    if sample.coll == "barrier":
        return []
    found = ["one size"] if len(sizes) == 1 else []
    rivals = [name for name in (rival(by_bytes[size], sample.choice) for size in sizes) if name]
    if 2 * len(rivals) > len(sizes):
        found.append(f"spread overlaps that of {max(sorted(set(rivals)), key=rivals.count)}")
    if high == math.inf:
        found.append(f"extrapolated above {in_bytes(max(sizes))}")
    return found


def run_of(choice, sizes, limits):
    """How many of the sizes, from the first on, a choice serves within the limit."""
    def serves(size):
        us, limit = limits[size]
        return us.get(choice, math.inf) <= limit

    return next((k for k, size in enumerate(sizes) if not serves(size)), len(sizes))


def line_of(choice, sizes, by_bytes):
    """The first line of a choice that evidence may be: as good as the best of its size."""
    for size in sizes:
        samples = by_bytes[size]
        own = min((s for s in samples if s.choice == choice), key=lambda s: s.us)
        if own.us <= min(s.us for s in samples) * EVIDENCE:
            return own
    return None


def stretches(by_bytes, known, near):
    """Lists of sizes in order that one choice serves, each with a line of that choice: what is
    near enough to the best for longest, of that what every call can have and fewest CTAs."""
    limits = {size: near_best(samples, near) for size, samples in by_bytes.items()}
    sizes, out = sorted(by_bytes), []
    while sizes:
        runs = [(run_of(s.choice, sizes, limits), s) for s in by_bytes[sizes[0]]]
        lines = [(length, s, line_of(s.choice, sizes[:length], by_bytes)) for length, s in runs]
        length, _, line = max((found for found in lines if found[2]),
                              key=lambda found: (found[0], found[1].is_plain(known),
                                                 -found[1].choice[2], -found[1].us))
        out.append((sizes[:length], line))
        sizes = sizes[length:]
    return out


def rule(filters, sample, known, evidence, comment):
    algo, proto, ctas, radix = sample.choice
    words = [f"coll: {sample.coll}", *filters, f"algo: {algo}", f"proto: {proto}"]
    words += [f"ctas: {ctas}"] if ctas > 1 else []
    words += [f"radix: {radix}"] if sample.has(known)[1] else []
    evidence = evidence or quote(sample.where)
    return f"  - {{{', '.join(words)}, from: {evidence}}}" + (f"  # {'; '.join(comment)}" if comment else "")


def pieces(by_bytes, known, near, low=0, high=math.inf):
    """What stretches gives, each with the bounds of the bytes from low to high that it serves."""
    found = stretches(by_bytes, known, near)
    ends = [between(found[k][0][-1], found[k + 1][0][0]) for k in range(len(found) - 1)]
    return [(lo, hi, *piece) for lo, hi, piece in zip([low, *ends], [*ends, high], found)]


def choices(by_bytes, known, near):
    """(low, high, sample, evidence, doubts): the best, and after one that not every call can have, the
    best that all can."""
    for low, high, sizes, best in pieces(by_bytes, known, near):
        yield low, high, best, None, doubts(sizes, by_bytes, best, high)
        plain = {size: [s for s in by_bytes[size] if s.is_plain(known)] for size in sizes}
        plain = {size: samples for size, samples in plain.items() if samples}
        if not best.is_plain(known) and plain:
            for lo, hi, _, second in pieces(plain, known, near, low, high):
                yield lo, hi, second, "fallback", []


def are_near(chosen, by_bytes, near):
    """Are the choices for one number of PEs near the best for another, at each of its sizes?"""
    for size, samples in by_bytes.items():
        us, limit = near_best(samples, near)
        choice = next(sample.choice for low, high, sample, evidence, _ in chosen
                      if evidence is None and low <= size < high)
        if us.get(choice, math.inf) > limit:
            return False
    return True


def groups(by_pes, known, near):
    """Numbers of PEs in order that the same choices serve, each list with these."""
    out = []
    for pes in sorted(by_pes):
        if out and are_near(out[-1][1], by_pes[pes], near):
            out[-1][0].append(pes)
        else:
            out.append(([pes], list(choices(by_pes[pes], known, near))))
    return out


def rules_of(coll, samples, known, near):
    """Rules of a collective; the last has no filters and an algorithm that needs `map` alone."""
    by_pes = defaultdict(lambda: defaultdict(list))
    for sample in samples:
        by_pes[sample.pes][sample.bytes].append(sample)
    found, rules = groups(by_pes, known, near), []
    for i, (counts, chosen) in enumerate(found):
        lo = between(found[i - 1][0][-1], counts[0]) if i > 0 else 1
        hi = between(counts[-1], found[i + 1][0][0]) if i + 1 < len(found) else "inf"
        about_pes = [] if len(found) == 1 else [f"pes: {lo}..{hi}"]
        for low, high, sample, evidence, comment in chosen:
            any_bytes = low == 0 and high == math.inf
            about_bytes = [] if any_bytes else [f"bytes: {in_bytes(low)}..{in_bytes(high)}"]
            rules.append((about_pes + about_bytes, sample, evidence, comment))
    _, last, evidence, comment = rules.pop()
    if not last.is_plain(known):
        fail(f"{coll}: no line of an algorithm that needs no more than map or put; measure one")
    return [rule(filters, sample, known, *rest) for filters, sample, *rest in [*rules, ([], last, evidence, comment)]]
