"""A comparison of recordings as text: the verdict, the first divergence with its lanes, the clusters, what limits it.

The library and the command line share it; the command line adds colours. Eighty columns do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ._diff_given import given
from ._diff_outputs import findings, first_output, outputs
from ._diff_source import edits, source
from ._errors import in_python, said
from ._lines import Look, clean, grid, lane_text, mask, place, short, wrapped
from ._origin import of_both
from ._units import format_count, plural

_TONES = {"good": "green", "limited": "yellow", "bad": "red"}
_LANES_SHOWN = 8
_OPEN_SHOWN = 5


def render(document: Mapping[str, Any], look: Look | None = None) -> Iterator[str]:
    """The lines of a document ``prlx.diff/1``."""
    look = look or Look()
    yield from verdict(document, look)
    yield from _statement(document, look)
    yield from _sides(document, look)
    yield from of_both(document, look)
    yield from details(document, look)


def details(document: Mapping[str, Any], look: Look) -> Iterator[str]:
    """What comes after the verdict: the first divergence, the clusters, what was written, why, what limits it."""
    yield from given(document, look)
    first = document.get("first")
    if first:
        yield ""
        yield from divergence(first, document, look, heading="first divergence")
    yield from findings(document, look)
    if not first:
        yield from first_output(document, look)
    yield from edits(document, look)
    yield from _clusters(document, look)
    if first:
        yield from first_output(document, look)
    yield from outputs(document, look)
    if look.detail:
        yield from _sites(document, look)
    yield from _explanation(document, look)
    yield from _limits(document, look)


def verdict(document: Mapping[str, Any], look: Look) -> Iterator[str]:
    """The line that everybody reads, of a comparison of recordings or of sessions."""
    word, tone = clean(document["headline"]["word"]), document["headline"]["tone"]
    colour = _TONES.get(tone, "red")
    text = document["verdict"] if look.flags else in_python(document["verdict"])
    yield from wrapped(f"{word}: ", clean(text), look, head=look.style(f"{word}:", colour, "bold") + " ")


def _statement(document: Mapping[str, Any], look: Look) -> Iterator[str]:
    """The statement to look at, where the explanation knows it."""
    statement = (document.get("explanation") or {}).get("statement")
    if not statement:
        return
    where = f"{short(statement['source_location'], '')} in {statement['side']}"
    head = f"  look at {where}: "
    yield from wrapped(head, clean(statement["why"]), look, head=f"  look at {look.style(where, 'bold')}: ")
    for text in statement.get("text") or ():
        yield f"    {look.style(clean(text), 'bold')}"
    if statement["way"]:
        yield from wrapped("    from there through ", clean(", ".join(statement["way"])), look)


def _sides(document: Mapping[str, Any], look: Look) -> Iterator[str]:
    a, b = document["a"], document["b"]
    paths = [clean(a["path"]), clean(b["path"])]
    width = min(max(map(len, paths)), max(20, look.width - 50))
    for letter, side, path in zip("AB", (a, b), paths, strict=True):
        events = document[f"total_events_{letter.lower()}"]
        kernel = clean(side.get("kernel_name") or side["kernel"])
        about = f"{kernel}, {plural(side['warps'], 'warp')}, {plural(events, 'event')}"
        shown = path if len(path) <= width else "..." + path[3 - width :]
        yield f"  {look.style(letter, 'bold')}  {shown.ljust(width)}  {look.style(about, 'dim')}"


def divergence(d: Mapping[str, Any], document: Mapping[str, Any], look: Look, *, heading: str) -> Iterator[str]:
    """The lines of one divergence: where, what, the source, the lanes."""
    in_b = short(d["source_location_b"], "") if d.get("source_location_b") and not d.get("site_b") else ""
    at = place(d, look) + (f", in B {in_b}" if in_b else "")
    yield look.style(f"{heading}:", "bold") + f" {look.style(d['kind'], 'red', 'bold')} at {at}"
    yield from (f"  {line}" for line in _where(d, document))
    yield from (f"  {line}" for line in _what(d))
    lines = list(source(d, document, look))
    if lines:
        yield ""
        yield from lines
    lanes = list(_lanes(d, document, look))
    if lanes:
        yield ""
        yield from lanes
    history = d.get("history") or ()
    if (look.history or look.detail) and history:
        yield ""
        yield from _history(history, look)


def _where(d: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[str]:
    warp = d["warp_idx"]
    per_block = document["a"].get("warps_per_block") or 0
    text = f"warp {warp:,}"
    if per_block:
        text += f" (block {warp // per_block:,}, warp {warp % per_block} of {per_block})"
    event, event_b = d["event_idx"], d["event_idx_b"]
    text += f", event {event:,}" + (f" in A, {event_b:,} in B" if event != event_b else "")
    passes, passes_b = d["occurrence"] + 1, d["occurrence_b"] + 1
    if d["kind"] != "ExtraEvents" and (passes > 1 or passes_b > 1):
        text += f", pass {passes:,} of this site" + (f" in A, {passes_b:,} in B" if passes != passes_b else "")
    yield text


def _what(d: Mapping[str, Any]) -> Iterator[str]:
    """What the two sides did, in words."""
    kind = d["kind"]
    if kind == "Branch":
        yield _branch(d)
    elif kind == "ActiveMask":
        only_a, only_b = mask(d.get("mask_a")) & ~mask(d.get("mask_b")), mask(d.get("mask_b")) & ~mask(d.get("mask_a"))
        parts = [f"{_lanes_named(lanes)} only in {side}" for lanes, side in ((only_a, "A"), (only_b, "B")) if lanes]
        yield "other lanes are active: " + (", ".join(parts) or f"A {d.get('mask_a')}, B {d.get('mask_b')}")
    elif kind == "Value":
        yield f"A has {_value(d, 'a')}, B has {_value(d, 'b')}"
    elif kind == "Path":
        other = short(d.get("source_location_b"), d.get("site_b") or "another site")
        counts = (d.get("count") or 0, d.get("count_b") or 0)
        said = f" ({plural(counts[0], 'event')} there, {plural(counts[1], 'event')} in B)" if max(counts) > 1 else ""
        yield f"A goes on here, B goes on at {other}{said}"
    elif kind == "ExtraEvents":
        yield f"{plural(d.get('count') or 0, 'event')} only in {d.get('in_trace')}"


def _branch(d: Mapping[str, Any]) -> str:
    if d.get("taken_a") is not None and d.get("taken_b") is not None and d["taken_a"] != d["taken_b"]:
        a, b = mask(d["taken_a"]), mask(d["taken_b"])
        parts = [f"{_lanes_named(n)} only in {side}" for n, side in ((a & ~b, "A"), (b & ~a, "B")) if n]
        return "taken by " + ", by ".join(parts)
    ways = {0: "does not take it", 1: "takes it"}
    a_way, b_way = (ways.get(d.get(key, -1), f"goes way {d.get(key)}") for key in ("dir_a", "dir_b"))
    return f"A {a_way}, B {b_way}"


def _value(d: Mapping[str, Any], side: str) -> str:
    text, bits = d.get(f"value_{side}"), d.get(f"bits_{side}")
    kind = d.get("value_type")
    shown = clean(text if text not in (None, "") else bits or "nothing")
    return f"{shown} ({bits}, {kind})" if bits and kind and bits != text else shown


def _lanes_named(lanes: int) -> str:
    return f"{'lane' if lanes.bit_count() == 1 else 'lanes'} {lane_text(lanes)}"


def _lanes(d: Mapping[str, Any], document: Mapping[str, Any], look: Look) -> Iterator[str]:
    """Masks as strips, then both operands of the lanes that differ."""
    wave = max(document["a"].get("wave_size") or 32, document["b"].get("wave_size") or 32)
    differ = sum(1 << lane for lane in d.get("lanes") or ())
    strips = []
    for name, key in (("active", "mask"), ("taken", "taken")):
        a, b = d.get(f"{key}_a"), d.get(f"{key}_b")
        if a is None and b is None:
            continue
        if a == b:
            strips.append((f"{name} A, B", mask(a)))
        else:
            strips += [(f"{name} {side}", mask(text)) for side, text in (("A", a), ("B", b)) if text is not None]
    if strips:
        head = max(len(name) for name, _ in strips)
        yield look.style(f"  {'lane'.ljust(head)}  {_grouped(_numbers(wave), wave).rstrip()}", "dim")
        for name, lanes in strips:
            yield f"  {name.ljust(head)}  {_strip(lanes, wave, '#', '.')}"
        if differ:
            yield (
                "  " + "differ".ljust(head) + "  " + look.style(_strip(differ, wave, "^", " ").rstrip(), "red", "bold")
            )
    yield from _operands(d, look)


def _strip(lanes: int, wave: int, there: str, absent: str) -> str:
    return _grouped("".join(there if lanes >> k & 1 else absent for k in range(wave)), wave)


def _numbers(wave: int) -> str:
    """Every eighth lane's number above it."""
    return "".join(f"{lane:<8}" for lane in range(0, wave, 8))


