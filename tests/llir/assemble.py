"""Assembles the corpus clean and recording, with the later stages of the Triton on the path: its registers and bytes.

PYTHONPATH=build/triton/3.9.0 python tests/llir/assemble.py [--targets sm_90] [--only NAME] DIRECTORY

DIRECTORY holds what compile.py made with the same Triton. Prints one JSON document a module: sites, registers, what is
spilled and bytes, before and after, and which of the ways to record was taken: 0 all sites, 1 branches alone, 2 none.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from compile import target
from partitions import disassembled, walk

from prlx import _core
from prlx.hooks import registers


def stages(name: str, options: dict[str, Any], *, gluon: bool) -> dict[str, Any]:
    """What Triton does after it printed LLVM IR."""
    from triton.backends.compiler import Language
    from triton.compiler.compiler import make_backend

    backend = make_backend(target(name))
    found: dict[str, Any] = {}
    backend.add_stages(found, backend.parse_options(options), Language.GLUON if gluon else Language.TRITON)
    return found


def rewritten(text: str, *, fewer: bool) -> registers.Rewritten:
    made = _core.call("instrument", {"text": text, "fewer": fewer})
    rewritten.sites[made["text"]] = made["sites"]  # type: ignore[attr-defined]
    return made["text"], made["table"], made["warning"]


class Assembler:
    """Makes binaries of texts, of each text once."""

    def __init__(self, name: str, told: dict[str, Any]) -> None:
        self.stages = stages(name, told["options"], gluon=told["gluon"])
        self.metadata = {"shared": 0, **told["metadata"]}
        self.made: dict[str, tuple[registers.Usage | None, bytes]] = {}

    def __call__(self, text: str) -> tuple[registers.Usage | None, bytes]:
        """What a text needs, and its binary."""
        if text not in self.made:
            kept = dict(self.metadata)
            if "amdgcn" in self.stages:
                code = self.stages["amdgcn"](text, kept)
                self.made[text] = registers.of_assembly(code), self.stages["hsaco"](code, kept)
            else:
                binary = self.stages["cubin"](self.stages["ptx"](text, kept), kept)
                self.made[text] = registers.of_cubin(binary), binary
        return self.made[text]


def partitions(binary: bytes, registers: int) -> dict[str, Any]:
    """Of a kernel whose warps have different numbers of registers: what warps use beyond theirs, and what was not looked at."""
    import triton

    tool = Path(triton.__file__).parent / "backends/nvidia/bin/nvdisasm"
    walks = [walk(text, -(-registers // 8) * 8) for text in disassembled(binary, tool).values()]
    return {
        "calls": sorted(set().union(*(one.calls for one in walks))),
        "over": [[hex(address), has, needs] for one in walks for address, has, needs in one.over],
        "not_looked_at": [hex(address) for one in walks for address in one.unreached + one.unknown],
    }


def row(file: Path) -> dict[str, Any]:
    """One module before and after."""
    case, name = file.stem.rsplit(".", 1)
    told = json.loads(file.with_suffix(".json").read_text())
    clean = file.read_text()
    assembler = Assembler(name, told)
    ways = [functools.partial(rewritten, fewer=fewer) for fewer in (False, True)]
    rewritten.sites = {}  # type: ignore[attr-defined]
    way, (text, _, warning) = registers.fitting(clean, ways, lambda made: assembler(made)[0])
    (before, plain), (after, binary) = assembler(clean), assembler(text)
    assert before is not None
    assert after is not None
    line = {"case": case, "target": name, "way": way, "sites": rewritten.sites.get(text, 0), "warning": warning}  # type: ignore[attr-defined]
    line["before"] = {"registers": before.registers, "spilled": before.spilled, "bytes": len(plain)}
    line["after"] = {"registers": after.registers, "spilled": after.spilled, "bytes": len(binary)}
    if "setmaxnreg" in clean:
        line["partitions"] = partitions(binary, after.registers)
    return line


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--targets", default="")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    from triton._C.libtriton import llvm

    llvm.init_targets()
    refused = 0
    for file in sorted(options.directory.glob("*.ll"), key=lambda f: (f.stat().st_size, f.name)):  # the long ones last
        case, name = file.stem.rsplit(".", 1)
        if (options.only and case not in options.only.split(",")) or (
            options.targets and name not in options.targets.split(",")
        ):
            continue
        try:
            told = row(file)
        except Exception as error:
            refused += 1
            told = {"case": case, "target": name, "error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(told), flush=True)
    return refused


if __name__ == "__main__":
    sys.exit(main())
