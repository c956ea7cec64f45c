"""Is everything there that prlx needs, and what does each missing piece unlock?

The core is tried in a process of its own, so that even one that crashes is a line of the diagnosis and not the end of it.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from . import _config, _program
from ._errors import PrlxError
from ._result import Brief, Card, Result
from ._units import format_bytes, plural
from ._version import __version__

Status = Literal["OK", "WARN", "FAIL"]

_PROBE = """
import json
from prlx import _core
print(json.dumps({"version": _core.call("version"), "limits": _core.configure()}))
"""
_PROBE_S = 60  # seconds that the core may take to load
_LITTLE = 2 << 30  # bytes of room below which spooling a compressed trace may fail
_GO_MAGIC = b"\xff Go buildinf:"

_OPTIONAL = {
    "rich": "draws progress as a bar: pip install 'prlx-go[cli]'",
    "pandas": "gives .to_pandas(): pip install pandas",
    "polars": "gives .to_polars(): pip install polars",
    "pyarrow": "takes tables as Arrow: pip install pyarrow",
    "distributed": "spreads combine_traces over Dask workers: pip install 'prlx-go[dask]'",
}
# The versions of Triton between which every minor one is tested: the first and the last.
_TRITON = ("3.5.1", "3.9.0")
# As distributions call it: torch's nightly wheels, and those for AMD, bring one of their own.
_TRITON_NAMES = ("triton", "pytorch-triton", "pytorch-triton-rocm")
_VIEWERS = {
    "xprof": "opens XSpace runs: pip install xprof",
    "tensorboard": "opens XSpace runs: pip install tensorboard xprof",
}


@dataclass(frozen=True, repr=False)
class Check(Brief):
    """One thing that was looked at.

    Attributes
    ----------
    status
        ``OK``, ``WARN`` (works, but not as well as it could) or ``FAIL``.
    cure
        What to do; empty when there is nothing to do.
    """

    name: str
    status: Status
    detail: str
    cure: str = ""


@dataclass(frozen=True, repr=False)
class Diagnosis(Result):
    """The state of this installation. The document is ``prlx.doctor/1``."""

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return bool(self.document["ok"])

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """Everything that was looked at."""
        return tuple(Check(**row) for row in self.document["checks"])

    def _card(self) -> Card:
        counts = {status: sum(check.status == status for check in self.checks) for status in ("OK", "WARN", "FAIL")}
        rows = [(check.status, check.name, check.detail, check.cure) for check in self.checks]
        sentence = f"{counts['OK']} fine, {plural(counts['WARN'], 'warning')}, {counts['FAIL']} failed"
        return Card(f"prlx {__version__}", sentence, ("", "check", "found", "cure"), rows)


def diagnose() -> Diagnosis:
    """Look at everything that prlx needs; takes about a second and changes nothing."""
    checks = list(_checks())
    ok = all(check.status != "FAIL" for check in checks)
    return Diagnosis({"schema": "prlx.doctor/1", "ok": ok, "checks": [asdict(check) for check in checks]})


def _checks() -> Iterator[Check]:
    python = f"{platform.python_implementation()} {platform.python_version()} on {sys.platform} {platform.machine()}"
    yield Check("prlx", "OK", f"{__version__} at {Path(__file__).parent}")
    supported = (3, 10) <= sys.version_info[:2] <= (3, 13)
    yield Check("python", "OK" if supported else "WARN", python, "" if supported else "CPython 3.10 to 3.13 are tested")
    yield _distribution()
    yield _namesake()
    yield _numpy()
    yield from _core_checks()
    yield _other_go()
    yield _temporary()
    yield _settings()
    yield _driver()
    yield from _frameworks()
    for name, use in _OPTIONAL.items():
        yield _optional(name, use)
    for name, use in _VIEWERS.items():
        yield _optional(name, use)


def _distribution() -> Check:
    try:
        found = metadata.distribution("prlx-go")
    except metadata.PackageNotFoundError:
        return Check(
            "wheel", "WARN", "prlx-go is not installed here, prlx is imported from a folder", "pip install prlx-go"
        )
    tags = [line[5:] for line in (found.read_text("WHEEL") or "").splitlines() if line.startswith("Tag: ")]
    editable = '"editable": true' in (found.read_text("direct_url.json") or "")
    kind = ", editable" if editable else ""
    if found.version != __version__:
        detail = f"prlx-go {found.version} is installed, but version {__version__} is imported"
        return Check("wheel", "WARN", detail, "reinstall prlx-go, or in a checkout run `make build`")
    return Check("wheel", "OK", f"prlx-go {found.version}, {', '.join(tags) or 'no tag'}{kind}")


def _namesake() -> Check:
    try:
        other = metadata.distribution("prlx")
    except metadata.PackageNotFoundError:
        return Check("namesake", "OK", "no other project installs a module prlx")
    detail = f"another project, prlx {other.version}, installs files into the same module"
    return Check("namesake", "FAIL", detail, "pip uninstall prlx prlx-go, then pip install prlx-go")


def _numpy() -> Check:
    try:
        return Check("numpy", "OK", metadata.version("numpy"))
    except metadata.PackageNotFoundError:
        return Check("numpy", "FAIL", "not installed, and prlx needs it for columns", "pip install numpy")


def _core_checks() -> Iterator[Check]:
    reinstall = "pip install --force-reinstall prlx-go, or in a checkout run `make build`"
    here = str(Path(__file__).parent.parent)
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {here!r}){_PROBE}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PROBE_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        yield Check("core", "FAIL", f"could not be tried: {error}", reinstall)
        return
    if done.returncode != 0:
        yield Check("core", "FAIL", _last_words(done), reinstall)
        return
    found: dict[str, Any] = json.loads(done.stdout)
    version, limits = found["version"], found["limits"]
    extension = next(iter(sorted(Path(__file__).parent.glob(f"_prlx*{_suffix()}"))), None)
    size = format_bytes(extension.stat().st_size) if extension else "-"
    yield Check("core", "OK", f"{version['core']}, {size}, loads and answers")
    yield Check("go", "OK", f"{version['go']} {version.get('platform', '')}".strip())
    yield _memory(limits)
    count = os.cpu_count() or 1
    yield Check("cpus", "OK", f"{limits['workers']} of {count} used (affinity and cgroup quota)")


def _suffix() -> str:
    return f".{sys.implementation.cache_tag}-{platform.machine()}-linux-gnu.so" if sys.platform == "linux" else ".so"


def _last_words(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode < 0:
        return f"the process that loaded it died by signal {-done.returncode}"
    lines = [line for line in done.stderr.splitlines() if line and not line.startswith(" ")]
    return lines[-1] if lines else f"the process that loaded it ended with exit code {done.returncode}"


def _memory(limits: dict[str, Any]) -> Check:
    limit, source = limits.get("memory_limit"), limits.get("memory_source") or "unknown"
    detail = f"jobs take at most {format_bytes(limit)} ({source})"
    if limit is not None and limit < 256 << 20:
        return Check("memory", "WARN", detail, "large traces will be slow; grant more, or set PRLX_MEMORY_LIMIT")
    return Check("memory", "OK", detail)


def _other_go() -> Check:
    """Other Go libraries in this process: two Go runtimes share signals and threads, which is legal but worth knowing."""
    others = sorted(name for name in _mapped() if not Path(name).name.startswith("_prlx") and _is_go(name))
    if not others:
        return Check("other go", "OK", "no other Go runtime in this process")
    names = ", ".join(Path(name).name for name in others)
    return Check(
        "other go", "WARN", f"{names}: each Go runtime installs signal handlers", "load prlx in a process of its own"
    )


def _mapped() -> set[str]:
    try:
        maps = Path("/proc/self/maps").read_text()
    except OSError:
        return set()
    return {line.split(maxsplit=5)[5] for line in maps.splitlines() if line.endswith(".so") or ".so." in line}


def _is_go(name: str) -> bool:
    """Whether a library carries the build record that every Go link leaves; it lies in the data, so all of it is read."""
    try:
        with Path(name).open("rb") as file:
            before = b""
            while block := file.read(1 << 20):
                if _GO_MAGIC in before + block:
                    return True
                before = block[-len(_GO_MAGIC) :]
    except OSError:
        pass
    return False


def _temporary() -> Check:
    folder = tempfile.gettempdir()
    try:
        with tempfile.TemporaryFile(dir=folder):
            free = shutil.disk_usage(folder).free
    except OSError as error:
        return Check("temporary", "FAIL", f"{folder}: {error.strerror}", "set TMPDIR to a folder that can be written")
    detail = f"{format_bytes(free)} free in {folder}"
    if free < _LITTLE:
        return Check("temporary", "WARN", detail, "compressed traces are unpacked there: set TMPDIR to a larger disk")
    return Check("temporary", "OK", detail)


def _driver() -> Check:
    """Which driver of a GPU a program finds. A real one is never hidden unless somebody asks for the simulator's."""
    found = _program.driver()
    if "why" in found:
        return Check("cuda driver", "OK", f"none ({found['why']}); prlx run gives programs that of the simulator")
    if found.get("runtime") == "HIP":
        version = f"HIP {found['version'] // 10_000_000}.{found['version'] % 10_000_000 // 100_000}"
        return Check("hip runtime", "OK", f"{found['name']}, {version}, {found['path']}: prlx run records on it")
    version = f"CUDA {found['version'] // 1000}.{found['version'] % 1000 // 10}"
    whose = "that of the simulator" if Path(found["path"]).parent == _program.DRIVER else "prlx run records on it"
    return Check("cuda driver", "OK", f"{found['name']}, {version}, {found['path']}: {whose}")


