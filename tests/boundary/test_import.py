"""What `import prlx` does and does not do, and what a broken installation says."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import prlx

from .conftest import Python

PACKAGE = Path(prlx.__file__).parent


def test_import_loads_no_core_no_numpy_and_starts_no_thread(python: Python) -> None:
    found = python(
        "import os, pathlib, prlx\n"
        "maps = pathlib.Path('/proc/self/maps').read_text()\n"
        "show({'core': '_prlx' in maps, 'numpy': 'numpy' in sys.modules, 'modules': [m for m in sys.modules if "
        "m.startswith('prlx.')], 'threads': len(os.listdir('/proc/self/task'))})"
    )
    assert found["core"] is False
    assert found["numpy"] is False
    assert found["threads"] == 1
    assert sorted(found["modules"]) == ["prlx._errors", "prlx._version"]


def test_first_use_loads_the_core(python: Python) -> None:
    assert python(
        "from prlx import _core\n"
        "before = _core.is_loaded()\n"
        "version = _core.call('version')['core']\n"
        "show([before, _core.is_loaded(), version])"
    ) == [False, True, prlx.__version__]


def test_only_one_module_imports_the_extension() -> None:
    importers = set()
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, (ast.Import, ast.ImportFrom)) else []
            if any(name.endswith("_prlx") for name in names):
                importers.add(file.name)
    assert importers == {"_extension.py"}


def test_core_of_another_version_is_refused_with_both_versions(python: Python) -> None:
    text, code, is_import_error = python(
        "import prlx\n"
        "from prlx import _core, _extension\n"
        "_extension.__version__ = '99.0'\n"
        "try: _core.call('version')\n"
        "except prlx.CoreUnavailableError as error: show([str(error), error.exit_code, isinstance(error, ImportError)])"
    )
    assert "built for prlx " + prlx.__version__ in text
    assert "Python package is prlx 99.0" in text
    assert (code, is_import_error) == (70, True)


def test_missing_core_says_what_to_do(python: Python) -> None:
    message = python(
        "import prlx\n"
        "sys.modules['prlx._prlx'] = None\n"
        "from prlx import _core\n"
        "try: _core.call('version')\n"
        "except prlx.CoreUnavailableError as error: show(str(error))"
    )
    assert "cannot be loaded" in message
    assert "make build" in message


def test_every_public_name_is_listed_and_documented() -> None:
    assert set(prlx.__all__) <= set(dir(prlx))
    for name in set(prlx.__all__) - {"__version__"}:
        assert getattr(prlx, name).__doc__, name


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'combine_trace'"):
        prlx.combine_trace  # noqa: B018


def extension() -> str:
    spec = importlib.util.find_spec("prlx._prlx")
    assert spec is not None
    assert spec.origin is not None
    return spec.origin


def readelf(*options: str) -> list[str]:
    done = subprocess.run(["readelf", "-W", *options, extension()], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_extension_needs_libc_only() -> None:
    dynamic = readelf("-d")
    needed = [line.split("[")[1].rstrip("]") for line in dynamic if "(NEEDED)" in line]
    # Before glibc 2.34 these three were files of their own; they are libc.
    assert {name.split(".")[0] for name in needed} <= {"libc", "libpthread", "libdl"}
    assert not [line for line in dynamic if "RUNPATH" in line or "RPATH" in line]


def test_extension_exports_its_two_doors() -> None:
    symbols = [line.split() for line in readelf("--dyn-syms")]
    exported = [s[7] for s in symbols if len(s) == 8 and s[4] == "GLOBAL" and s[6] != "UND"]
    assert sorted(exported) == ["PyInit__prlx", "prlx_call", "prlx_fetch"]


def test_extension_names_no_folder_of_its_builder() -> None:
    content = Path(extension()).read_bytes()
    for folder in {str(PACKAGE.parent.parent), sys.prefix}:
        assert folder.encode() not in content


def test_few_functions_cross_the_boundary() -> None:
    from prlx import _prlx

    functions = [name for name in dir(_prlx) if name.startswith("pybind_")]
    assert 0 < len(functions) <= 15
    stub = (PACKAGE / "_prlx.pyi").read_text()
    assert sorted(functions) == sorted(
        node.name for node in ast.walk(ast.parse(stub)) if isinstance(node, ast.FunctionDef)
    )


# What each hook for Triton may import beyond ``import prlx``. Modules are counted, not milliseconds: a dataclass alone
# loads ``inspect``, ``ast`` and ``re``, which are three quarters of the time that all of these take.
_HOOKS = ("arrays", "inductor_settings", "instrument", "gpu", "parameters", "simulator", "target", "texts", "triton")
_DEAR = {
    "ast", "asyncio", "ctypes", "dataclasses", "dis", "email", "enum", "inspect", "json", "logging", "numpy", "pathlib", "re",
    "subprocess", "tempfile", "torch", "triton",
}  # fmt: skip


def test_hooks_alone_load_nothing_dear() -> None:
    code = f"import sys; import {', '.join(f'prlx.hooks.{one}' for one in _HOOKS)}; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {[str(PACKAGE.parent)]}; {code}"],
                         capture_output=True, text=True, check=True)  # fmt: skip
    loaded = set(ran.stdout.split())
    assert not loaded & _DEAR
    assert {one for one in loaded if one.startswith("prlx.")} == {
        "prlx._errors", "prlx._version", "prlx.hooks", *(f"prlx.hooks.{one}" for one in _HOOKS)
    }  # fmt: skip
