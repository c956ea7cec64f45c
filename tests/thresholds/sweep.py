"""Moves every threshold of ``table.py`` by factors and reports where a test of its room first fails.

  python -m tests.thresholds.sweep                 all that have no result yet; goes on where it was
  python -m tests.thresholds.sweep NAME...         these again
  python -m tests.thresholds.sweep --table         only writes docs/thresholds.md

No file of the core is changed: the Go compiler reads the changed text through an overlay. Results stand in ``results.json``, by
the value that was moved, and docs/thresholds.md is made of them. A threshold that can move by ten
either way is held by no test.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import tempfile
from decimal import Decimal
from pathlib import Path

from .table import ROOMS, ROOT, Room, decides, value_of, with_value

RESULTS = Path(__file__).with_name("results.json")
PAGE = ROOT / "docs" / "thresholds.md"
BELOW = ("0.9", "0.75", "0.5", "0.25", "0.1")
ABOVE = ("1.1", "1.33", "2", "4", "10")
HEAD = """# Thresholds that decide verdicts

How far each threshold can move before a test of its room fails, made by `python -m tests.thresholds.sweep`. Factors tried are
0.9, 0.75, 0.5, 0.25 and 0.1 below, and 1.1, 1.33, 2, 4 and 10 above. Whole numbers move by at least 1. *None* means that no
factor fails: the threshold is safe to move that way, or no test holds it. Tests look at samples; `make nightly` looks at more.

"""


def moved(value: str, factor: str) -> str:
    """A value times a factor, as Go writes it; a whole number stays whole and moves by one at least."""
    plain = value.replace("_", "")
    new = Decimal(plain) * Decimal(factor)
    if re.fullmatch(r"\d+", plain):
        whole = int(new.to_integral_value())
        if whole == int(plain):
            whole += 1 if Decimal(factor) > 1 else -1
        return str(max(whole, 0))
    return f"{new.normalize():f}" if "." in f"{new.normalize():f}" else f"{new.normalize():f}.0"


def fails(room: Room, name: str, value: str) -> str | None:
    """Which test fails with another value of a threshold; the empty text for none, ``None`` where Go refuses the value."""
    with tempfile.TemporaryDirectory() as folder:
        text, overlay = Path(folder, "changed.go"), Path(folder, "overlay.json")
        text.write_text(with_value(room.file, name, value), encoding="utf-8")
        overlay.write_text(json.dumps({"Replace": {str(ROOT / room.file): str(text)}}), encoding="utf-8")
        done = subprocess.run(
            ["go", "test", "-vet=off", "-count=1", "-failfast", "-timeout", "300s", "-overlay", str(overlay), *room.tests],
            cwd=ROOT, capture_output=True, text=True, check=False,
            env={key: one for key, one in os.environ.items() if key != "PRLX_FULL_SWEEP"},
        )  # fmt: skip
    if done.returncode == 0:
        return ""
    found = re.findall(r"^--- FAIL: (\w+)", done.stdout, re.MULTILINE)
    if found:
        return found[0]
    if "build failed" in done.stdout:
        return None
    if "panic:" in done.stdout:
        return "it panics"
    raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])


def first(room: Room, name: str, factors: tuple[str, ...]) -> dict[str, str] | None:
    """The factor nearest to 1 at which a test fails, found by halving: where one fails, those farther away are not tried."""
    value, left, found = value_of(room.file, name), list(factors), None
    while left:
        at = len(left) // 2
        new = moved(value, left[at])
        test = fails(room, name, new)
        print(
            f"{room.file}: {name} {value} -> {new}: {'not a value' if test is None else test or 'nothing fails'}",
            flush=True,
        )
        if test:
            found, left = {"factor": left[at], "value": new, "test": test}, left[:at]
        else:
            left = left[:at] + left[at + 1 :] if test is None else left[at + 1 :]
    return found


def said(found: dict[str, str] | None) -> str:
    """A cell of the table."""
    return "none" if found is None else f"x {found['factor']} ({found['value']}): `{found['test']}`"


def page(results: dict[str, dict]) -> str:
    """docs/thresholds.md."""
    lines = []
    for room in ROOMS:
        lines += [
            f"## {room.file.removeprefix('core/')}",
            "",
            f"Measured on {room.measured}.",
            "",
            "| threshold | value | decides | first failure below | first failure above |",
            "|---|---|---|---|---|",
        ]
        for name in room.names:
            value, one = value_of(room.file, name), results.get(f"{room.file} {name}")
            cells = (said(one["below"]), said(one["above"])) if one else ("not swept yet", "not swept yet")
            note = decides(room.file, name).replace("|", "\\|")
            lines.append(f"| `{name}` | {value} | {note} | {cells[0]} | {cells[1]} |")
        lines.append("")
    return HEAD + "\n".join(lines).rstrip() + "\n"


def load() -> dict[str, dict]:
    """The results so far."""
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}


def main() -> None:
    """Sweep, and write what was found after every threshold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--table", action="store_true", help="write docs/thresholds.md alone")
    options = parser.parse_args()
    results = load()
    for room in ROOMS if not options.table else ():
        for name in room.names:
            key, value = f"{room.file} {name}", value_of(room.file, name)
            if (options.names and name not in options.names) or (
                not options.names and results.get(key, {}).get("value") == value
            ):
                continue
            results[key] = {"value": value, "below": first(room, name, BELOW), "above": first(room, name, ABOVE)}
            RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")
            PAGE.write_text(page(results), encoding="utf-8")
    PAGE.write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    main()
