"""The doctor looks at everything, names a cure for what is wrong, and survives a core that crashes."""

from __future__ import annotations

import json
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

from prlx import _doctor
from prlx._doctor import Check, diagnose


@pytest.fixture(scope="module")
def healthy():
    return diagnose()


def found(diagnosis, name):
    return next(check for check in diagnosis.checks if check.name == name)


def test_a_healthy_installation_is_fine(healthy):
    assert healthy.ok
    assert found(healthy, "core").status == "OK"
    assert "go1." in found(healthy, "go").detail
    assert {
        "memory",
        "cpus",
        "temporary",
        "namesake",
        "other go",
        "rich",
        "pandas",
        "xprof",
        "triton",
        "torch",
        "jax",
    } <= {c.name for c in healthy.checks}


def test_whatever_is_not_ok_says_what_to_do(healthy):
    for check in healthy.checks:
        assert check.status in ("OK", "WARN", "FAIL")
        assert check.status == "OK" or check.cure


def test_json_and_text(prlx, monkeypatch, healthy):
    monkeypatch.setattr(_doctor, "diagnose", lambda: healthy)
    assert prlx("doctor", "--json").json() == healthy.document
    text = prlx("doctor").out
    assert "OK    core" in text
    assert prlx("doctor").code == 0


def test_a_failure_ends_with_1(prlx, monkeypatch):
    monkeypatch.setattr(
        _doctor, "_checks", lambda: iter([Check("numpy", "FAIL", "not installed", "pip install numpy")])
    )
    ran = prlx("doctor")
    assert ran.code == 1
    assert ran.out.splitlines()[1].strip() == "pip install numpy"
    assert not json.loads(prlx("doctor", "--json").out)["ok"]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "died by signal 11"),
        ("raise SystemExit(9)", "exit code 9"),
        ("raise ImportError('undefined symbol')", "ImportError: undefined symbol"),
    ],
)
def test_a_core_that_crashes_is_a_line(monkeypatch, code, expected):
    monkeypatch.setattr(_doctor, "_PROBE", f"\n{code}")
    checks = list(_doctor._core_checks())
    assert [check.status for check in checks] == ["FAIL"]
    assert expected in checks[0].detail
    assert checks[0].cure


def test_a_core_that_hangs_is_a_line(monkeypatch):
    monkeypatch.setattr(_doctor, "_PROBE", "\nimport time; time.sleep(60)")
    monkeypatch.setattr(_doctor, "_PROBE_S", 0.2)
    assert next(_doctor._core_checks()).status == "FAIL"


class Distribution:
    version = "0.3.1"

    def read_text(self, _name):
        return None


def installed(monkeypatch, **versions):
    """Let packages be installed, in these versions, and no others."""

    def version(name):
        if (key := name.replace("-", "_")) not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[key]

    monkeypatch.setattr(metadata, "version", version)
    return {check.name: check for check in _doctor._frameworks()}


def test_missing_frameworks_are_not_a_failure(monkeypatch):
    checks = installed(monkeypatch)
    assert list(checks) == ["triton", "torch", "jax"]
    assert {check.status for check in checks.values()} == {"OK"}
    assert all(check.detail.startswith("not installed; ") for check in checks.values())


@pytest.mark.parametrize("version", ["3.5.1", "3.6.0", "3.9.0", "3.9.0+git1234"])
def test_what_works_with_a_triton_is_said(monkeypatch, version):
    check = installed(monkeypatch, triton=version)["triton"]
    assert check.status == "OK"
    assert (
        check.detail
        == f"{version}; prlx simulate checks its kernels without a GPU, prlx run records them on one or without"
    )


@pytest.mark.parametrize(
    ("version", "word"), [("2.1.0", "older"), ("3.4.0", "older"), ("3.10.0", "newer"), ("4.0", "newer")]
)
def test_a_triton_that_no_test_has_seen_is_a_warning(monkeypatch, version, word):
    check = installed(monkeypatch, triton=version)["triton"]
    assert check.status == "WARN"
    assert f"{version}; {word} than those that are tested (3.5.1 to 3.9.0)" in check.detail
    assert check.cure


