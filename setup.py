"""Builds the one extension of prlx: gopy generates the glue for pybind/, `go build` links it with the core; beside it
lies the sampler of clocks, in C.

It needs Go, a C compiler and pybindgen (see pyproject.toml). The glue is generated into build/gopy/ once for each CPython and
again when pybind/, go.mod or this file changes; a change of the core alone costs one incremental `go build`. The result
depends on nothing but libc, exports three symbols and names no folder of the machine that built it. Beside it also lies the
recorder of NCCL's events, under the names that NCCL and RCCL look for.
"""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

ROOT = Path(__file__).resolve().parent
MODULE = "github.com/prlx-go/prlx"
LICENSES = ROOT / "licenses"  # of what is linked into the extension: collected at each build, never committed


def run_go(*args, cwd=ROOT, capture=False, **env):
    """Run the go command, which says itself what is wrong, and return what it prints if that is asked for."""
    if not shutil.which("go"):
        raise SystemExit("prlx: building needs Go >= 1.26 and a C compiler on PATH (https://go.dev/dl)")
    done = subprocess.run(
        ["go", *map(str, args)],
        cwd=cwd,
        check=False,
        env={**os.environ, **env},
        stdout=subprocess.PIPE if capture else None,
    )
    if done.returncode:
        raise SystemExit(f"prlx: go {' '.join(map(str, args[:3]))} failed")
    return done.stdout.decode() if capture else ""


def collect_licenses():
    """Copy the licence texts of Go and of every module that the extension is linked from into licenses/MODULE/."""
    shutil.rmtree(LICENSES, ignore_errors=True)
    copy_licenses(Path(run_go("env", "GOROOT", capture=True).strip()), LICENSES / "go")
    row = "{{with .Module}}{{.Path}}\t{{$.ImportPath}}\t{{$.Dir}}{{end}}"
    linked = run_go("list", "-deps", "-f", row, "./pybind", "github.com/go-python/gopy/gopyh", capture=True)
    for line in filter(None, linked.splitlines()):
        module, package, folder = line.split("\t")
        if module != MODULE:
            below, source = Path(package).relative_to(module), Path(folder)
            for up in [below, *below.parents]:  # a package may have a licence of its own beside that of its module
                copy_licenses(source, LICENSES / module / up)
                source = source.parent


def copy_licenses(source, target):
    """Copy the licence texts that lie in one folder."""
    for text in sorted(source.iterdir()):
        if re.match("LICEN[CS]E|COPYING|NOTICE", text.name):
            target.mkdir(parents=True, exist_ok=True)
            (target / text.name).write_bytes(text.read_bytes())  # the module cache is read-only, a copy is not


def c_compiler():
    """The compiler that Python was built with, unless CC names another."""
    return shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")


def old_libraries():
    """Flags that name libpthread and libdl as needed: before glibc 2.34 functions of theirs are not in libc."""
    found = []
    for name in ("libpthread.so.0", "libdl.so.2"):
        asked = subprocess.run([*c_compiler(), f"-print-file-name={name}"], capture_output=True, text=True, check=False)
        if Path(asked.stdout.strip()).is_absolute():
            found.append(f"-l:{name}")
    flags = ["-Wl,--push-state,--no-as-needed", *found, "-Wl,--pop-state"]
    return flags if found and links(flags) else ["-DPLAIN_SYMBOLS"]  # zig links for the glibc that it is told


def links(flags):
    """Whether the C compiler takes flags of its linker."""
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "empty.c"
        empty.write_text("int prlx_empty;\n")
        command = [*c_compiler(), "-shared", "-fPIC", "-o", f"{folder}/empty.so", str(empty), *flags]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


def build_library(package, source, out, header, *flags, standard="c11"):
    """Compile a folder of runtime/ into the package, with its header, if it has one, beside it for programs in C."""
    (package / out).parent.mkdir(exist_ok=True)
    command = [
        *c_compiler(), f"-std={standard}", "-O2", "-Wall", "-Wextra", "-fPIC", "-fvisibility=hidden", "-shared", "-s", *flags,
        "-o", out, *(os.path.relpath(file, package) for file in sorted(source.glob("*.c"))), "-lpthread", "-ldl",
    ]  # fmt: skip
    if subprocess.run(command, cwd=package, check=False).returncode:
        raise SystemExit(f"prlx: the C compiler failed on runtime/{source.name}")
    if header:
        (package / "include").mkdir(exist_ok=True)
        shutil.copyfile(source / header, package / "include" / header)


