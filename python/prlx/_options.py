"""Options, each written once: beside the field of the request in Go that takes it.

``make options`` writes ``_option_table``, ``_option_types`` and ``_option_keywords``, ``docs/options.md`` and the tables of
commands' pages. From the table come keyword arguments with their docstrings (``by_name``), flags with their help
(``cli._options.of``), settings (``_config``) and requests (``_request.of``). Options that belong together have a class that
holds them: a function names one keyword argument for all of them, and takes each by its own name, too.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal, TypeVar

from ._errors import in_python
from ._option_table import GROUPS, TABLE

Takes = Literal[
    "switch", "text", "texts", "node", "seconds", "path", "paths", "inputs", "range", "whole", "number", "size", "names",
    "list", "recordings", "tolerance", "warps", "sites", "allowed",
]  # fmt: skip
F = TypeVar("F", bound=Callable[..., object])

_TYPES = {
    "switch": "bool",
    "text": "str",
    "texts": "Sequence[str | int]",
    "node": "str | int",
    "seconds": "float",
    "path": "AnyPath",
    "paths": "AnyPath | Iterable[AnyPath]",
    "inputs": "Inputs",
    "range": "str | TimeRange",
    "whole": "int",
    "number": "int",
    "size": "int | str",
    "names": "str | Iterable[str]",
    "list": "str | Iterable[str]",
    "recordings": "Recordings",
    "tolerance": "Tolerance",
    "warps": "Warps",
    "sites": "Sites",
    "allowed": "int | Mapping[str, int]",
}
_WIDTH = 116


@dataclass(frozen=True)
class Option:
    """One option of an operation.

    Attributes
    ----------
    help, details
        What it does: the first sentence, and those after it.
    default
        What is taken when it is left out; ``None`` leaves that to the core.
    unset
        The same in words, where ``default`` does not say it.
    setting
        The key of the setting that is taken when it is left out.
    also
        Another spelling of its flag.
    off, off_help
        The flag that turns it off, and what that does.
    rare
        Whether a long help only names it.
    group
        The keyword argument of the value that holds it, together with others.
    flagless
        Whether it is a keyword argument alone.
    """

    name: str
    takes: Takes
    help: str
    details: str = ""
    metavar: str = ""
    also: str = ""
    off: str = ""
    off_help: str = ""
    choices: tuple[str, ...] = ()
    default: str | int | bool | None = None
    unset: str = ""
    setting: str = ""
    rare: bool = False
    group: str = ""
    flagless: bool = False

    @property
    def field(self) -> str:
        """Its name in the value that holds it."""
        return "path" if self.group == self.name else self.name

    @property
    def sentence(self) -> str:
        """What it does as a line of help has it: without a capital letter and a full stop."""
        return self.help[:1].lower() + self.help[1:]

    @property
    def keyword_default(self) -> str | int | bool | None:
        """The default of the keyword argument; ``None`` where the setting decides."""
        if self.takes == "switch":
            return None if self.unset else self.default
        return self.default if self.choices or not self.setting else None

    @property
    def left_out(self) -> str:
        """What holds when it is left out, in words; empty for a switch that is off."""
        if self.off_help:
            return ""
        return self.unset or ("" if self.default in (None, 0) or self.takes == "switch" else str(self.default))

    @property
    def parameter(self) -> inspect.Parameter:
        """The keyword argument."""
        kind = _TYPES[self.takes] + ("" if self.keyword_default is not None else " | None")
        return inspect.Parameter(
            self.name, inspect.Parameter.KEYWORD_ONLY, default=self.keyword_default, annotation=kind
        )

    @property
    def docstring(self) -> str:
        """Its entry among the parameters of a docstring."""
        import textwrap

        text = f"{self.help}. {self.details}".strip()
        text += f" ``False``: {self.off_help}." if self.off_help else ""
        if self.setting and self.keyword_default is None:
            text += f" Left out, the setting ``{self.setting}`` decides"
            text += f", else {self.left_out}." if self.left_out else "."
        elif self.keyword_default is None and self.left_out:
            text += f" Left out: {self.left_out}."
        text = re.sub(r"(?<!`)`([^`]+)`(?!`)", lambda found: f"``{in_python(found[1])}``", text)
        return f"{self.name}\n" + textwrap.indent(textwrap.fill(text, _WIDTH, break_on_hyphens=False), "    ")


@cache
def of(operation: str) -> Mapping[str, Option]:
    """The options of an operation by name."""
    return {row["name"]: Option(**row) for row in TABLE[operation]["options"]}


def groups(operation: str) -> Mapping[str, Sequence[Option]]:
    """The options of an operation that values hold, by the keyword argument of the value."""
    held: dict[str, list[Option]] = {}
    for option in of(operation).values() if TABLE[operation]["command"] else ():
        if option.group:
            held.setdefault(option.group, []).append(option)
    return held


def held_by(key: str) -> type:
    """The class of the value that is given as a keyword argument. Most runs need none of them."""
    from . import _option_types

    found: type = getattr(_option_types, GROUPS[key][0])
    return found


def by_name(operation: str) -> Callable[[F], F]:
    """Decorate a function that takes the options of an operation as ``**options``.

    Its signature then names each of them, with type and default, or the value that holds it, and so does its docstring in place
    of ``**options``. ``accepts`` has the names of all.
    """
    held = groups(operation)
    alone = [option for option in of(operation).values() if option.group not in held]

    def named(function: F) -> F:
        signature = inspect.signature(function)
        own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        first = [one for one in own if one.kind is not inspect.Parameter.KEYWORD_ONLY]
        values = [_value(key, options) for key, options in held.items()]
        parameters = [*first, *values, *(option.parameter for option in alone), *own[len(first) :]]
        function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        function.accepts = frozenset(of(operation))  # type: ignore[attr-defined]
        if function.__doc__:  # python -OO has none
            entries = [_value_docstring(key, options) for key, options in held.items()]
            entries += [option.docstring for option in alone]
            text = inspect.cleandoc(function.__doc__)
            entry = "\n".join(entries) + "\n"
            function.__doc__ = re.sub(r"(?m)^\*\*options\n(?:    .*\n?)+", lambda _: entry, text)
        return function

    return named


def _value(key: str, options: Sequence[Option]) -> inspect.Parameter:
    """The keyword argument of a value that holds options."""
    kind = GROUPS[key][0] + " | None"
    if any(option.name == key for option in options):
        kind = "AnyPath | " + kind
    return inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)


def _value_docstring(key: str, options: Sequence[Option]) -> str:
    import textwrap

    kind, head = GROUPS[key]
    if any(option.name == key for option in options):
        head = f"A path, or an ``{kind}``: w{head[1:]}"
    text = f"{head} Its fields are keyword arguments of their own, too: "
    text += ", ".join(f"``{option.name}``" for option in options if option.name != key) + "."
    return f"{key}\n" + textwrap.indent(textwrap.fill(text, _WIDTH, break_on_hyphens=False), "    ")


def filled(operation: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Every option of an operation: as it was given, by name or in a value that holds several, else its default.

    Raises
    ------
    TypeError
        Something that was given is not an option of the operation, or was given twice.
    """
    given = _spread(operation, given)
    refuse_others(operation, given)
    return {name: given.get(name, option.keyword_default) for name, option in of(operation).items()}


