"""What docs/cuda.md shows: ``tutorial.py`` writes into the page what its commands print; a test compares."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "cuda.md"
BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)


def shown(compiler: Path, folder: Path) -> str:
    """The page with what its commands print now; they run in a folder."""
    shutil.copytree(ROOT / "examples" / "cuda", folder / "examples" / "cuda")
    script = folder / "bin" / "prlx"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m prlx "$@"\n')
    script.chmod(0o755)
    path = os.pathsep.join([str(script.parent), str(compiler.parent), os.environ["PATH"]])

    def printed(found: re.Match[str]) -> str:
        text = ""
        for line in found[0].splitlines():
            if line.startswith("$ "):
                done = subprocess.run(
                    line[2:], shell=True, cwd=folder, env={**os.environ, "PATH": path}, check=False, text=True,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                )  # fmt: skip
                text += line + "\n" + done.stdout.replace(f"{folder}{os.sep}", "")
        return text

    return BLOCK.sub(printed, PAGE.read_text())


def main() -> None:
    """Write the page."""
    with tempfile.TemporaryDirectory() as folder:
        PAGE.write_text(shown(ROOT / "build" / "nvcc" / "nvidia" / "cu13" / "bin" / "nvcc", Path(folder)))


if __name__ == "__main__":
    main()