def _grouped(text: str, wave: int) -> str:
    """Lanes in groups of 8; those of a wave of 64 in two halves, to stay within 80 columns."""
    size = 8 if wave <= 32 else 32
    return " ".join(text[k : k + size] for k in range(0, wave, size))


def _operands(d: Mapping[str, Any], look: Look) -> Iterator[str]:
    values = d.get("lane_values") or ()
    if not any(row.get(key) for row in values for key in ("lhs_a", "lhs_b", "rhs_a", "rhs_b")):
        return
    chosen = [row for row in values if row["differs"]] or list(values)
    shown = chosen if look.detail else chosen[:_LANES_SHOWN]
    ops = [
        _OPERATORS.get(name, name) for name in (d.get("compare") or "", d.get("compare_b") or d.get("compare") or "")
    ]
    rows = []
    for row in shown:
        cells = [str(row["lane"])]
        for side, op in zip("ab", ops, strict=True):
            active = row[f"active_{side}"]
            lhs, rhs = (clean(row.get(f"{name}_{side}") or "") for name in ("lhs", "rhs"))
            cells.append("idle" if not active else f"{lhs} {op} {rhs}".strip() if rhs else lhs)
            taken = row.get(f"taken_{side}")
            cells.append("" if taken is None or not active else "taken" if taken else "not")
        rows.append((*cells, "<-- differs" if row["differs"] else ""))
    yield ""
    heads = [f"{side}: lhs {op} rhs" if op else side for side, op in zip("AB", ops, strict=True)]
    headings = ("lane", heads[0], "", heads[1], "", "")
    yield from grid(headings, rows, look, indent=2, right=(0,))
    if len(shown) < len(chosen):
        yield look.style(f"  and {plural(len(chosen) - len(shown), 'more lane')} that differ; -v shows all", "dim")


