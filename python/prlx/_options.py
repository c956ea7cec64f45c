"""Options, each written once: beside the field of the request in Go that takes it.

``make options`` writes ``_option_table`` and ``_option_types``, ``docs/options.md`` and the tables of commands' pages. From the
table come keyword arguments with their docstrings (``by_name``), flags with their help (``cli._options.of``), settings
(``_config``) and requests (``_request.of``).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeVar

from ._errors import in_python
from ._option_table import TABLE

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

    @property
    def sentence(self) -> str:
        """What it does as a line of help has it: without a capital letter and a full stop."""
        return self.help[:1].lower() + self.help[1:]

    @property
    def keyword_default(self) -> str | int | bool | None:
        """The default of the keyword argument; ``None`` where the setting decides."""
        return self.default if self.takes == "switch" or self.choices or not self.setting else None

    @property
    def left_out(self) -> str:
        """What holds when it is left out, in words; empty for a switch that is off."""
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


def by_name(operation: str) -> Callable[[F], F]:
    """Decorate a function that takes the options of an operation as ``**options``.

    Its signature then names each of them, with type and default, and so does its docstring in place of ``**options``.
    """

    def named(function: F) -> F:
        signature = inspect.signature(function)
        own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        first = [one for one in own if one.kind is not inspect.Parameter.KEYWORD_ONLY]
        options = [option.parameter for option in of(operation).values()]
        parameters = [*first, *options, *own[len(first) :]]
        function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        if function.__doc__:  # python -OO has none
            entries = "\n".join(option.docstring for option in of(operation).values())
            text = inspect.cleandoc(function.__doc__)
            function.__doc__ = re.sub(r"(?m)^\*\*options\n(?:    .*\n?)+", lambda _: entries + "\n", text)
        return function

    return named


def filled(operation: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Every option of an operation: as it was given, else its default.

    Raises
    ------
    TypeError
        Something that was given is not an option of the operation.
    """
    refuse_others(operation, given)
    return {name: given.get(name, option.keyword_default) for name, option in of(operation).items()}


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
