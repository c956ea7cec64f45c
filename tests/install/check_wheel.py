"""What a wheel of prlx holds, and what an installed prlx does. Runs in a fresh environment: it needs nothing but prlx."""

from __future__ import annotations

import email
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

LARGEST = 15_000_000  # bytes of a wheel
MOST_MODULES = 40  # that `import prlx` loads; its time is for bench/contracts.py, as a busy machine makes it any length


def check_wheel(path: Path) -> None:
    """One extension, the libraries in C, nothing generated, one dependency, nothing of the building machine."""
    size = path.stat().st_size
    assert size < LARGEST, f"{path.name} has {size} bytes"
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        binaries = [name for name in names if wheel.read(name)[:4] == b"\x7fELF"]
        sampler = "prlx/libprlx_snapshot.so"
        libraries = [
            sampler,
            "prlx/libnccl-profiler-prlx.so",
            "prlx/librccl-profiler-prlx.so",
            "prlx/cuda/libcuda.so",
            "prlx/cuda/libcuda.so.1",
            "prlx/cuda/libcudart.so.12",
            "prlx/cuda/libcudart.so.13",
        ]
        assert set(libraries) < set(binaries), binaries
        (extension,) = (name for name in binaries if name not in libraries)
        assert re.fullmatch(r"prlx/_prlx\.cpython-3\d+-\w+-linux-gnu\.so", extension), extension
        generated = [name for name in names if Path(name).name in {"go.py", "prlx.py", "build.py", "prlx.c", "prlx.go"}]
        assert not generated, generated
        assert {
            "prlx/__init__.py",
            "prlx/_core.py",
            "prlx/hooks/simulator.py",
            "prlx/py.typed",
            "prlx/startup/sitecustomize.py",
            "prlx/include/prlx_snapshot.h",
            "prlx/include/prlx_nccl.h",
            "prlx/_prlx.pyi",
        } <= set(names)
        assert not [name for name in names if not name.startswith(("prlx/", "prlx_go-", "prlx_program.py"))]
        metadata = email.message_from_bytes(wheel.read(next(name for name in names if name.endswith("/METADATA"))))
        needed = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]
        assert [re.split(r"\W", line)[0] for line in needed] == ["numpy"], needed
        assert metadata["License-Expression"] == "Apache-2.0"
        scripts = wheel.read(next(name for name in names if name.endswith("/entry_points.txt"))).decode()
        assert "prlx = prlx_program:main" in scripts
        assert "xprof_trace_align = " in scripts
        assert "prlx-diff = " in scripts
        check_licenses(wheel, names, extension)
        if "manylinux" in path.name:
            check_glibc(wheel.read(extension), path.name)
            for library in libraries:
                check_glibc(wheel.read(library), path.name)
        home = bytes(Path.home()) + b"/"
        for name in binaries:
            assert len(home) < 3 or home not in wheel.read(name), f"{name} names a folder of its builder"
    print(f"{path.name}: {size:,} bytes")


def check_licenses(wheel: zipfile.ZipFile, names: list[str], extension: str) -> None:
    """The text of the licence of Go and of every module that the extension is linked from."""
    with tempfile.TemporaryDirectory() as folder:
        linked = subprocess.run(
            ["go", "version", "-m", wheel.extract(extension, folder)], capture_output=True, text=True, check=True
        )
    modules = re.findall(r"^\tdep\t(\S+)", linked.stdout, re.MULTILINE)
    assert len(modules) >= 5, linked.stdout
    for module in ["go", *modules]:
        texts = [name for name in names if f"/licenses/licenses/{module}/" in name]
        assert any(wheel.getinfo(name).file_size > 500 for name in texts), f"no licence of {module}: {texts}"


def check_glibc(extension: bytes, name: str) -> None:
    """The extension asks for no newer glibc than the tag of its wheel says."""
    promised = tuple(map(int, re.findall(r"manylinux_(\d+)_(\d+)_", name)[0]))
    asked = {tuple(map(int, version.split(b"."))) for version in re.findall(rb"\0GLIBC_([\d.]+)(?=\0)", extension)}
    assert asked, "no symbol of glibc is versioned"
    assert max(asked) <= promised, f"{name} asks for glibc {max(asked)}"


def fresh(code: str, *options: str) -> str:
    """What code prints in an interpreter of its own, which must stay silent on stderr."""
    done = subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr
    return done.stdout.strip()


def check_installed() -> None:
    """The import is light, the core works, the extension needs libc only and exports three symbols, the commands are there."""
    loaded = int(fresh("import sys; before = len(sys.modules); import prlx; print(len(sys.modules) - before)"))
    assert loaded < MOST_MODULES, f"import prlx loads {loaded} modules"
    light = "import prlx, sys; maps = open('/proc/self/maps').read(); print('_prlx' in maps, 'numpy' in sys.modules)"
    assert fresh(light, "-W", "ignore") == "False False"
    works = "import prlx; from prlx import _core; print(_core.call('version')['core'] == prlx.__version__)"
    assert fresh(works) == "True"

    import importlib.util

    found = importlib.util.find_spec("prlx._prlx")
    assert found is not None
    assert found.origin is not None
    dynamic = subprocess.run(["readelf", "-dW", found.origin], capture_output=True, text=True, check=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.+?)\]", dynamic)
    assert {name.split(".")[0] for name in needed} <= {"libc", "libpthread", "libdl"}, needed
    assert "RPATH" not in dynamic
    assert "RUNPATH" not in dynamic
    symbols = subprocess.run(["readelf", "--dyn-syms", "-W", found.origin], capture_output=True, text=True, check=True)
    exported = [
        f[7] for f in map(str.split, symbols.stdout.splitlines()) if len(f) == 8 and f[4] == "GLOBAL" and f[6] != "UND"
    ]
    assert sorted(exported) == ["PyInit__prlx", "prlx_call", "prlx_fetch"], exported

    commands = Path(sys.executable).parent
    for command in (["prlx", "version"], ["prlx", "doctor"], ["xprof_trace_align", "--help"], ["prlx-diff", "--help"]):
        done = subprocess.run([commands / command[0], *command[1:]], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
    print(f"import prlx: {loaded} modules; needs {', '.join(needed)}; prlx doctor is green")


if __name__ == "__main__":
    if sys.argv[1] == "wheel":
        check_wheel(Path(sys.argv[2]))
    else:
        check_installed()
