"""What ``prlx report`` says of saved documents that hold no verdict, or an open one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .lacks import Case

SCHEMAS = Path(__file__).resolve().parents[2] / "docs/schemas"
GATE = ("--fail-on", "rank-loss>99%")
"""A gate that no rank of the example meets: whatever passes it passes for want of evidence."""

Change = Callable[[dict[str, Any]], str]


def saved(document: Mapping[str, Any]) -> str:
    """A document as ``--json`` prints it."""
    return json.dumps(document, indent=2)


def without_conclusion(document: dict[str, Any]) -> str:
    """As versions wrote it that had no conclusions."""
    document.pop("conclusion", None)
    return saved(document)


def nothing_inside(document: dict[str, Any]) -> str:
    """Of a job in which nothing was looked at."""
    document |= {"status": "nothing", "ranks": [], "conclusion": open_verdict(0, [])}
    return saved(document)


def one_rank_missing(document: dict[str, Any]) -> str:
    """Of a job of which a rank has no file."""
    document["conclusion"] = open_verdict(3, [{"what": "rank 3", "count": None, "why": "no file of it"}])
    return saved(document)


def open_verdict(count: int, missing: list[dict[str, Any]]) -> dict[str, Any]:
    """A conclusion without an outcome that prlx knows."""
    why = "; ".join(f"{row['what']}: {row['why']}" for row in missing) or "nothing was looked at"
    looked = [{"what": "ranks", "count": count, "of": 4}]
    return {"outcome": "inconclusive", "why": why, "looked": looked, "missing": missing}


def case(lack: str, change: Change, says: str, *options: str) -> Case:
    """The example of who was late, changed, and held against a gate."""

    def make(folder: Path) -> list[str]:
        example = json.loads((SCHEMAS / "prlx.stragglers.1.json").read_text())
        (folder / "saved.json").write_text(change(example))
        return ["report", "saved.json", "-o", "late.html", *options]

    return Case("report", lack, make, says)


CASES = [
    case("empty", lambda _: "", "is not JSON"),
    case("nothing of the kind", nothing_inside, "nothing was looked at", *GATE),
    case("nothing of the kind", lambda _: saved({"schema": "prlx.version/1"}), "makes no reports"),
    case("truncated", lambda document: saved(document)[:2000], "is not JSON"),
    case("one missing", one_rank_missing, "rank 3", *GATE),
    case("one missing", one_rank_missing, "rank 3"),
    case("unknown values", without_conclusion, "has no conclusion", *GATE),
    case("unknown values", without_conclusion, "has no conclusion"),
]
NONE = {
    ("report", "one side empty"): "it takes one document",
    ("report", "one repetition"): "it repeats what a document concludes; whoever wrote that counted",
}