def _spread(operation: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """What was given, with the fields of values in their place."""
    found = dict(given)
    held = groups(operation)
    for key in [key for key in held if key in given]:
        kind, function = held_by(key), TABLE[operation]["function"]
        if not isinstance(given[key], kind):
            if key in of(operation):
                continue
            if given[key] is not None:
                raise TypeError(f"{function}(): {key} is {given[key]!r}, expected a prlx.{kind.__name__}")
        value = found.pop(key)
        if value is None:
            continue
        known = {option.field: option.name for option in held[key]}
        for field in fields(value):
            said = getattr(value, field.name)
            if said == field.default:
                continue
            if field.name not in known:
                raise TypeError(f"{function}() has no {field.name!r}, which {type(value).__name__} names")
            if known[field.name] in found:
                raise TypeError(f"{function}() got {field.name!r} twice: by name and in {key!r}")
            found[known[field.name]] = said
    return found


def refuse_others(operation: str, given: Mapping[str, Any]) -> None:
    """Refuse a keyword argument that is not an option of the operation, as Python refuses others.

    Raises
    ------
    TypeError
        With the name that is nearest.
    """
    for name in given:
        if name not in of(operation):
            import difflib  # only for mistakes

            near = difflib.get_close_matches(name, of(operation), n=1, cutoff=0.6)
            meant = f". Did you mean {near[0]!r}?" if near else ""
            function = TABLE[operation]["function"]
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{meant}")
