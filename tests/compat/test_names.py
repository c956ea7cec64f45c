"""The list of names of earlier tools: each works here, is an alias, or stands in docs/compat.md beside what is used instead."""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import prlx
from prlx import _config, _former, _kernel_events, _kernel_trace
from prlx._errors import UsageError
from prlx.cli import _parser, _table, main
from prlx.cli._command import Command
from prlx.cli.align import XPROF
from prlx.cli.diff import BINARY, prlx_diff_main

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/compat.md").read_text(encoding="utf-8")
ORIGINAL = ROOT / "build/oracle/prlx"
CLASSES = {
    "TraceData": _kernel_trace.KernelTrace,
    "TraceHeader": _kernel_events.KernelHeader,
    "WarpData": _kernel_trace.WarpTrace,
}

NAMES = [
    tuple(line.split(maxsplit=2))
    for line in (Path(__file__).parent / "names.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
LISTED = {(kind, name) for kind, name, _ in NAMES}


def rows() -> Iterator[tuple[str, str]]:
    """The tables of the page, without its last part: what is named on the left, what is used instead on the right."""
    tables, _, _ = PAGE.partition("\n## What `--compat` reproduces")
    for line in tables.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 2 and not set(cells[0]) <= {"-"}:
            yield cells[0], cells[1]


def stands_on_the_page(name: str) -> bool:
    """Whether a row names it, on the left or among the names that a module has, and has something on the right."""
    return any((f"`{name}`" in left and right) or f"`{name}`" in right for left, right in rows())


def options(command: Command) -> set[str]:
    """What the command takes and does not refuse."""
    return {flag for option in command.options if not option.refused for flag in option.flags} | set(
        _parser.spellings(command)
    )


def command_of(words: list[str]) -> Command | None:
    """The command of these words; of two, the second is one of the words that it takes."""
    name, rest = _table.today(words[0], words[1:])
    words = [name, *rest]
    if words[0] not in _table.COMMANDS:
        return None
    command = _table.load(words[0])
    return command if words[1:] == [] or set(words[1:]) <= set(command.positionals[0].choices) else None


def arguments(function: Callable[..., object]) -> set[str]:
    """What a function takes: what its signature lists, and the single options that its values hold."""
    return {*inspect.signature(function).parameters, *getattr(function, "accepts", ())}


def works(kind: str, name: str) -> bool:
    """Whether a name of this kind can be used here."""
    if kind == "python":
        return name in prlx.__all__ and hasattr(prlx, name)
    if kind == "attribute":
        owner, _, attribute = name.partition(".")
        known = CLASSES[owner]
        return hasattr(known, attribute) or attribute in known.__dict__.get("__annotations__", {})
    if kind == "argument":
        function, _, argument = name.rstrip(")").partition("(")
        return argument in arguments(getattr(prlx, function))
    if kind == "command":
        return command_of(name.split(".")) is not None
    if kind == "option":
        words, _, flag = name.rpartition(".")
        command = command_of(words.split("."))
        return command is not None and flag in options(command)
    if kind == "prlx-diff":
        return name in options(BINARY) | {"-V", "--version"}
    if kind == "variable":
        return name in _config.OTHER_VARIABLES
    assert kind == "xprof_trace_align", kind
    return name in options(XPROF)


def spelled(kind: str, name: str) -> str:
    """A name as the page writes it."""
    if kind == "command":
        return "prlx " + name.replace(".", " ")
    if kind == "module":
        return name.partition(".")[2]
    if kind == "argument":
        return name if stands_on_the_page(name) else re.findall(r"\w+", name)[-1]
    return name.rpartition(".")[2] if kind == "option" else name


@pytest.mark.parametrize(("kind", "name", "how"), NAMES, ids=[f"{kind} {name}" for kind, name, _ in NAMES])
def test_a_name_works_or_the_page_says_what_is_used_instead(kind, name, how):
    if kind == "question":
        assert any(left.startswith(f"`{name}` {how}:") and right for left, right in rows())
    elif how == "same":
        assert works(kind, name), f"{kind} {name} does not work"
    elif how.startswith("="):
        assert getattr(prlx, name) is getattr(prlx, how[1:])
    elif how.startswith("page "):
        page = (ROOT / "docs" / how.removeprefix("page ")).read_text(encoding="utf-8")
        assert re.search(rf"(?<![\w/-]){re.escape(name)}(?![\w-])", page), f"{how} does not name {name}"
    elif kind == "schema":
        schema = json.loads((ROOT / f"docs/schemas/{how}.schema.json").read_text(encoding="utf-8"))
        assert name in schema["properties"]
    else:
        assert how == "replaced", f"{kind} {name}: {how}"
        assert stands_on_the_page(spelled(kind, name)), f"docs/compat.md does not say what is used instead of {name}"


def test_what_is_replaced_does_not_work_under_its_name():
    """Whoever makes such a name work says so in the list; and a flag that is replaced has a row of its command."""
    for kind, name, how in NAMES:
        if how == "replaced" and kind in ("python", "command", "option", "prlx-diff"):
            assert not works(kind, name), f"{kind} {name} works"
        if how == "replaced" and kind == "option":
            words, _, flag = name.rpartition(".")
            prefix = "`prlx " + words.replace(".", " ")
            assert any(left.startswith(prefix) and flag in left for left, _ in rows()), f"{name} has no row"


def test_no_name_is_listed_twice():
    assert [
        key
        for key, count in Counter((kind, name, how if kind == "question" else "") for kind, name, how in NAMES).items()
        if count > 1
    ] == []


def test_what_the_page_recommends_exists():
    wrong = []
    for _, right in rows():
        for span in re.findall(r"`([^`]+)`", right):
            if match := re.match(r"prlx\.(\w+)", span):
                wrong += [] if match[1] in prlx.__all__ else [span]
                if given_to := re.findall(r"(\w+)=", span):
                    known = arguments(getattr(prlx, match[1]))
                    wrong += [f"{span}: {one}" for one in given_to if one not in known]
            elif span.startswith("prlx "):
                words = span.split()[1:]
                command = command_of(words[:1])
                given = {word for word in words if word.startswith("-")}
                wrong += [span] if command is None or given - options(command) else []
    assert wrong == []


# What the package itself says.


@pytest.mark.parametrize("name", _former.NAMES)
def test_a_name_that_is_gone_names_what_is_used_instead(name):
    assert ("python", name) in LISTED
    with pytest.raises(AttributeError, match=re.escape(_former.NAMES[name])):
        getattr(prlx, name)


@pytest.mark.parametrize("name", _former.MODULES)
def test_a_module_that_is_gone_names_the_page(name):
    with pytest.raises(AttributeError, match=r"docs/compat\.md"):
        getattr(prlx, name)


def test_an_unknown_name_is_a_plain_error():
    with pytest.raises(AttributeError, match=r"^module 'prlx' has no attribute 'enable_pytorhc'$"):
        _ = prlx.enable_pytorhc


@pytest.mark.parametrize("name", _former.COMMANDS)
def test_a_command_that_is_gone_says_what_to_do(name, capsys):
    assert ("command", name) in LISTED
    assert main([name, "x"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert _former.COMMANDS[name] in said.err


def test_words_of_the_package_name_commands_that_exist():
    for text in (*_former.NAMES.values(), *_former.COMMANDS.values(), *_former.VARIABLES.values()):
        for name in re.findall(r"\bprlx\.(\w+)", text):
            assert name in prlx.__all__, text
        for name in re.findall(r"\bprlx ([a-z]\w*)", text):
            assert name in _table.COMMANDS or f"this prlx {name}" in text, text


@pytest.mark.parametrize("name", [name for kind, name, how in NAMES if (kind, how) == ("variable", "replaced")])
def test_a_variable_that_has_no_effect_says_so(name):
    (warning,) = _config.load(environ={name: "1"}).warnings
    assert warning == f"{name} is set, but has no effect: {_former.VARIABLES[name]}"


def test_variables_are_those_of_the_list():
    assert {name for kind, name, how in NAMES if (kind, how) == ("variable", "replaced")} == set(_former.VARIABLES)
    assert not set(_former.VARIABLES) & {setting.env for setting in _config.SETTINGS}


def test_commands_warn_of_variables(monkeypatch, capsys):
    monkeypatch.setenv("PRLX_HOME", "a")
    assert main(["version"]) == 0
    assert "PRLX_HOME is set, but has no effect" in capsys.readouterr().err


# The program prlx-diff.


def test_prlx_diff_prints_the_document_of_the_original(tmp_path, capsys):
    pair = []
    for name in ("a", "b"):
        pair.append(str(tmp_path / f"{name}.v1.prlx"))
        assert main(["convert", str(ROOT / "examples/two_runs" / f"{name}.prlx"), "--to", "v1", "-o", pair[-1]]) == 0
    capsys.readouterr()
    code = main(["diff", *pair, "--compat"])
    theirs = capsys.readouterr().out
    assert json.loads(theirs)["status"]
    assert prlx_diff_main([*pair, "--json"]) == code
    assert capsys.readouterr().out == theirs
    assert prlx_diff_main(pair) == code
    assert not capsys.readouterr().out.startswith("{")
    assert prlx_diff_main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("prlx ")
    assert prlx_diff_main([]) == 2
    assert "prlx-diff: error" in capsys.readouterr().err


# The original itself, where it is installed: nothing of it is missing in the list.


@pytest.fixture(scope="module")
def original() -> Path:
    if not (ORIGINAL / "__init__.py").is_file():
        pytest.skip("original prlx 0.5 is not installed: make build/oracle/.ready")
    return ORIGINAL


def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def defined(module: ast.Module) -> Iterator[str]:
    """The public names that a module defines."""
    for node in module.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                yield from (name.id for name in ast.walk(target) if isinstance(name, ast.Name))


def public(names: Iterator[str]) -> set[str]:
    return {name for name in names if not name.startswith("_") and name != "logger"}


def test_every_name_of_the_package_is_listed(original):
    package = tree(original / "__init__.py")
    imported = (
        alias.name for node in package.body if isinstance(node, ast.ImportFrom) and node.level for alias in node.names
    )
    assert {("python", name) for name in public(iter([*defined(package), *imported]))} - LISTED == set()


def test_every_public_module_is_listed(original):
    inner = {"__init__", "cli"}
    modules = {file.stem for file in original.glob("*.py") if not file.stem.startswith("_")} - inner
    assert modules == set(_former.MODULES)
    for module in modules:
        found = public(defined(tree(original / f"{module}.py")))
        assert {("module", f"{module}.{name}") for name in found} - LISTED == set()


def test_every_attribute_of_a_recording_is_listed(original):
    for node in tree(original / "trace_reader.py").body:
        if not isinstance(node, ast.ClassDef):
            continue
        for member in node.body:
            name, is_method = "", False
            if isinstance(member, ast.FunctionDef):
                name, is_method = member.name, not member.decorator_list
            elif isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
                name = member.target.id
            if not name or name.startswith("_"):
                continue
            assert ("attribute", f"{node.name}.{name}") in LISTED
            if ("attribute", f"{node.name}.{name}", "same") in NAMES:
                here = CLASSES[node.name].__dict__.get(name)
                assert callable(here) == is_method, (
                    f"{node.name}.{name} is called there or here, and not on the other side"
                )


def test_every_variable_is_listed(original):
    """Those that Python reads, and those in the binaries that are shipped."""
    found = set()
    for file in original.glob("*.py"):
        found |= set(re.findall(r"""environ(?:\.get)?[\[(]\s*["'](PRLX_\w+)""", file.read_text(encoding="utf-8")))
        found |= set(re.findall(r"""env\[["'](PRLX_\w+)""", file.read_text(encoding="utf-8")))
    library = original / "data/lib"
    for file in (library / "libprlx_runtime_shared.so", *library.glob("libPrlxPass.*.so")):
        texts = re.findall(rb"(?<![\w])PRLX_[A-Z_]+(?=\x00)", file.read_bytes())
        found |= {text.decode() for text in texts}
    assert {("variable", name) for name in found - _config.OTHER_VARIABLES} - LISTED == set()


def test_every_command_and_flag_is_listed(original):
    """By the parsers that its command line builds: a variable of the source stands for each."""
    parsers: dict[str, str] = {}
    found: set[tuple[str, str]] = set()
    names = {"subparsers": "", "session_subs": "session.", "pytorch_subs": "pytorch."}
    for node in ast.walk(tree(original / "cli.py")):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and isinstance(node.targets[0], ast.Name):
            call = node.value
            if isinstance(call.func, ast.Attribute) and call.func.attr == "add_parser":
                parent, first = call.func.value, call.args[0]
                assert isinstance(parent, ast.Name)
                assert isinstance(first, ast.Constant)
                parsers[node.targets[0].id] = names[parent.id] + str(first.value)
    for node in ast.walk(tree(original / "cli.py")):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            owner = node.func.value
            assert isinstance(owner, ast.Name)
            flags = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and str(arg.value).startswith("-")]
            found |= {("option", f"{parsers[owner.id]}.{flag}") for flag in flags if owner.id in parsers}
    found |= {("command", name) for name in parsers.values()}
    assert len(parsers) >= 15
    assert found - LISTED == set()


def test_every_flag_of_the_program_is_listed(original):
    program = Path(os.environ.get("PRLX_ORACLE", original / "data/bin/prlx-diff"))
    text = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    flags = {
        flag for line in re.findall(r"^\s+(-.*)$", text, re.MULTILINE) for flag in re.findall(r"(?<!\S)--?[\w-]+", line)
    }
    assert {("prlx-diff", flag) for flag in flags if not re.search(r"\d", flag)} - LISTED == set()


def test_an_unknown_command_is_refused_as_before():
    with pytest.raises(UsageError, match="did you mean diff"):
        _table.load("dif")