_OPERATORS = {
    "eq": "==", "ne": "!=", "slt": "<", "sle": "<=", "sgt": ">", "sge": ">=", "ult": "<u", "ule": "<=u", "ugt": ">u",
    "uge": ">=u", "oeq": "==", "one": "!=", "olt": "<", "ole": "<=", "ogt": ">", "oge": ">=", "une": "!=",
}  # fmt: skip


def _history(rows: Sequence[Mapping[str, Any]], look: Look) -> Iterator[str]:
    table = [
        (
            row["mark"],
            _index(row["event_a"]),
            _index(row["event_b"]),
            short(row.get("source_location"), row["site_id"]),
            clean(row["site_kind"]),
            clean(row["a"]),
            "same" if row["mark"] == "=" and row["a"] == row["b"] else clean(row["b"]),
        )
        for row in rows
    ]
    yield from grid(("", "in A", "in B", "site", "kind", "A", "B"), table, look, indent=2, right=(1, 2))


def _index(number: int) -> str:
    return "" if number < 0 else format_count(number)


def _clusters(document: Mapping[str, Any], look: Look) -> Iterator[str]:
    clusters = document["clusters"]
    if not clusters:
        return
    total = len(clusters) + document.get("clusters_omitted", 0)
    families = [[cluster] for cluster in clusters] if look.detail else _families(clusters)
    shown = families[: look.clusters]
    rows = [_family_row(family) for family in shown]
    if not rows:
        return
    yield ""
    some = f", {sum(map(len, shown))} shown" if sum(map(len, shown)) < total else ""
    warps = document["warps_diverged"]
    lines = "; lines of A" if document.get("builds") or (document.get("edits") or {}).get("functions") else ""
    yield look.style("clusters", "bold") + (
        f" ({plural(warps, 'warp')} that differ in {plural(total, 'way')}{some}{lines})"
        if warps != 1
        else f" ({plural(total, 'way')} to differ{some}{lines})"
    )
    headings = ("#", "warps", "which", "ways", "first kind", "first at", "event", "each", "")
    yield from grid(headings, rows, look, indent=2, right=(0, 1, 3, 6, 7))


