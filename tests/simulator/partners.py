"""Which events of a kernel that records are which of the watched one; and of those without a partner: by what rule.

A kernel is recorded three times: the simulator watches the clean machine code (``watched``), the text records by itself
(``recorded``), and the simulator watches the machine code of that text (``own``). Rules look at what lanes decided, never at
how many events there are, so whatever fits none of them has no explanation.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Iterator
from typing import Any

Events = list[tuple[int, int, int]]
Lanes = dict[tuple[int, int], tuple[bool, ...]]

# What two sites have in common
KEY, LINE, FUNCTION = "partner under their key", "partner at their place", "partner elsewhere in their function"
# Why an event that is watched has no partner; the last one is no rule.
UNSEEN = "the function records nothing"
JOINED = "the machine code joins two"
LATE = "the last stages made it"
UNEXPLAINED = "not explained"
OTHER_VALUE = "of these with another value"  # of those that have a partner


def columns(trace: Any, *names: str) -> list[list[Any]]:
    """Columns of events as lists; texts by their words."""
    found = []
    for name in names:
        column = trace.events.column(name)
        words = column.dictionary() if column.type == "string" else None
        values = column.values.tolist()
        found.append(values if words is None else [words[code] for code in values])
    return found


def by_site(trace: Any) -> dict[str, dict[int, Events]]:
    """Active lanes, taken lanes and value of every event, by site and warp, in order."""
    sites: dict[str, dict[int, Events]] = collections.defaultdict(lambda: collections.defaultdict(list))
    for warp, site, active, taken, value in zip(
        *columns(trace, "warp", "site", "active", "taken", "value"), strict=True
    ):
        sites[site][warp].append((active, taken, value))
    return sites


def lanes(events: dict[int, Events], *, other: bool = False) -> Lanes:
    """What each lane decided, in its order; the other way round where a compiler turned the question."""
    found: dict[tuple[int, int], list[bool]] = collections.defaultdict(list)
    for warp, ones in events.items():
        for active, taken, _value in ones:
            for lane in range(32):
                if active >> lane & 1:
                    found[warp, lane].append(bool(taken >> lane & 1) != other)
    return {key: tuple(decided) for key, decided in found.items()}


def turned(events: dict[int, Events]) -> dict[int, Events]:
    """The events as they are where the compiler asks the opposite."""
    return {warp: [(active, active & ~taken, value) for active, taken, value in ones] for warp, ones in events.items()}


def line_of(location: str) -> str:
    """A location without its directories, and without its column, which versions of Triton name otherwise."""
    return location.rpartition("/")[2].rpartition(":")[0]


class Side:
    """One recording: its sites, and what lanes decided there."""

    def __init__(self, trace: Any) -> None:
        names = ("site", "kind", "location", "code")
        found = (trace.sites.column(name) for name in names)
        rows = zip(*([one.dictionary()[code] for code in one.values.tolist()] for one in found), strict=True)
        self.code: dict[str, str] = {}
        # Kind and location, without directories: a kernel in a cache has those that it was compiled in.
        self.place: dict[str, tuple[str, str]] = {}
        for site, kind, location, code in rows:
            self.place[site], self.code[site] = (kind, location.rpartition("/")[2]), code
        self.events = by_site(trace)
        self.lanes = {site: lanes(events) for site, events in self.events.items()}
        self.turned = {site: lanes(events, other=True) for site, events in self.events.items()}

    def count(self, sites: Any) -> int:
        """How many events these sites have."""
        return sum(len(ones) for site in sites for ones in self.events[site].values())

    def within(self, site: str, where: str) -> str:
        """The place of a site, or its function."""
        location = self.place[site][1]
        return location if where == LINE else location.split(":")[1]


def pairs(watched: Side, recorded: Side) -> dict[str, tuple[str, str]]:
    """Sites that record, with the watched site of each where lanes decide the same, and what the two have in common.

    Whichever way the question is asked. Those that have one key come first, then those with one code and one value, and
    last those whose place no compiler keeps: a compare that the text has once and the machine code at each use.
    """

    def alike(mine: str, theirs: str) -> bool:
        return watched.lanes[theirs] in (recorded.lanes[mine], recorded.turned[mine])

    def valued(mine: str, theirs: str) -> bool:
        return dict(watched.events[theirs]) in (dict(recorded.events[mine]), turned(recorded.events[mine]))

    def kind_of(mine: str, theirs: str) -> bool:
        return watched.place[theirs][0] == recorded.place[mine][0]

    def coded(mine: str, theirs: str) -> bool:
        return watched.code[theirs] == recorded.code[mine] and valued(mine, theirs)

    rules = (
        (LINE, lambda mine, theirs: kind_of(mine, theirs) and coded(mine, theirs)),
        (LINE, coded),  # a branch that became a predicate
        (LINE, lambda mine, theirs: kind_of(mine, theirs) and valued(mine, theirs)),
        (LINE, kind_of),
        (FUNCTION, lambda mine, theirs: kind_of(mine, theirs) and coded(mine, theirs)),
    )
    found = {site: (site, KEY) for site in recorded.events if site in watched.events and alike(site, site)}
    taken = {site for site, _ in found.values()}
    for where, rule in rules:
        there = collections.defaultdict(list)
        for site in watched.events.keys() - taken:
            there[watched.within(site, where)].append(site)
        for site in recorded.events.keys() - found.keys():
            for candidate in sorted(there[recorded.within(site, where)]):
                if candidate not in taken and alike(site, candidate) and rule(site, candidate):
                    found[site] = candidate, where
                    taken.add(candidate)
                    break
    return found


def combined(a: Lanes, b: Lanes) -> Iterator[Lanes]:
    """Two questions as one: both, one of the two, exactly one; also turned."""
    if {key: len(one) for key, one in a.items()} != {key: len(one) for key, one in b.items()}:
        return
    for first, second, other in itertools.product((False, True), repeat=3):
        yield {
            key: tuple(((x != first) and (y != second)) != other for x, y in zip(a[key], b[key], strict=True))
            for key in a
        }
    for other in (False, True):
        yield {key: tuple((x != y) != other for x, y in zip(a[key], b[key], strict=True)) for key in a}


def why(site: str, watched: Side, recorded: Side, own: Side) -> str:
    """The rule by which a watched site has no partner."""
    if watched.within(site, FUNCTION) not in {recorded.within(one, FUNCTION) for one in recorded.place}:
        return UNSEEN
    place = watched.place[site]
    same = place, watched.code[site], watched.lanes[site]
    if any((own.place[one], own.code[one], own.lanes[one]) == same for one in own.events):
        return LATE
    told = [one for one in recorded.events if line_of(recorded.place[one][1]) == line_of(place[1])]
    for a, b in itertools.combinations(told, 2):
        if watched.lanes[site] in combined(recorded.lanes[a], recorded.lanes[b]):
            return JOINED
    return UNEXPLAINED


def asked(site: str, candidate: str, watched: Side, recorded: Side, own: Side) -> bool:
    """Whether the machine code that records compares what is recorded, or what the clean one compares."""
    place = recorded.place[site]
    same = [dict(recorded.events[site]), turned(recorded.events[site]), dict(watched.events[candidate])]
    return any(own.place[one] == place and dict(own.events[one]) in same for one in own.events)


def counted(mine: list[int], theirs: list[int]) -> bool:
    """Whether two sequences of numbers are one counter: the second a multiple of the first, or its end, and something."""
    bits = 32 if max(theirs) < 1 << 32 else 64
    known = dict(zip(mine, theirs, strict=True))
    if [known[number] for number in mine] != theirs:
        return False
    (first, start), *others = known.items()
    return any(
        all((step * (number - first) - (value - start)) % (1 << bits) == 0 for number, value in others)
        for step in range(-64, 65)
    )
