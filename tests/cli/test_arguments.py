"""A value has one name on its way: of the flag, of the function's argument, of the field that the core is asked with."""

from __future__ import annotations

import contextlib
import inspect

import pytest

import prlx as package
from prlx import (
    _align,
    _combine,
    _combine_compare,
    _compare,
    _convert,
    _cycles,
    _nccl,
    _options,
    _probe,
    _solve,
    _stragglers,
    _validate,
)
from prlx.cli import _table
from prlx.cli._options import COMMON

# The functions behind each command.
FUNCTIONS = {
    "combine": ("combine_traces", "compare_alignments"),
    "align": ("align_trace",),
    "validate": ("validate_collectives",),
    "stragglers": ("find_stragglers",),
    "solve": ("solve_offsets",),
    "probe": ("probe_clocks",),
    "diff": ("diff_traces",),
    "assert": ("assert_same",),
    "convert": ("convert_trace",),
    "cycles": ("find_cycles", "compare_cycles"),
    "simulate": ("enable", "simulate_program"),
    "pytorch": ("enable_pytorch",),
}

# Commands without a function of their own, and what stands for one.
OTHERS = {
    "inspect": "prlx.open: the same as objects",
    "session": "prlx.open and prlx.diff_traces; test_sessions_take_what_diff_takes looks at its flags",
    "flamegraph": "Diff.save, with an ending of a track",
    "report": "Comparison.save",
    "nccl": "a function for each verb; tests/cli/test_nccl.py looks at their flags",
    "run": "prlx.enable, in each process of the program",
    "locate": "prlx.locate takes functions; its flags say how scripts are run",
    "doctor": "of the installation",
    "version": "prlx.__version__",
    "completion": "of shells",
    "config": "of command lines",
}

# Flags that are not arguments of the function, and why.
ONLY_FLAGS = {
    "how and where it is printed": {"json", "quiet", "verbose", "no_color", "help", "max_shown", "history", "kernels"},
    "Result.save writes reports": {
        "html", "csv", "junit", "sarif", "github", "markdown", "perfetto", "export_flamegraph", "xlsx", "overlay",
    },
    "the exit code of a command": {"diff strict", "stragglers fail_on"},
    "Result.save takes them": {
        "validate output", "validate overwrite", "diff overwrite", "assert overwrite", "cycles overwrite",
    },
    "directories are taken for sessions": {"session"},
    "prlx.read_trace(...).events": {"dump_a", "dump_b"},
    "the original's document, which is text": {"diff compat", "continue_after_path"},
    "the original's word for site_map where there is a site_map_b": {"remap_a"},
    "refused, with what to do": {"tui"},
    "the function on_inconclusive runs it": {"rerun"},
    "try_statements, a function of its own": {"try_statements"},
    "files of a shell": {"golden", "update_golden"},
    "the mapping compat": {"compat_parameter"},
    "a loop around solve_offsets": {"watch", "interval", "rounds"},
    "compare_alignments, a function of its own": {"combine compare"},
    "runs two scripts; a program compares what it launches itself": {"simulate compare", "pytorch compare"},
    "selftest_simulator, a function of its own": {"simulate selftest"},
}  # fmt: skip

# Arguments that have no flag, and why.
ONLY_ARGUMENTS = {
    "objects of a program": {"executor", "memory", "on_stop"},
    "commands show it on a terminal": {"progress"},
    "simulate is the simulator": {"simulate device"},
    "the shell says it": {"simulate cwd", "simulate env", "simulate capture_output", "simulate stdout"},
    "of a driver, which prlx run records over and has a flag for": {"simulate contents_after"},
    "--rerun runs a command": {"on_inconclusive"},
}


def flags_of(command):
    """The names of a command's flags."""
    return {option.name for option in _table.load(command).options}


def arguments_of(command):
    """The names of the keyword arguments of the functions behind a command."""
    return set().union(*(keywords(getattr(package, name)) for name in FUNCTIONS[command]))


def keywords(function):
    """The names that a function takes by keyword; those that a value holds in its place."""
    parameters = inspect.signature(function).parameters.values()
    own = {each.name for each in parameters if each.kind == inspect.Parameter.KEYWORD_ONLY}
    accepts = getattr(function, "accepts", frozenset())
    return own - {*_options.GROUPS} | accepts if accepts else own


def excused(command, table):
    """The names that are excused for a command: those of every command, and its own."""
    names = {name for reason in table.values() for name in reason}
    return {name for name in names if " " not in name} | {
        name.partition(" ")[2] for name in names if name.startswith(f"{command} ")
    }


