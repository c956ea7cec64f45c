"""What of the CUDA runtime programs find, by family: ``python tests/cudart/support.py`` prints the table of docs/cuda.md.

Functions are those that libcudart.so.13 exports, as readelf lists them; runtime/cudart/unsupported.c says which of them tell
by name that the simulator does not do this.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

from prlx._program import DRIVER

REFUSED = Path(__file__).parents[2] / "runtime" / "cudart" / "unsupported.c"
FAMILIES = {
    "graphs, and what streams capture": r"Graph(?!ics)|UserObject|Capture",
    "graphics": r"Graphics|GL|EGL|D3D|VDPAU",
    "memory of other processes and programs": r"Ipc|External|Import|Destroy\w*Memory",
    "textures, surfaces, arrays": r"Texture|Surface|Array|Mipmap|ChannelDesc",
    "memory": r"Mem|Malloc|Free|Host|Pointer|Symbol",
    "streams and events": r"Stream|Event",
    "launches and functions": r"Launch|Func|Kernel|Occupancy|Configure|Library",
    "devices, errors and the rest": r"",
}


def exported() -> set[str]:
    """The functions that programs find."""
    words = ["readelf", "-W", "--dyn-syms", str(DRIVER / "libcudart.so.13")]
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    names = (line.split()[7].partition("@")[0] for line in lines if " FUNC " in line and " UND " not in line)
    return {name for name in names if name.startswith("cuda")}


def refused() -> dict[str, str]:
    """The functions that are refused by name, each with what the simulator lacks."""
    text = REFUSED.read_text()
    reasons = dict(re.findall(r'#define (\w+)\(name\) .*?refused\(#name, "([^"]+)"\)', text))
    return {name: reasons[macro] for macro, name in re.findall(r"\b([A-Z]+)\((cuda\w+)\)", text)}


def table() -> list[str]:
    """The rows of docs/cuda.md: how many functions of each family run, and how many are refused by name."""
    names, lacking = exported(), refused()
    runs, not_run = Counter[str](), Counter[str]()
    for name in names:
        family = next(one for one, pattern in FAMILIES.items() if re.search(pattern, name))
        (not_run if name in lacking else runs)[family] += 1
    rows = [f"| {family} | {runs[family]} | {not_run[family]} |" for family in FAMILIES]
    total = f"| all | {sum(runs.values())} | {sum(not_run.values())} |"
    return ["| functions of the CUDA runtime 13 | are there | are refused by name |", "|---|---|---|", *rows, total]


if __name__ == "__main__":
    print("\n".join(table()))