def _settings() -> Check:
    try:
        config = _config.load()
    except PrlxError as error:
        return Check("settings", "FAIL", error.message, "correct the value, or unset it")
    if config.warnings:
        return Check("settings", "WARN", "; ".join(config.warnings), "prlx config show lists what there is")
    return Check("settings", "OK", str(config.path) if config.path else "no configuration file, defaults")


def _optional(name: str, use: str) -> Check:
    return Check(name, "OK", _installed(name) or f"not installed; {use}")


def _installed(*names: str) -> str:
    """The version of the first distribution that is there, or nothing; its module is not imported."""
    for name in names:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return ""


def _frameworks() -> Iterator[Check]:
    """What prlx does with the programs of others that are here."""
    triton = _installed(*_TRITON_NAMES)
    yield _triton(triton)
    torch = _installed("torch") or "not installed"
    mapped = "runs what says cuda, on the CPU" if triton else "needs Triton, too"
    yield Check(
        "torch",
        "OK",
        f"{torch}; traces of torch.profiler are read; prlx simulate --map-cuda {mapped}",
    )
    jax = _installed("jax") or "not installed"
    yield Check("jax", "OK", f"{jax}; profiles of jax.profiler are read; kernels of Pallas are not simulated")


def _triton(version: str) -> Check:
    if not version:
        return Check("triton", "OK", "not installed; prlx simulate and prlx run need it: pip install triton")
    works = "prlx simulate checks its kernels without a GPU, prlx run records them on one or without"
    first, last = _TRITON
    if _release(version) < _release(first):
        odd, cure = "older", f"prlx simulate may refuse it: pip install 'triton>={first}'"
    elif _release(version)[:2] > _release(last)[:2]:
        odd, cure = "newer", f"if prlx simulate refuses it: pip install triton=={last}"
    else:
        return Check("triton", "OK", f"{version}; {works}")
    return Check("triton", "WARN", f"{version}; {odd} than those that are tested ({first} to {last})", cure)


def _release(version: str) -> tuple[int, ...]:
    """The numbers of a version, without what stands behind them: ``3.9.0+git1234`` is (3, 9, 0)."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()
