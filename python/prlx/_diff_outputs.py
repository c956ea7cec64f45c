"""What kernels wrote, as lines of a comparison: what differs first, the arrays, the statements, the findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ._diff_source import source
from ._errors import in_python
from ._lines import Look, clean, grid, place, short, wrapped
from ._units import format_count, plural

_SHOWN = 5  # rows of a table unless everything is asked for


def coverage(document: Mapping[str, Any]) -> str:
    """What was compared, in words; nothing in documents of versions that did not say it."""
    return str((document.get("coverage") or {}).get("text") or "")


def outputs(document: Mapping[str, Any], look: Look) -> Iterator[str]:
    """The lines about what the kernel wrote: the arrays and the statements that differ."""
    found = document.get("outputs") or {}
    yield from _arrays(found.get("arrays") or (), look)
    yield from _stores(found.get("stores") or (), look)
    if found.get("more"):
        more = found["more"] if look.flags else in_python(found["more"])
        yield from wrapped("  more: ", clean(more), look)


def first_output(document: Mapping[str, Any], look: Look) -> Iterator[str]:
    """The lines about the first output that differs: which element, who wrote it where."""
    first = (document.get("outputs") or {}).get("first")
    if not first:
        return
    yield ""
    at = clean(first.get("array") or "")
    if first.get("element") is not None:
        at += f"[{first['element']}]"
    elif first.get("from") is not None:
        at += f"[{first['from']}..{first['to']}]"
    yield look.style("first output that differs:", "bold") + f" {look.style(at or 'what was stored', 'red', 'bold')}"
    if first.get("element") is not None:
        a, b = (_value(first, side) for side in "ab")
        kind = _type(first)
        yield f"  A has {a}, B has {b}" + (f" ({kind})" if kind else "")
    for side in "ab":
        writer = first.get(f"writer_{side}")
        if writer:
            yield f"  in {side.upper()} written at {_at(writer)} by {_thread(writer)}"
    store = first.get("store")
    if store:
        warps = f"warp {store['warp']:,} first" if store.get("warp") is not None else ""
        more = f", {plural(store['warps'], 'warp')} in all" if store["warps"] > 1 else ""
        in_b = f", in B {short(store['source_location_b'], '')}" if store.get("source_location_b") else ""
        yield f"  {_verb(store)} at {_at(store)}{in_b}" + (f": {warps}{more}" if warps else "")
        yield from source(store, document, look)


def _value(first: Mapping[str, Any], side: str) -> str:
    text, bits = first.get(f"value_{side}"), first.get(f"bits_{side}")
    if not text:
        return "nothing: it did not write it"
    return clean(text) if text == bits or not bits else f"{clean(text)} ({bits})"


def _type(of: Mapping[str, Any]) -> str:
    kinds = [clean(of[key]).lstrip("*") for key in ("type", "type_b") if of.get(key)]
    return ", in B ".join(kinds)


def _at(of: Mapping[str, Any]) -> str:
    return place({"source_location": of.get("source_location"), "site_id": of.get("site_id") or "?"})


def _thread(writer: Mapping[str, Any]) -> str:
    if writer.get("block") is None:
        return f"warp {writer['warp']:,}, lane {writer['lane']}"
    return f"block {writer['block']:,}, warp {writer['warp_of_block']} of it, lane {writer['lane']}"


def _verb(store: Mapping[str, Any]) -> str:
    return "other operands of the atomic" if store.get("site_kind") == "atomic" else "something else is stored"


def _arrays(arrays: Sequence[Mapping[str, Any]], look: Look) -> Iterator[str]:
    rows = [
        (
            clean(row["name"]),
            _type(row),
            ("at least " if row.get("at_least") else "") + f"{row['chunks']:,} of {row['chunks_of']:,}",
            "after the launch" if row.get("after") else clean(row["elements"]),
            format_count(row["written_a"]),
            format_count(row["written_b"]) if row["written_b"] != row["written_a"] else "",
            "noise" if row["noise"] else f"{row['noisy']:,} noise" if row.get("noisy") else "",
        )
        for row in (arrays if look.detail else arrays[:_SHOWN])
    ]
    if rows:
        yield ""
        yield look.style("outputs", "bold") + f" ({plural(len(arrays), 'array')} with other contents)"
        headings = ("array", "type", "chunks", "elements", "bytes", "in B", "")
        yield from grid(headings, rows, look, indent=2, right=(2, 4, 5))
        yield from distances(arrays if look.detail else arrays[:_SHOWN], look)


def distances(arrays: Sequence[Mapping[str, Any]], look: Look, head: str = "") -> Iterator[str]:
    """The lines that say how far apart arrays are; none of documents of versions that did not measure it."""
    for row in arrays:
        if row.get("distance_text"):
            yield from wrapped(f"  {head}{clean(row['name'])}: ", clean(row["distance_text"]), look)


def _stores(stores: Sequence[Mapping[str, Any]], look: Look) -> Iterator[str]:
    rows = [
        (
            short(row.get("source_location"), row["site_id"]),
            clean(row["site_kind"]),
            clean(row.get("array") or ""),
            format_count(row["count_a"]),
            format_count(row["count_b"]) if row["count_b"] != row["count_a"] else "",
            format_count(row["warps"]) if row["warps"] else "",
            clean(row.get("warp_ranges") or ""),
            "noise" if row["noise"] else "",
        )
        for row in (stores if look.detail else stores[:_SHOWN])
    ]
    if rows:
        yield ""
        yield look.style("stores", "bold") + f" ({plural(len(stores), 'statement')} stored something else)"
        headings = ("site", "kind", "array", "elements", "in B", "warps", "which", "")
        yield from grid(headings, rows, look, indent=2, right=(3, 4, 5))


def findings(document: Mapping[str, Any], look: Look) -> Iterator[str]:
    """The lines about what the checks of the simulator found: in one run only, more often, or in both."""
    found = document.get("findings") or ()
    if not found:
        return
    yield ""
    both = sum(bool(row.get("both")) for row in found)
    counts = ((len(found) - both, "of one run, or more often in one"), (both, "of both runs"))
    parts = [f"{n} {what}" for n, what in counts if n]
    yield look.style("findings", "bold") + f" of the simulator ({', '.join(parts)})"
    for row in found if look.detail else found[:_SHOWN]:
        sides = [f"{row[f'count_{side}']:,} in {side.upper()}" for side in "ab" if row[f"count_{side}"]]
        where = f" at {short(row.get('source_location'), '')}" if row.get("source_location") else ""
        noise = " (noise)" if row["noise"] else ""
        yield from wrapped(f"  {clean(row['check'])}{where}, {', '.join(sides)}{noise}: ", clean(row["message"]), look)
