"""A table of registers, spills and bytes from what assemble.py printed: table.py FILE.jsonl..."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path


def main() -> None:
    rows = []
    for name in sys.argv[1:]:
        version = Path(name).stem.removeprefix("assembled_")
        rows += [{**json.loads(line), "triton": version} for line in Path(name).read_text().splitlines()]
    ways = Counter("refused" if "error" in row else str(row["way"]) for row in rows)
    print(f"<!-- {len(rows)} modules; ways {dict(sorted(ways.items()))} -->")
    more = [row for row in rows if "error" not in row and row["after"]["spilled"] > row["before"]["spilled"]]
    full = {row["case"] for row in rows if "error" not in row and row["before"]["registers"] > 200}
    print(
        f"<!-- {len(more)} spill more than before; {len(full)} kernels with over 200 registers: {', '.join(sorted(full))} -->"
    )
    print("| kernel | GPU | sites | registers | spilled | bytes of binary |\n|---|---|---|---|---|---|")
    for row in rows:
        if row["triton"] != "3.9.0" or "error" in row:
            continue
        a, b = row["before"], row["after"]
        what = ("", ", branches alone", "none")[row["way"]]
        sites = what if row["way"] == 2 else f"{row['sites']}{what}"
        print(
            f"| `{row['case']}` | {row['target']} | {sites} | {a['registers']} → {b['registers']} "
            f"| {a['spilled']} → {b['spilled']} | {a['bytes']} → {b['bytes']} |"
        )


if __name__ == "__main__":
    main()