def _families(clusters: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Clusters that begin in the same way, at one site: one bug makes as many clusters as the data of warps have shapes."""
    found: dict[tuple[object, ...], list[Mapping[str, Any]]] = {}
    for cluster in clusters:
        first = cluster["first"]
        key = (first["kind"], first["site_id"], first.get("site_b"), cluster["noise"], cluster["follows"])
        found.setdefault(key, []).append(cluster)
    return list(found.values())


def _family_row(family: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    lead = family[0]
    first = lead["first"]
    which = clean(lead["warp_ranges"]) if len(family) == 1 else _joined(cluster["warp_ranges"] for cluster in family)
    return (
        str(lead["id"]),
        format_count(sum(cluster["warps"] for cluster in family)),
        which,
        format_count(len(family)) if len(family) > 1 else "",
        first["kind"],
        short(first.get("source_location"), first["site_id"]),
        _span(cluster["first"]["event_idx"] for cluster in family),
        _span(cluster["divergences"] for cluster in family),
        "noise" if lead["noise"] else "follows" if lead["follows"] else "",
    )


_RANGES_SHOWN = 4


def _joined(texts: Iterable[str]) -> str:
    """The first ranges of the warps of several clusters: ``0-7,9,12-15,...``."""
    begun: list[tuple[int, int]] = []
    whole = True
    for part in ",".join(texts).split(","):
        begin, _, end = part.partition("-")
        if begin.isdecimal() and (end or begin).isdecimal():
            begun.append((int(begin), int(end or begin)))
        else:  # the document left some out
            whole = False
    joined: list[tuple[int, int]] = []
    for begin_at, end_at in sorted(begun):
        if joined and begin_at <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(end_at, joined[-1][1]))
        else:
            joined.append((begin_at, end_at))
    shown = [f"{begin}-{end}" if end > begin else str(begin) for begin, end in joined[:_RANGES_SHOWN]]
    return ",".join([*shown, *(["..."] if not whole or len(joined) > _RANGES_SHOWN else [])])


def _span(numbers: Iterable[int]) -> str:
    """The least and the largest number."""
    all_of_them = list(numbers)
    least, most = min(all_of_them), max(all_of_them)
    return format_count(least) if least == most else f"{format_count(least)}..{format_count(most)}"


def _sites(document: Mapping[str, Any], look: Look) -> Iterator[str]:
    sites = document.get("sites") or ()
    based = document.get("baseline") is not None
    rows = [
        (
            short(site.get("source_location"), site["site_id"]),
            clean(site.get("site_kind") or ""),
            format_count(site["divergences"]),
            format_count(site["warps"]),
            _kinds(site["breakdown"]),
            f"{100 * site['rate']:.3g} %",
            f"{100 * site['baseline_rate']:.3g} %" if based else "",
            "noise" if site["noise"] else "",
        )
        for site in sites[: max(20, look.clusters)]
    ]
    if rows:
        yield ""
        yield look.style("sites", "bold") + (f" ({len(rows)} of {len(sites)})" if len(rows) < len(sites) else "")
        headings = ("site", "kind", "count", "warps", "of kinds", "rate", "noise rate", "")
        yield from grid(headings, rows, look, indent=2, right=(2, 3, 5, 6))


def _kinds(breakdown: Mapping[str, int]) -> str:
    """Which kinds, and how many of each where there are several."""
    found = [(kind, count) for kind, count in breakdown.items() if count]
    return ", ".join(kind if len(found) == 1 else f"{kind} {count:,}" for kind, count in found)


def _explanation(document: Mapping[str, Any], look: Look) -> Iterator[str]:
    explanation = document.get("explanation")
    if document["status"] == "same-results" and document["first"]:
        yield ""
        yield look.style("why:", "bold") + " nothing went wrong: the kernel wrote the same results in a different way"
    if not explanation:
        return
    yield ""
    head = f"why: {explanation['class']} ({explanation['confidence']}): "
    styled = look.style("why:", "bold") + f" {explanation['class']} ({explanation['confidence']}): "
    yield from wrapped(head, clean(explanation["summary"]), look, head=styled)
    for link in explanation.get("chain") or ():
        where = short(link.get("source_location"), link.get("site_id") or "")
        seen = "" if link["recorded"] else " (from the site table, not recorded)"
        lanes = f" [{_lanes_named(sum(1 << lane for lane in link['lanes']))}]" if link.get("lanes") else ""
        at = f" at {where}" if where else ""
        yield from wrapped(f"  {clean(link['what'])}{at}: ", clean(link["text"]) + lanes + seen, look)
    missing = explanation.get("missing") or ()
    for text in missing if look.flags else said(missing):
        yield from wrapped("  not recorded: ", clean(text), look)
    if look.detail:
        for ruling in explanation.get("considered") or ():
            reasons = "; ".join([*ruling["for"], *(f"but {text}" for text in ruling["against"])])
            yield from wrapped(
                f"  {ruling['class']} ({ruling['score']}): ", clean(reasons or "no evidence supports it"), look
            )


_WHY = {
    "unseen": "no equal run shows it",
    "more": "equal runs show about {expected:g}",
    "less": "equal runs show about {expected:g}, more than chance allows",
    "in-one-warp": "more in one warp than equal runs show",
    "longer": "longer than equal runs show",
    "lanes": "in lanes in which equal runs never differ",
    "warps": "in warps in which equal runs never differ",
    "direction": "in a direction in which equal runs never differ",
    "stays": "the equal runs of B have it, those of A do not",
    "noisier": "the equal runs of B differ here, those of A do not",
    "pairing": "passes of a loop are paired anew here",
}


def _undecided(entry: Mapping[str, Any]) -> str:
    """What equal runs can neither explain nor rule out, and how many more would tell."""
    where = short(entry.get("source_location"), entry["site_id"])
    said = f"{format_count(entry['divergences'])} {clean(entry['kind'])} at {where}: "
    said += _WHY.get(entry["why"], clean(entry["why"])).format(expected=entry["expected"])
    more = [f"{n} of {side}" for side, n in (("A", entry["more_runs_a"]), ("B", entry["more_runs_b"])) if n]
    return said + (f"; more equal runs that would tell: {' or '.join(more)}" if more else "")


def _limits(document: Mapping[str, Any], look: Look) -> Iterator[str]:
    """What follows from earlier differences, what is noise, what is missing."""
    lines: list[tuple[str, str, str]] = []
    follows = [cluster for cluster in document["clusters"] if cluster["follows"] and not cluster["noise"]]
    if follows:
        warps = sum(cluster["warps"] for cluster in follows)
        lines.append(
            ("follows", f"{plural(len(follows), 'cluster')} ({plural(warps, 'warp')}) can follow from the first", "dim")
        )
    baseline = document.get("baseline")
    if baseline and (baseline["suppressed"] or not baseline.get("output_chunks")):
        total = plural(document["total_divergences"], "divergence")
        said = f"{format_count(baseline['suppressed'])} of {total} explained by noise"
        said += f" ({plural(baseline['noise_sites'], 'site')}; {plural(baseline['pairs'], 'comparison')} of equal runs)"
        lines.append(("noise", said, "dim"))
    if baseline and baseline.get("output_chunks"):
        chunks = f"{plural(baseline['output_chunks'], 'chunk')} of outputs"
        runs = f"among equal runs ({plural(baseline['pairs'], 'pair')} compared)"
        lines.append(("noise", f"{chunks} also differ {runs} and do not count", "dim"))
    if baseline:
        lines += [("undecided", _undecided(entry), "yellow") for entry in baseline.get("undecided") or ()][:_OPEN_SHOWN]
    for side in "ab":
        for note in document["losses"][side].get("notes") or ():
            lines.append((f"losses in {side.upper()}", clean(note), "yellow"))
    if not lines:
        return
    yield ""
    for name, text, colour in lines:
        yield from wrapped(f"{name}: ", text, look, head=look.style(f"{name}:", colour) + " ")
