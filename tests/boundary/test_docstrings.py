"""What docstrings name is there: attributes in their sections, and every word in double backticks."""

from __future__ import annotations

import ast
import builtins
import json
import keyword
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import prlx
from prlx._config import SETTINGS

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python/prlx"
MODULES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.glob("*.py"))}
CLASSES = {node.name: node for tree in MODULES.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
VARIABLES = {setting.env for setting in SETTINGS}
Function = (ast.FunctionDef, ast.AsyncFunctionDef)
NAMED = [pytest.param(node, id=name) for name, node in sorted(CLASSES.items())]


@cache
def members(name: str) -> frozenset[str]:
    """What an object of a class has: methods, fields, what its methods set, and all of that of its bases."""
    found: set[str] = set()
    node = CLASSES[name]
    for item in node.body:
        if isinstance(item, Function):
            found.add(item.name)
            stored = [
                one for one in ast.walk(item) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)
            ]
            found |= {one.attr for one in stored if isinstance(one.value, ast.Name) and one.value.id == "self"}
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            found.add(item.target.id)
        elif isinstance(item, ast.Assign):
            found |= {target.id for target in item.targets if isinstance(target, ast.Name)}
    bases = [base.id for base in node.bases if isinstance(base, ast.Name) and base.id in CLASSES]
    return frozenset(found.union(*(members(base) for base in bases)))


def attributes(docstring: str) -> list[str]:
    """The names of a section ``Attributes``."""
    _, _, section = docstring.partition("Attributes\n----------\n")
    section = re.split(r"^\w+\n-+$", section, flags=re.MULTILINE)[0]
    return [name for line in section.splitlines() if re.match(r"[a-z]\w*(, \w+)*$", line) for name in line.split(", ")]


@pytest.mark.parametrize("node", NAMED)
def test_attributes_that_a_class_lists_exist(node):
    assert not [name for name in attributes(ast.get_docstring(node) or "") if name not in members(node.name)]


@cache
def literals() -> frozenset[str]:
    """Every text that stands alone in the source: words that values of documents take, endings of files."""
    found = set()
    sources = [*PACKAGE.rglob("*.py"), *(ROOT / "hooks").rglob("*.py"), *(ROOT / "core").rglob("*.go")]
    for path in sorted([*sources, *(ROOT / "runtime").rglob("*.c")]):
        if not path.name.endswith("_test.go"):
            text = re.sub(r'"""(?s:.)*?"""', "", path.read_text(encoding="utf-8"))
            found |= set(re.findall(r'"([\w.-]+)"', text))
    return frozenset(found)


def keys(schema: Any, defs: dict[str, Any], met: frozenset[str] = frozenset()) -> set[str]:
    """Every key below a schema."""
    if isinstance(schema, list):
        return set().union(*(keys(one, defs, met) for one in schema))
    if not isinstance(schema, dict):
        return set()
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return set() if name in met else keys(defs[name], defs, met | {name})
    inside = [schema.get(word) for word in ("items", "additionalProperties", "anyOf")]
    below = schema.get("properties", {})
    return set(below).union(*(keys(one, defs, met) for one in (*inside, *below.values())))


@cache
def documented(field: str) -> frozenset[str]:
    """Every key below a field of any document."""
    found: set[str] = set()
    for path in sorted((ROOT / "docs/schemas").glob("*.schema.json")):
        schema = json.loads(path.read_text(encoding="utf-8"))
        if field in schema["properties"]:
            found |= keys(schema["properties"][field], schema.get("$defs", {}))
    return frozenset(found)


def field_of(node: ast.AST) -> str | None:
    """The field of the document that a property hands out as it is: ``return self.document["outputs"]``, or with ``get``."""
    body = ast.unparse(node.body[-1]) if isinstance(node, Function) and node.body else ""
    found = re.match(r"return self\.document(?:\.get\(|\[)'(\w+)'[])](?: or \{\})?$", body)
    return found[1] if found else None


def texts(node: ast.ClassDef | ast.Module) -> Iterator[tuple[str, str, set[str], str | None]]:
    """The docstrings of a class and of its methods: whose, the text, names that belong to it, a field of the document."""
    name = getattr(node, "name", "module")
    yield name, ast.get_docstring(node) or "", set(), None
    for item in node.body:
        if isinstance(item, Function):
            given = [*item.args.args, *item.args.kwonlyargs, item.args.vararg, item.args.kwarg]
            own = {one.arg for one in given if one is not None}
            yield f"{name}.{item.name}", ast.get_docstring(item) or "", own, field_of(item)


@pytest.mark.parametrize("node", [*NAMED, *(pytest.param(tree, id=path.name) for path, tree in MODULES.items())])
def test_names_in_backticks_exist(node):
    functions = {one.name for tree in MODULES.values() for one in tree.body if isinstance(one, Function)}
    everywhere = functions.union(
        *(members(name) for name in CLASSES), dir(prlx), dir(builtins), keyword.kwlist, VARIABLES
    )
    wrong = []
    for where, text, given, field in texts(node):
        own = given | (members(node.name) if isinstance(node, ast.ClassDef) else set())
        for span in re.findall(r"``([^`]+)``", text):
            words = re.findall(r"^\.?([A-Za-z]\w*)(?:\(\))?$", span)  # not ends of names: ``_aligned``
            if field and documented(field):
                known = documented(field) | own
                words = re.findall(r"\b[a-z_]\w+", span)
                wrong += [(where, word) for word in words if word not in known | {"None"}]
                continue
            known = everywhere | own | literals() | CLASSES.keys()
            wrong += [(where, span) for word in words if word not in known and span not in known]
            dotted = re.findall(r"\b([A-Z]\w+)\.([a-z_]\w*)", span)
            wrong += [(where, span) for name, word in dotted if name in CLASSES and word not in members(name)]
    assert not wrong
