"""Bring the packages whose Triton kernels the simulator is tried on into a folder: ``python install.py FOLDER``.

Each is one pinned version from the Python index, without its dependencies; of wheels and source distributions only the Python
files are kept. The folder is what ``PRLX_PACKAGES`` names. What is there already is not fetched again.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

TORCH = Path(__file__).resolve().parents[3] / "build/torch"
PINS = {
    "liger_kernel": "0.8.5",
    "fla-core": "0.6.0",
    "mamba-ssm": "2.3.2.post1",
    "xformers": "0.0.35",
    "unsloth": "2026.10.9",
    "vllm": "0.33.0",
    "conch-triton-kernels": "1.3",
    "gemlite": "0.6.0.post2",
    "einops": "0.8.1",  # fla and mamba import it
}
KEPT = (".py", ".json", "METADATA")


def fetch(package: str, version: str, folder: Path) -> Path:
    """The archive of a package, as pip brings it; mamba-ssm is source alone, and its setup.py imports torch."""
    variables = {
        **os.environ,
        "MAMBA_SKIP_CUDA_BUILD": "TRUE",
        "PYTHONPATH": str(TORCH),
        "LD_LIBRARY_PATH": str(TORCH / "stubs"),
    }
    words = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-build-isolation", "-d", str(folder)]
    subprocess.run([*words, f"{package}=={version}"], env=variables, check=True)
    return next(path for path in folder.iterdir() if path.suffix in (".whl", ".gz"))


def unpack(archive: Path, into: Path) -> None:
    """The Python files of an archive; the first folder of a source distribution is left out."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            for name in wheel.namelist():
                if name.endswith(KEPT):
                    wheel.extract(name, into)
        return
    with tarfile.open(archive) as source:
        for member in source.getmembers():
            path = PurePosixPath(member.name)
            if member.isfile() and member.name.endswith(KEPT) and len(path.parts) > 1:
                member.name = str(PurePosixPath(*path.parts[1:]))
                source.extract(member, into, filter="data")


def main() -> None:
    """Fetch and unpack what is missing."""
    folder = Path(sys.argv[1])
    for package, version in PINS.items():
        into = folder / f"{package}-{version}"
        if into.is_dir():
            continue
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as temporary:
            place = Path(temporary) / "unpacked"
            archives = Path(temporary) / "archives"
            archives.mkdir()
            unpack(fetch(package, version, archives), place)
            place.rename(into)
        sys.stdout.write(f"{package} {version}\n")


if __name__ == "__main__":
    main()