def test_a_triton_by_another_name_is_found(monkeypatch):
    check = installed(monkeypatch, pytorch_triton="3.6.0")["triton"]
    assert check.detail.startswith("3.6.0; ")


def test_torch_says_what_needs_triton(monkeypatch):
    alone = installed(monkeypatch, torch="2.15.0")["torch"]
    assert alone.status == "OK"
    assert "traces of torch.profiler are read" in alone.detail
    assert "prlx simulate --map-cuda needs Triton, too" in alone.detail
    both = installed(monkeypatch, torch="2.15.0", triton="3.9.0")["torch"]
    assert "prlx simulate --map-cuda runs what says cuda" in both.detail


def test_jax_says_what_is_read_and_what_is_not_run(monkeypatch):
    check = installed(monkeypatch, jax="0.8.0")["jax"]
    assert check.status == "OK"
    assert check.detail == "0.8.0; profiles of jax.profiler are read; kernels of Pallas are not simulated"


def test_no_framework_is_imported_to_know_it(tmp_path):
    import os
    import sys

    for name in ("triton", "torch", "jax"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    code = "from prlx._doctor import diagnose; diagnose()"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600, env=environment)


def test_another_project_of_the_same_name_is_named(monkeypatch):
    monkeypatch.setattr(metadata, "distribution", lambda _name: Distribution())
    check = _doctor._namesake()
    assert check.status == "FAIL"
    assert "prlx 0.3.1" in check.detail
    assert _doctor._distribution().status == "WARN"


def test_a_go_library_is_recognised(tmp_path):
    library = tmp_path / "lib.so"
    library.write_bytes(b"\x7fELF" + bytes(1 << 20) + b"\xff Go buildinf:" + bytes(32))
    assert _doctor._is_go(str(library))
    library.write_bytes(b"\x7fELF" + bytes(3 << 20))
    assert not _doctor._is_go(str(library))
    assert not _doctor._is_go(str(tmp_path / "none.so"))


def test_other_go_runtimes_are_named(monkeypatch):
    monkeypatch.setattr(_doctor, "_mapped", lambda: {"/x/libother.so", "/x/_prlx.cpython-311.so"})
    monkeypatch.setattr(_doctor, "_is_go", lambda _name: True)
    check = _doctor._other_go()
    assert check.status == "WARN"
    assert "libother.so" in check.detail
    assert "_prlx" not in check.detail


def test_our_own_extension_carries_the_mark_that_is_looked_for():
    extensions = list(Path(_doctor.__file__).parent.glob("_prlx*.so"))
    assert extensions
    assert all(_doctor._is_go(str(extension)) for extension in extensions)


def test_little_room_and_little_memory_warn(monkeypatch):
    monkeypatch.setattr(_doctor.shutil, "disk_usage", lambda _folder: type("Usage", (), {"free": 1 << 20}))
    assert _doctor._temporary().status == "WARN"
    monkeypatch.setattr(_doctor.tempfile, "gettempdir", lambda: "/nowhere/at/all")
    assert _doctor._temporary().status == "FAIL"
    assert _doctor._memory({"memory_limit": 1 << 20}).status == "WARN"


def test_wrong_settings_are_reported(monkeypatch):
    monkeypatch.setenv("PRLX_WORKERS", "many")
    assert _doctor._settings().status == "FAIL"
    monkeypatch.setenv("PRLX_WORKERS", "2")
    monkeypatch.setenv("PRLX_WORKRES", "2")
    assert _doctor._settings().status == "WARN"


def test_the_core_is_not_loaded_into_the_doctor():
    import sys

    code = "import sys; from prlx._doctor import diagnose; diagnose(); assert 'prlx._prlx' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)