@pytest.mark.parametrize("command", FUNCTIONS)
def test_every_flag_is_an_argument_and_every_argument_a_flag(command):
    flags, arguments = flags_of(command), arguments_of(command)
    assert flags - arguments - excused(command, ONLY_FLAGS) == set(), "flags without an argument"
    assert arguments - flags - excused(command, ONLY_ARGUMENTS) == set(), "arguments without a flag"


def test_every_command_is_looked_at():
    assert set(FUNCTIONS) | set(OTHERS) == set(_table.COMMANDS)
    assert not set(FUNCTIONS) & set(OTHERS)


def test_nothing_is_excused_that_needs_no_excuse():
    common = {option.name for option in COMMON}
    for table, present in ((ONLY_FLAGS, flags_of), (ONLY_ARGUMENTS, arguments_of)):
        other = arguments_of if present is flags_of else flags_of
        for name in {name for reason in table.values() for name in reason} - common:
            command, _, own = name.rpartition(" ")
            of = [command] if command else FUNCTIONS
            assert any(own in present(one) - other(one) for one in of), name


def test_sessions_take_what_diff_takes():
    assert flags_of("session") <= flags_of("diff")


# What a request has besides the arguments that it was made of: where and when it was made.
SURROUNDINGS = {"look_in", "today", "environment"}


@pytest.mark.parametrize(
    ("request_of", "inputs"),
    [
        (_combine.request, ["a"]),
        (_combine_compare.request, ["a", "b"]),
        (_align.request, ["a"]),
        (_validate.request, ["a"]),
        (_stragglers.request, ["a"]),
        (_solve.request, ["a"]),
        (_probe.request, ()),
        (_nccl.request, ["a"]),
        (_compare.request, ["a", "b"]),
        (_convert.request, ["a"]),
        (_cycles.request, ["a"]),
    ],
)
def test_arguments_are_fields_of_the_request_under_their_own_names(request_of, inputs):
    given = {"site_map_b": "b.json", "warps": "0"} if request_of is _compare.request else {}
    asked = request_of(*inputs, **given)
    parameters = inspect.signature(request_of).parameters.values()
    names = {each.name for each in parameters if each.kind != inspect.Parameter.KEYWORD_ONLY} | keywords(request_of)
    if request_of is _cycles.request:  # one trace, or one per rank
        names = names - {"trace"} | {"paths"}
    assert set(asked) - SURROUNDINGS == names


# What is typed for a flag whose text means something, and what its argument is then; other flags are told by what they take.
MEANINGS = {
    "tolerance": ("rel=0.5", 0.5),
    "require": ("outputs", ["outputs"]),
    "max_divergences": ("Value=3", {"Value": 3}),
    "warps": ("0-2,5", [0, 1, 2, 5]),
    "alpha": ("2%", 0.02),
    "min_change": ("5%", 0.05),
    "similarity": ("0.7", 0.7),
    "fail_on": ("step>3%", ["step>3%"]),
    "duration": ("2min", 120),
    "keep": ("1h", 3600),
    "time_range": ("1s:2s", "1s:2s"),
    "memory_limit": ("1MiB", 2**20),
    "step": ("7", ["7"]),
    "peers": ("a:1,b:2", ["a:1,b:2"]),
}
CONVERTED = ("tolerance", "duration", "keep")  # to text, to ns
DEFAULTS = ("auto", "degrade", "host", "viewer", "trust", "v2")
COMPARING = ("alpha", "min_change", "similarity", "baseline", "fail_on")
MERGING = dict.fromkeys(("output", "format", "overwrite"), "nccl merge")
NOT_ASKED = {
    "diff lookahead": "of --compat, refused with a warning otherwise",
    "assert strict": "what the command and the function make of the answer",
}
# The words that a command line begins with, and the call that it stands for.
BARE = {
    "combine": (["a"], lambda **more: package.combine_traces(["a"], **more)),
    "align": (["a"], lambda **more: package.align_trace("a", **more)),
    "validate": (["a"], lambda **more: package.validate_collectives(["a"], **more)),
    "stragglers": (["a"], lambda **more: package.find_stragglers(["a"], **more)),
    "solve": (["a"], lambda **more: package.solve_offsets(["a"], **more)),
    "probe": (
        ["-o", "probes", "--duration", "9s"],
        lambda **more: package.probe_clocks(**{"output": "probes", "duration": 9, **more}),
    ),
    "diff": (["a", "b"], lambda **more: package.diff_traces("a", "b", **more)),
    "assert": (["a", "b"], lambda **more: package.assert_same("a", "b", **more)),
    "convert": (["a", "-o", "out"], lambda **more: package.convert_trace("a", **{"output": "out", **more})),
    "cycles": (["a"], lambda **more: package.find_cycles("a", **more)),
    "nccl diagnose": (["a"], lambda **more: package.diagnose_nccl(["a"], **more)),
    "nccl merge": (["a", "-o", "out"], lambda **more: package.merge_nccl(["a"], **{"output": "out", **more})),
    "cycles compare": (["a", "b"], lambda **more: package.compare_cycles("a", "b", **more)),
}


