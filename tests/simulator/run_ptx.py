"""How many kernels of a folder of PTX files the simulator can begin, and what refuses the others.

python tests/simulator/run_ptx.py FOLDER: every kernel of every ``*.ptx`` is launched for one instruction, with zeros for its
arguments. NVIDIA's cuda-samples are made into such a folder by nvcc -arch=sm_80 -O2 -lineinfo -std=c++17 -ptx.
"""

from __future__ import annotations

import argparse
import collections
import re
from pathlib import Path

import prlx
from prlx._launching import load_text

# What no sm_80 without a host does.
BEYOND = {
    "textures and surfaces": r"\b(tex|tld4|sust|suld|txq|suq|sured|istypep)\b",
    "launches from the device": r"cudaGraph|cudaLaunchDevice|cudaGetParameterBuffer|cudaDeviceSynchronize",
}


def begun(path: Path) -> dict[str, str]:
    """Each kernel with what refuses it; empty where it began."""
    text = path.read_text(errors="replace")
    try:
        loaded = load_text(text)
    except prlx.PrlxError as error:
        names = re.findall(r"\.entry\s+([\w$]+)", text)
        return dict.fromkeys(names, str(error).splitlines()[0])
    found = {}
    for name, signature in zip(loaded.kernels, loaded.signatures, strict=True):
        block = [n or 1 for n in signature["block"]] if any(signature["block"]) else 1
        args = [bytes(one["bytes"]) for one in signature["params"]]
        try:
            prlx.simulate_ptx(text, name, 1, block, args, machine={"max_instructions": 1, "progress": False})
            found[name] = ""
        except prlx.LimitError:
            found[name] = ""  # one instruction is the limit: it was bound, and began
        except prlx.PrlxError as error:
            found[name] = str(error).splitlines()[0]
    return found


def main() -> None:
    """Print a table of refusals."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", type=Path)
    results = {path.name: begun(path) for path in sorted(arguments.parse_args().folder.glob("*.ptx"))}
    refused: collections.Counter[str] = collections.Counter()
    beyond: collections.Counter[str] = collections.Counter()
    for kernels in results.values():
        for why in filter(None, kernels.values()):
            kind = next((name for name, pattern in BEYOND.items() if re.search(pattern, why)), None)
            if kind is None:
                refused[re.sub(r"%?\b\w*\d\w*\b", "#", why.split(": ", 1)[-1])[:100]] += 1
            else:
                beyond[kind] += 1
    total = sum(len(kernels) for kernels in results.values())
    good = total - sum(refused.values()) - sum(beyond.values())
    print(f"{len(results)} files, {total} kernels: {good} begin")
    print(
        f"{sum(beyond.values())} need what an sm_80 or the device alone cannot do, {sum(refused.values())} others are refused"
    )
    for kind, count in (beyond + refused).most_common():
        print(f"{count:5}  {kind}")


if __name__ == "__main__":
    main()
