"""An option is written once: what Python and the command line make of the table of options agrees with it and with the core."""

from __future__ import annotations

import dataclasses
import inspect
import re
import typing

import pytest

import prlx
from prlx import _config, _core, _option_keywords, _options, _request
from prlx._option_table import TABLE
from prlx.cli import _table

OPTIONS = [pytest.param(name, each, id=f"{name} {each.name}") for name in TABLE for each in _options.of(name).values()]
FLAGS = [one for one in OPTIONS if TABLE[one.values[0]]["command"] and not one.values[1].flagless]
HELD = [(name, key) for name in TABLE for key in _options.groups(name)]
# The request of each operation is refused for what it lacks, not for what it names.
ENOUGH = {
    "combine": {"inputs": [{"path": "/nowhere"}]},
    "align": {"trace": "/nowhere"},
    "stragglers": {"inputs": [{"path": "/nowhere"}]},
    "validate": {"inputs": [{"path": "/nowhere"}]},
    "solve": {"files": ["/nowhere"]},
    "diff": {"a": ["/nowhere"], "b": ["/nowhere"]},
}
ASKS = {"assert": "diff"}  # commands that ask for an operation of another name


@pytest.mark.parametrize(("operation", "option"), [one for one in OPTIONS if one.values[0] in (*ENOUGH, *ASKS)])
def test_the_core_knows_the_option(operation, option):
    operation = ASKS.get(operation, operation)
    wrong = 1 if option.takes not in ("whole", "number", "seconds", "size", "allowed") else []
    with pytest.raises(prlx.PrlxError, match=rf"^{option.name}\b| is not a size ") as caught:
        _core.run(operation, {**ENOUGH[operation], option.name: wrong})
    assert "unknown field" not in str(caught.value)
    with pytest.raises(prlx.PrlxError, match="unknown field"):
        _core.run(operation, {**ENOUGH[operation], "an_option_that_is_not_there": {}})


@pytest.mark.parametrize(("operation", "option"), OPTIONS)
def test_the_function_names_it_with_type_default_and_sentence(operation, option):
    function = getattr(prlx, TABLE[operation]["function"])
    signature = inspect.signature(function).parameters
    assert option.name in function.accepts
    if option.group in _options.groups(operation):
        held = next(one for one in dataclasses.fields(_options.held_by(option.group)) if one.name == option.field)
        assert held.default == option.keyword_default
        assert signature[option.group].default is None
        return
    assert signature[option.name].kind is inspect.Parameter.KEYWORD_ONLY
    assert signature[option.name].default == option.keyword_default
    text = " ".join(function.__doc__.split())
    assert f" {option.name} {option.help.partition('`')[0]}" in text
    assert not option.setting or option.keyword_default is not None or f"``{option.setting}``" in text
    assert "**options" not in function.__doc__
    assert not re.search(r"``--", function.__doc__), "readers of Python give arguments, not flags"


@pytest.mark.parametrize("operation", TABLE)
def test_editors_and_type_checkers_see_the_same_names(operation):
    name = "".join(word.title() for word in operation.split("_")) + "Keywords"
    names = list(typing.cast(type, getattr(_option_keywords, name)).__annotations__)
    held = [key for key in _options.groups(operation) if key not in _options.of(operation)]
    assert sorted(names) == sorted([*held, *_options.of(operation)])


@pytest.mark.parametrize(("operation", "option"), FLAGS)
def test_its_flag_says_in_help_what_it_does(operation, option):
    flag = next(one for one in _table.load(operation).options if one.name == option.name)
    assert flag.help.startswith(option.off_help or option.sentence.replace("`", ""))
    assert option.left_out in flag.help
    assert flag.setting == option.setting
    assert not re.search(r"docs/|explained", flag.help), "the wheel holds no pages"


@pytest.mark.parametrize(("operation", "option"), [one for one in OPTIONS if one.values[1].setting])
def test_its_setting_is_one(operation, option):  # noqa: ARG001
    setting = _config.BY_KEY[option.setting]
    assert (setting.default, setting.choices, setting.unset) == (option.default, option.choices, option.unset)


def test_a_setting_counts_where_the_argument_is_left_out(monkeypatch):
    assert _request.of("solve", {})["reference"] is None
    monkeypatch.setenv("PRLX_SOLVE_REFERENCE", "3")
    assert _request.of("solve", {})["reference"] == "3"
    assert _request.of("solve", {"reference": 1})["reference"] == "1"


def test_a_name_that_is_not_an_option_is_refused_with_the_nearest():
    with pytest.raises(TypeError, match=r"^solve_offsets\(\) got .* 'referense'\. Did you mean 'reference'\?$"):
        prlx.solve_offsets("a", referense=1)
    with pytest.raises(TypeError, match=r"^solve_offsets\(\) got an unexpected keyword argument 'zzz'$"):
        prlx.solve_offsets("a", zzz=1)


def test_a_function_keeps_what_is_its_own():
    names = list(inspect.signature(prlx.solve_offsets).parameters)
    assert names[0] == "files"
    assert names[-1] == "progress"
    assert "\nfiles\n    Files of windows" in prlx.solve_offsets.__doc__
    assert '\nprogress\n    ``"auto"``' in prlx.solve_offsets.__doc__


@pytest.mark.parametrize(("operation", "key"), HELD)
def test_a_value_asks_what_its_fields_ask_by_name(operation, key):
    options = {one.field: one for one in _options.groups(operation)[key]}
    kind = _options.held_by(key)
    given = dict.fromkeys(options, "3")
    by_name = _options.filled(operation, {options[field].name: value for field, value in given.items()})
    assert _options.filled(operation, {key: kind(**given)}) == by_name
    assert by_name != _options.filled(operation, {})
    assert _options.filled(operation, {key: kind()}) == _options.filled(operation, {})
    text = getattr(prlx, TABLE[operation]["function"]).__doc__
    assert all(f"``{option.name}``" in " ".join(text.split()) for option in options.values() if option.name != key)


def test_what_a_value_names_is_refused_where_it_has_no_meaning():
    with pytest.raises(TypeError, match=r"^validate_collectives\(\) has no 'policy', which ClockOptions names$"):
        prlx.validate_collectives("a", clocks=prlx.ClockOptions(policy="hold"))
    with pytest.raises(TypeError, match=r"^combine_traces\(\) got 'method' twice: by name and in 'clocks'$"):
        prlx.combine_traces("a", method="wall", clocks=prlx.ClockOptions(method="probes"))
    with pytest.raises(TypeError, match=r"^combine_traces\(\): clocks is 3, expected a prlx.ClockOptions$"):
        prlx.combine_traces("a", clocks=3)