def shared():
    """The flags that are arguments, too, by command. Two ask the core only when the script launches."""
    for command in FUNCTIONS.keys() - {"simulate", "pytorch"}:
        names = flags_of(command) & arguments_of(command)
        for option in _table.load(command).options:
            if option.name in names and f"{command} {option.name}" not in NOT_ASKED:
                verb = {
                    "nccl": MERGING.get(option.name, "nccl diagnose"),
                    "cycles": "cycles compare" if option.name in COMPARING else command,
                }
                yield verb.get(command, command), option


def meaning(option):
    """How a flag is typed, and what its argument is then: nothing that it is when left out."""
    if option.takes == "switch":
        return [option.off or option.flags[0]], not option.off
    if option.choices:
        text = value = next(word for word in option.choices if word not in DEFAULTS)
    elif option.takes in ("whole", "number"):
        text, value = "3", 3
    elif option.takes == "seconds":
        text, value = "3.5", 3.5
    else:
        text, value = MEANINGS.get(option.name, ("given", "given"))
    return [option.flags[0], text], [value] if option.takes == "paths" else value


def last_request(core, ask):
    """What a call asks the core, which refuses it, so that nothing happens after."""
    core.asked.clear()
    with contextlib.suppress(package.PrlxError):
        ask()
    return core.asked[-1][1]


def difference(one, other):
    """The fields in which two requests differ, as the first has them."""
    return {key: one.get(key) for key in one.keys() | other.keys() if one.get(key) != other.get(key)}


@pytest.mark.parametrize(
    ("command", "option"), [pytest.param(*one, id=f"{one[0]} {one[1].flags[0]}") for one in sorted(shared(), key=str)]
)
def test_a_flag_and_its_argument_ask_the_same(command, option, core, prlx, monkeypatch):
    monkeypatch.setenv("CI", "1")  # where --verify is the default
    monkeypatch.setattr(_probe, "run", lambda asked, **_: core.run("probe", asked))
    core.replies = {op.replace(" ", "_"): package.PrlxError("asked") for op in BARE} | {
        "diff": package.PrlxError("asked")
    }
    words, call = BARE[command]
    typed, value = meaning(option)
    plain = last_request(core, lambda: prlx(*command.split(), *words))
    by_flag = difference(last_request(core, lambda: prlx(*command.split(), *words, *typed)), plain)
    plain = last_request(core, call)
    by_argument = difference(last_request(core, lambda: call(**{option.name: value})), plain)
    assert by_flag, "the flag does not reach the core"
    assert by_argument == by_flag
    if type(value) in (int, float) and option.name not in CONVERTED:
        assert by_flag[option.name] == value


@pytest.mark.parametrize("name", ["diff_traces", "assert_same"])
def test_the_number_that_may_differ_has_one_name(core, prlx, name):
    with contextlib.suppress(AssertionError):  # the documented comparison differs
        getattr(package, name)("a", "b", max_divergences={"Value": 3})
    command = {"diff_traces": "diff", "assert_same": "assert"}[name]
    for flag in ("--max-divergences", "--max-allowed-divergences"):
        prlx(command, "a", "b", flag, "Value=3")
    assert [request["max_divergences"] for _, request in core.asked] == [{"Value": 3}] * 3


def test_zero_is_all_on_both_sides(core, prlx):
    prlx("diff", "a", "b", "--limit", "0")
    package.diff_traces("a", "b", limit=None)
    prlx("cycles", "a", "--edit-percent", "0")
    assert [request.get("limit", request.get("edit_percent")) for _, request in core.asked] == [0, 0, 0]


def test_align_adds_the_correction_to_events(core):
    package.align_trace("a.pb", correction_stat=True, strict=True)
    assert core.request["correction_stat"] is True
    assert core.request["strict"] is True