def build_runtime(package):
    """The sampler of clocks, the recorder of NCCL's events, a CUDA driver and a CUDA runtime.

    The recorder stays loaded, for a thread of its own runs in it.
    """
    build_library(package, ROOT / "runtime" / "snapshot", "libprlx_snapshot.so", "prlx_snapshot.h")
    nccl, recorder = ROOT / "runtime" / "nccl", "libnccl-profiler-prlx.so"
    exports = os.path.relpath(nccl / "exports.map", package)
    linked = ["-Wl,-z,nodelete,-z,now", f"-Wl,--version-script={exports}", *old_libraries()]
    build_library(package, nccl, recorder, "prlx_nccl.h", *linked)
    shutil.copyfile(package / recorder, package / recorder.replace("nccl", "rccl"))  # wheels have no links
    driver = ["-Wl,-soname,libcuda.so.1", *old_libraries()]
    build_library(package, ROOT / "runtime" / "cudadriver", "cuda/libcuda.so.1", None, *driver, standard="gnu11")
    shutil.copyfile(package / "cuda" / "libcuda.so.1", package / "cuda" / "libcuda.so")  # by which linkers ask for it
    for major in (12, 13):
        exports = os.path.relpath(ROOT / "runtime" / "cudart" / f"exports{major}.map", package)
        runtime = [f"-DCUDART_MAJOR={major}", f"-Wl,-soname,libcudart.so.{major}", f"-Wl,--version-script={exports}"]
        runtime += ["-Wl,-rpath,$ORIGIN", "-Lcuda", "-Wl,--no-as-needed", "-lcuda", "-Wl,--as-needed", *old_libraries()]
        build_library(
            package, ROOT / "runtime" / "cudart", f"cuda/libcudart.so.{major}", None, *runtime, standard="gnu11"
        )


class CleanBuild(build):
    """Starts from an empty build/lib: a stale one would leak deleted files into the wheel."""

    def run(self):
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


class BuildGo(build_ext):
    """Builds the extension with Go instead of the C compiler alone, and the libraries in C."""

    def run(self):
        super().run()
        build_runtime(ROOT / "python" / "prlx" if self.inplace else Path(self.build_lib).resolve() / "prlx")

    def build_extension(self, ext):
        """Generate the glue if needed, then link the extension."""
        out = Path(self.get_ext_fullpath(ext.name)).resolve()
        out.parent.mkdir(parents=True, exist_ok=True)
        glue = ROOT / "build" / "gopy" / sys.implementation.cache_tag
        self.generate(glue)
        flags = [] if os.environ.get("PRLX_DEBUG_BUILD") else ["-s", "-w"]
        flags += ["-buildid=", "-X", f"{MODULE}/core/api.Version={self.distribution.get_version()}"]
        # The linker runs in a folder of its own, so the path is absolute; the quotes are for paths with spaces.
        flags.append(f"\"-extldflags='-Wl,--version-script={glue}/exports.map'\"")
        run_go(
            "build", "-trimpath", "-buildvcs=false", "-buildmode=c-shared", "-o", out, "-ldflags", " ".join(flags), ".",
            cwd=glue, CGO_ENABLED="1",
        )  # fmt: skip
        out.with_name(out.name.split(".so")[0] + ".h").unlink(missing_ok=True)

    def generate(self, glue):
        """Write the cgo and the C half of the glue into the folder `glue`, unless they are there already."""
        include, stamp = sysconfig.get_path("include"), glue / ".stamp"
        key = hashlib.sha256((sys.version + include).encode())
        for source in [ROOT / "go.mod", ROOT / "setup.py", *sorted((ROOT / "pybind").glob("*.go*"))]:
            key.update(source.read_bytes())
        if stamp.exists() and stamp.read_text() == key.hexdigest():
            return
        shutil.rmtree(glue, ignore_errors=True)
        glue.mkdir(parents=True)
        run_go(
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
        run_go("tool", "goimports", "-w", cgo)
        subprocess.run([sys.executable, "build.py"], cwd=glue, check=True)  # pybindgen writes prlx.c
        (glue / "prlx_go.h").write_text('#include "_cgo_export.h"\n')
        shutil.copyfile(ROOT / "pybind" / "door.go.in", glue / "door.go")
        (glue / "exports.map").write_text("{ global: PyInit__prlx; prlx_call; prlx_fetch; local: *; };\n")
        for generated in glue.glob("*.py"):  # gopy's Python half does harm at import; prlx/_core.py takes its place
            generated.unlink()
        stamp.write_text(key.hexdigest())


class VendoredSource(sdist):
    """Puts the modules that the build needs into the source distribution, so that it builds without a network."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        run_go("mod", "vendor", "-o", Path(base_dir).resolve() / "vendor")


def in_order(pattern, text):
    """Sort what matches in place: gopy walks a Go map, so its order changes from run to run."""
    found = iter(sorted(re.findall(pattern, text)))
    return re.sub(pattern, lambda _: next(found), text)


collect_licenses()
setup(
    ext_modules=[Extension("prlx._prlx", sources=[])],
    cmdclass={"build": CleanBuild, "build_ext": BuildGo, "sdist": VendoredSource},
)
