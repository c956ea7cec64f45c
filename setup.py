"""Builds the one extension of prlx: gopy generates the glue for pybind/, `go build` links it with the core.

It needs Go, a C compiler and pybindgen (see pyproject.toml). The glue is generated into build/gopy/ once for each CPython and
again when pybind/, go.mod or this file changes; a change of the core alone costs one incremental `go build`. The result
depends on nothing but libc, exports one symbol and names no folder of the machine that built it.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
MODULE = "github.com/prlx-go/prlx"


class CleanBuild(build):
    """Starts from an empty build/lib: a stale one would leak deleted files into the wheel."""

    def run(self):
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


class BuildGo(build_ext):
    """Builds the extension with Go instead of the C compiler alone."""

    def go(self, *args, cwd=ROOT, **env):
        """Run the go command, which says itself what is wrong."""
        if subprocess.run(["go", *map(str, args)], cwd=cwd, check=False, env={**os.environ, **env}).returncode:
            raise SystemExit(f"prlx: go {' '.join(map(str, args[:3]))} failed")

    def build_extension(self, ext):
        """Generate the glue if needed, then link the extension."""
        if not shutil.which("go"):
            raise SystemExit("prlx: building needs Go >= 1.26 and a C compiler on PATH (https://go.dev/dl)")
        out = Path(self.get_ext_fullpath(ext.name)).resolve()
        out.parent.mkdir(parents=True, exist_ok=True)
        glue = ROOT / "build" / "gopy" / sys.implementation.cache_tag
        self.generate(glue)
        flags = [] if os.environ.get("PRLX_DEBUG_BUILD") else ["-s", "-w"]
        flags += ["-buildid=", "-X", f"{MODULE}/core/api.Version={self.distribution.get_version()}"]
        # The linker runs in a folder of its own, so the path is absolute; the quotes are for paths with spaces.
        flags.append(f"\"-extldflags='-Wl,--version-script={glue}/exports.map'\"")
        self.go(
            "build", "-trimpath", "-buildvcs=false", "-buildmode=c-shared", "-o", out, "-ldflags", " ".join(flags), ".",
            cwd=glue, CGO_ENABLED="1",
        )  # fmt: skip
        out.with_name(out.name.split(".so")[0] + ".h").unlink(missing_ok=True)

    def generate(self, glue):
        """Write the cgo and the C half of the glue into the folder `glue`, unless they are there already."""
        include, stamp = sysconfig.get_path("include"), glue / ".stamp"
        key = hashlib.sha256((sys.version + include).encode())
        for source in [ROOT / "go.mod", ROOT / "setup.py", *sorted((ROOT / "pybind").glob("*.go"))]:
            key.update(source.read_bytes())
        if stamp.exists() and stamp.read_text() == key.hexdigest():
            return
        shutil.rmtree(glue, ignore_errors=True)
        glue.mkdir(parents=True)
        self.go(
            "tool", "gopy", "gen", f"-vm={sys.executable}", f"-output={glue}", "-name=prlx", "-no-make", "-no-warn",
            "-dynamic-link=true", f"{MODULE}/pybind",
        )  # fmt: skip
        cgo, script = glue / "prlx.go", glue / "build.py"
        # gopy writes linker flags for libpython and the building machine's folders: the extension needs neither.
        text = re.sub(r"(?m)^gopy gen .*$|^#cgo LDFLAGS:.*$", "", cgo.read_text())
        cflags = f'#cgo CFLAGS: "-I{include}" -O2 -Wno-implicit-function-declaration'
        text = re.sub(r"(?m)^#cgo CFLAGS:.*$", lambda _: cflags, text)
        cgo.write_text(in_order(r"(?ms)^//export pybind_\w+\n.*?^}\n", text))
        script.write_text(in_order(r"(?m)^add_checked\w*\(mod, 'pybind_.*$", script.read_text()))
        self.go("tool", "goimports", "-w", cgo)
        subprocess.run([sys.executable, "build.py"], cwd=glue, check=True)  # pybindgen writes prlx.c
        (glue / "prlx_go.h").write_text('#include "_cgo_export.h"\n')
        (glue / "exports.map").write_text("{ global: PyInit__prlx; local: *; };\n")
        for generated in glue.glob("*.py"):  # gopy's Python half does harm at import; prlx/_core.py takes its place
            generated.unlink()
        stamp.write_text(key.hexdigest())


def in_order(pattern, text):
    """Sort what matches in place: gopy walks a Go map, so its order changes from run to run."""
    found = iter(sorted(re.findall(pattern, text)))
    return re.sub(pattern, lambda _: next(found), text)


setup(
    ext_modules=[Extension("prlx._prlx", sources=[])],
    cmdclass={"build": CleanBuild, "build_ext": BuildGo},
)
