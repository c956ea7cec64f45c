"""Documents of cycles as rows: the columns of their tables, and the rows that fill them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

CLASSES = (
    ("level", "int64", ""),
    ("level_name", "string", ""),
    ("id", "string", ""),
    ("name", "string", ""),
    ("phase", "string", ""),
    ("phase_score", "float64", ""),
    ("phase_reason", "string", ""),
    ("source", "string", ""),
    ("period", "int64", ""),
    ("count", "int64", ""),
    ("edited", "int64", ""),
    ("start_ns", "int64", "ns"),
    ("end_ns", "int64", "ns"),
    ("wall_mean_ns", "float64", "ns"),
    ("wall_p50_ns", "int64", "ns"),
    ("wall_p99_ns", "int64", "ns"),
    ("wall_cv", "float64", ""),
    ("busy_mean_ns", "float64", "ns"),
    ("gap_mean_ns", "float64", "ns"),
    ("coverage", "float64", ""),
    ("time_share", "float64", ""),
    ("confidence", "float64", ""),
    ("outliers", "int64", ""),
)
SLOTS = (
    ("class", "string", ""),
    ("class_name", "string", ""),
    ("slot", "int64", ""),
    ("name", "string", ""),
    ("signature", "string", ""),
    ("loose", "string", ""),
    ("stream", "string", ""),
    ("mean_ns", "float64", "ns"),
    ("p50_ns", "int64", "ns"),
    ("p99_ns", "int64", "ns"),
    ("min_ns", "int64", "ns"),
    ("max_ns", "int64", "ns"),
    ("stddev_ns", "float64", "ns"),
    ("cv", "float64", ""),
    ("count", "int64", ""),
    ("share", "float64", ""),
    ("gap_ns", "float64", "ns"),
    ("module", "string", ""),
    ("operator", "string", ""),
    ("collective", "string", ""),
)
STEPS = (
    ("rank", "int64", ""),
    ("device", "string", ""),
    ("number", "int64", ""),
    ("class", "string", ""),
    ("phase", "string", ""),
    ("start_ns", "int64", "ns"),
    ("end_ns", "int64", "ns"),
    ("wall_ns", "int64", "ns"),
    ("busy_ns", "int64", "ns"),
    ("gap_ns", "int64", "ns"),
    ("kernels", "int64", ""),
    ("edits", "int64", ""),
    ("mark", "string", ""),
    ("partial", "bool", ""),
)
ROWS = (
    ("pair", "int64", ""),
    ("level", "string", ""),
    ("class", "string", ""),
    ("kind", "string", ""),
    ("kernels_a", "string", ""),
    ("kernels_b", "string", ""),
    ("a_ns", "float64", "ns"),
    ("b_ns", "float64", "ns"),
    ("delta_ns", "float64", "ns"),
    ("relative", "float64", ""),
    ("p", "float64", ""),
    ("verdict", "string", ""),
    ("part", "string", ""),
    ("step_ns", "float64", "ns"),
)


def class_rows(document: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    for level in reversed(document["levels"]):
        for row in level["classes"]:
            wall, busy, gap = row["wall_ns"], row["busy_ns"], row["gap_ns"]
            yield {
                **row,
                "level_name": level["name"],
                "wall_mean_ns": wall["mean"],
                "wall_p50_ns": wall["p50"],
                "wall_p99_ns": wall["p99"],
                "wall_cv": wall["cv"],
                "busy_mean_ns": busy["mean"],
                "gap_mean_ns": gap["mean"],
                "outliers": row["outliers_total"],
            }


def pair_rows(document: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    for number, pair in enumerate(document["pairs"]):
        for row in pair["rows"]:
            yield {
                "pair": number,
                "level": pair["level"],
                "class": pair["a"]["name"],
                "kind": row["kind"],
                "kernels_a": " + ".join(slot["name"] for slot in row["a"]) or None,
                "kernels_b": " + ".join(slot["name"] for slot in row["b"]) or None,
                **{key: row["change"][key] for key in ("a_ns", "b_ns", "delta_ns", "relative", "p", "verdict")},
                "part": row["part"],
                "step_ns": row["step_ns"],
            }
