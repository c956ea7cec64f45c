"""A flag wins over the environment, that over the file, that over the default; and everyone says who it was."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from prlx import UsageError, _config, _former
from prlx.cli import _options, _table


def origins(ran):
    return {row["key"]: (row["value"], row["origin"]) for row in ran.json()["settings"]}


def test_without_anything_the_defaults_hold(prlx):
    found = origins(prlx("config", "show", "--json"))
    assert found["combine.naming"] == ("viewer", "default")
    assert found["workers"] == (None, "default")


def test_the_order_of_precedence(prlx, core, tmp_path, monkeypatch):
    (tmp_path / "prlx.toml").write_text('workers = 3\n[combine]\nnaming = "rocm"\npolicy = "hold"\nmethod = "wall"\n')
    monkeypatch.setenv("PRLX_COMBINE_NAMING", "tagged")
    monkeypatch.setenv("PRLX_COMBINE_METHOD", "probes")
    assert prlx("combine", "a.pb", "--method", "declared").code == 5  # the documented example, a clock of which stepped
    asked = core.request
    assert asked["method"] == "declared"
    assert asked["naming"] == "tagged"
    assert asked["policy"] == "hold"
    assert asked["workers"] == 3
    assert asked["timebase"] == "host"


def test_config_show_tells_the_origin(prlx, tmp_path, monkeypatch):
    file = tmp_path / "prlx.toml"
    file.write_text('memory-limit = "1GiB"\n[combine]\nnaming = "rocm"\n')
    monkeypatch.setenv("PRLX_WORKERS", "2")
    ran = prlx("config", "show", "--json")
    found = origins(ran)
    assert found["memory-limit"] == (2**30, str(file))
    assert found["combine.naming"] == ("rocm", str(file))
    assert found["workers"] == (2, "PRLX_WORKERS")
    assert ran.json()["file"] == str(file)
    text = prlx("config").out
    assert f"file: {file}" in text
    assert "PRLX_WORKERS" in text


def test_the_nearest_file_upwards_counts(tmp_path, monkeypatch):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "prlx.toml").write_text("workers = 7\n")
    monkeypatch.chdir(inner)
    assert _config.load().get("workers").value == 7
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.other]\nworkers = 1\n")
    assert _config.load().get("workers").value == 7
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.prlx]\nworkers = 5\n")
    assert _config.load().get("workers").value == 5
    (tmp_path / "a" / "prlx.toml").write_text("workers = 4\n")
    assert _config.load().get("workers").value == 4


def test_a_file_can_be_named_outright(tmp_path, monkeypatch):
    (tmp_path / "mine.toml").write_text("[inspect]\nlimit = 3\n")
    monkeypatch.setenv("PRLX_CONFIG", str(tmp_path / "mine.toml"))
    assert _config.load().get("inspect.limit").value == 3
    monkeypatch.setenv("PRLX_CONFIG", str(tmp_path / "none.toml"))
    with pytest.raises(UsageError, match="PRLX_CONFIG: no such file"):
        _config.load()


def test_underscores_are_as_good_as_dashes(tmp_path):
    (tmp_path / "prlx.toml").write_text("memory_limit = 1048576\n[combine]\ncorrection_stat = true\n")
    config = _config.load()
    assert config.get("memory-limit").value == 1048576
    assert config.get("combine.correction-stat").value is True
    assert not config.warnings


@pytest.mark.usefixtures("core")
def test_unknown_names_warn_and_suggest(prlx, tmp_path, monkeypatch):
    (tmp_path / "prlx.toml").write_text("wrokers = 2\n[combine]\nnamin = 1\n")
    monkeypatch.setenv("PRLX_MEMORYLIMIT", "1GiB")
    ran = prlx("combine", "a.pb")
    assert ran.code == 5  # of the documented example; no warning changes it
    assert "unknown key wrokers (did you mean workers?)" in ran.err
    assert "unknown key combine.namin (did you mean combine.naming?)" in ran.err
    assert "PRLX_MEMORYLIMIT is set, but prlx knows no such variable (did you mean PRLX_MEMORY_LIMIT?)" in ran.err
    assert not prlx("-q", "config").err


@pytest.mark.parametrize("name", ["PRLX_DEBUG_BUILD", "PRLX_CHROMIUM", "PRLX_TEST_DATA"])
def test_variables_of_builds_and_tests_are_not_mistakes(name):
    assert not _config.load(environ={name: "x"}).warnings


def test_every_variable_that_the_project_reads_is_known(root):
    files = [root / "Makefile", root / "setup.py"]
    for folder, ending in (
        ("python", "py"),
        ("core", "go"),
        ("examples", "py"),
        ("bench", "py"),
        ("tests", "py"),
        ("tests", "sh"),
    ):
        files += [path for path in (root / folder).rglob(f"*.{ending}") if path.parent != Path(__file__).parent]
    found = {name for path in files for name in re.findall(r"PRLX_[A-Z0-9_]*[A-Z]", path.read_text())}
    settings = {setting.env for setting in _config.SETTINGS}
    assert found - settings - _config.OTHER_VARIABLES - set(_config._ALIASES) - set(_former.VARIABLES) == set()


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("PRLX_WORKERS", "many", "PRLX_WORKERS: expected a whole number above 0, got 'many'"),
        ("PRLX_WORKERS", "-1", "expected a whole number above 0"),
        ("PRLX_MEMORY_LIMIT", "1 parsec", "expected a size in B, kB"),
        ("PRLX_COMBINE_ALIGN", "maybe", "expected true or false"),
        ("PRLX_COMBINE_METHOD", "prob", "(did you mean probes?)"),
    ],
)
def test_a_wrong_value_names_its_variable(prlx, monkeypatch, name, value, expected):
    monkeypatch.setenv(name, value)
    ran = prlx("config", "show")
    assert ran.code == 2
    assert name in ran.err
    assert expected in ran.err


def test_a_wrong_value_in_a_file_names_file_and_key(prlx, tmp_path):
    (tmp_path / "prlx.toml").write_text('[combine]\nnaming = "rokm"\n')
    ran = prlx("config")
    assert ran.code == 2
    assert f"{tmp_path / 'prlx.toml'}: combine.naming: expected one of viewer, document" in ran.err


def test_a_broken_file_is_a_usage_error(prlx, tmp_path):
    (tmp_path / "prlx.toml").write_text("workers = = 2\n")
    ran = prlx("config")
    assert ran.code == 2
    assert "prlx.toml" in ran.err


def test_prlx_threads_is_another_name_for_workers():
    assert _config.load(environ={"PRLX_THREADS": "3"}).get("workers") == _config.Resolved(3, "PRLX_THREADS")
    both = _config.load(environ={"PRLX_THREADS": "3", "PRLX_WORKERS": "4"})
    assert both.get("workers") == _config.Resolved(4, "PRLX_WORKERS")


def test_a_switch_can_be_turned_both_ways(prlx, core, monkeypatch):
    monkeypatch.setenv("PRLX_COMBINE_ALIGN", "0")
    prlx("combine", "a.pb")
    assert core.asked[-1][1]["apply_alignment"] is False
    prlx("combine", "a.pb", "--align")
    assert core.asked[-1][1]["apply_alignment"] is True
    monkeypatch.delenv("PRLX_COMBINE_ALIGN")
    prlx("combine", "a.pb", "--no-align")
    assert core.asked[-1][1]["apply_alignment"] is False


def test_every_setting_belongs_to_a_flag_and_every_flag_to_a_setting_that_exists():
    used = {option.setting for name in _table.COMMANDS for option in _table.load(name).options if option.setting}
    assert used | {"color"} == set(_config.BY_KEY)
    assert "--no-color" in {flag for option in _options.COMMON for flag in option.flags}


def test_settings_have_defaults_that_they_accept():
    for setting in _config.SETTINGS:
        if setting.default is None:
            assert setting.unset
        else:
            assert setting.parse(json.loads(json.dumps(setting.default)), "here") == setting.default


@pytest.mark.parametrize(
    ("environment", "file", "flags", "colored"),
    [
        ({}, "", [], False),
        ({"FORCE_COLOR": "1"}, "", [], True),
        ({"FORCE_COLOR": "1"}, "", ["--no-color"], False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, "", [], False),
        ({}, 'color = "always"', [], True),
        ({"NO_COLOR": "1"}, 'color = "always"', [], False),
        ({"NO_COLOR": "1", "PRLX_COLOR": "always"}, "", [], True),
    ],
)
@pytest.mark.usefixtures("core")
def test_who_decides_about_colour(prlx, tmp_path, monkeypatch, environment, file, flags, colored):
    (tmp_path / "prlx.toml").write_text(file)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[" in prlx("combine", "a.pb", *flags).out) is colored
