"""The figures of every example: counts, offsets, bounds and verdicts, in one document.

``python tests/golden/figures.py`` prints the document. A change of figures.json belongs to the commit that means it, with the
reason.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import prlx

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
NODE = (
    "id", "method", "offset_windows", "missing_snapshots", "coverage", "events", "events_corrected", "events_clamped_monotonic",
    "events_dropped", "offset_ns", "drift_ppm", "bound_ns", "min_correction_ns", "max_correction_ns",
)  # fmt: skip


def all_figures(folder: Path) -> dict[str, object]:
    """Compute all of them; files are written into folder."""
    return {
        "jax_p4": combined(folder),
        "two_runs": compared(),
        "two_runs with noise": compared(baseline=[EXAMPLES / "two_runs/a2.prlx", EXAMPLES / "two_runs/a3.prlx"]),
        "serving": changed(),
    }


def combined(folder: Path) -> dict[str, object]:
    """Four nodes of JAX on one clock: the offset and bound of each, and the collectives before and after."""
    job = EXAMPLES / "jax_p4"
    probes = sorted(job.glob("probes_*.jsonl"))
    result = prlx.combine_traces(sorted(job.glob("node?")), probes=probes, output=folder / "run")
    document = json.loads(result.to_json())
    verdicts = prlx.validate_collectives(folder / "run")
    return {
        "status": document["status"],
        "zero_ns": document["zero_ns"],
        "sha256": {output["path"]: output["sha256"] for output in document["outputs"]},
        "nodes": [{key: node[key] for key in NODE} for node in document["nodes"]],
        "collectives": document["collectives"],
        "validated": {
            key: json.loads(verdicts.to_json())[key] for key in ("status", "groups", "violated", "consistent")
        },
    }


def compared(**options) -> dict[str, object]:
    """Two runs of a kernel: how much differs, where first, and what it was told by."""
    result = prlx.diff_traces(EXAMPLES / "two_runs/a.prlx", EXAMPLES / "two_runs/b.prlx", **options)
    document = json.loads(result.to_json())
    counts = ("status", "verdict", "total_divergences", "counted_divergences", "warps_diverged", "divergence_breakdown")
    sites = [[site["source_location"], site["divergences"], site["warps"], site["noise"]] for site in document["sites"]]
    first = {key: document["first"][key] for key in ("warp_idx", "event_idx", "kind", "source_location")}
    return {
        **{key: document[key] for key in counts},
        "first": first,
        "clusters": len(document["clusters"]),
        "sites": sites,
    }


def changed() -> dict[str, object]:
    """Two runs of a server: its steps and phases, and what a step costs more."""
    result = prlx.compare_cycles(EXAMPLES / "serving/before.json.gz", EXAMPLES / "serving/after.json.gz")
    document = json.loads(result.to_json())
    side = ("status", "verdict", "confidence", "steps", "step_ns")
    found = {name: {key: document[name][key] for key in side} for name in ("a", "b")}
    return {**{key: document[key] for key in ("status", "verdict", "regressions", "account")}, **found}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        json.dump(all_figures(Path(folder)), sys.stdout, indent=1)
        print()
