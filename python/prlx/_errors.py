"""The exceptions of prlx. Every one derives from ``PrlxError``, says where it happened and what to do, and has an exit code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import re

    from ._simulation import Finding


# Hints are written once, in flags, by the core and by what commands and functions share. Flags whose argument has another name:
_ARGUMENTS = {"map": "site_map", "remap-a": "site_map", "remap-b": "site_map_b"}
_SWITCHES = {
    "overwrite",
    "force",
    "strict",
    "cross-gpu",
    "values",
    "explain",
    "ignore-active-mask",
    "salvage",
    "skip-unreadable",
}
_SWITCHED_OFF = {"no-align": "apply_alignment"}  # flags that turn an argument off
_CHOICES = {
    "policy",
    "method",
    "format",
    "naming",
    "timebase",
    "nan",
    "device-clocks",
    "require",
}  # their value is part of the advice
_NO_ARGUMENT = {"session", "compat", "lookahead", "limit", "tui"}  # of the command line alone
_COMMAND_LINE = (
    r"(?:(?:prlx|nsys|rocpd) [a-z]+|rocprofv3)"
    r"(?: (?:--?[a-z][\w-]*(?:=[\w,]+)?|sqlite|rocpd|pftrace|csv|[A-Z]+\b|[\w.-]*[./\d][\w./-]*|%s))+"
)
_FLAG = r"(?<![\w-])--([a-z][a-z-]*)(?: ([A-Z]+=\S*[^\s,;)]|[^\s,;()]+\.[a-z]+|[a-z][\w-]*))?|(?<![\w-])-o\b"


def in_python(text: str) -> str:
    """Advice that names flags, with the arguments of functions in their place; whole command lines stay what they are."""
    if " -" not in text and not text.startswith("-") and "(-" not in text:
        return text
    import re  # importing prlx does not need it, an error does

    lines = [found.span() for found in re.finditer(_COMMAND_LINE, text) if " -" in found[0]]

    def argument(found: re.Match[str]) -> str:
        flag, value = found[1], found[2] or ""
        if flag in _NO_ARGUMENT or any(first <= found.start() < last for first, last in lines):
            return found[0]
        name = _ARGUMENTS.get(flag, flag.replace("-", "_")) if flag else "output"
        if value and (flag in _CHOICES or ("." in value and "=" not in value)):
            return f'{name}="{value}"'
        kept = f" {value}" if re.fullmatch(r"[a-z][\w-]*", value) else ""  # the sentence goes on
        if flag in _SWITCHED_OFF:
            return f"{_SWITCHED_OFF[flag]}=False{kept}"
        return f"{name}={'True' if flag in _SWITCHES else ''}{kept}"

    return re.sub(_FLAG, argument, text)


def said(texts: Iterable[str] | None) -> tuple[str, ...]:
    """Sentences of the core as a reader of Python has them: with arguments where they name flags."""
    return tuple(in_python(text) for text in texts or ())


class PrlxError(Exception):
    """Anything that prlx refuses or fails to do.

    ``str()`` is one or two lines: the place, what was found and expected, and what to do about it.

    Attributes
    ----------
    message
        What was found and what was expected, without the place.
    path
        The file concerned, or None.
    offset
        Byte offset in that file (decompressed), or None.
    line
        Line in that file, counted from 1, or None.
    hint
        What the user can do, in arguments of functions, or None.
    advice
        The same in flags of the command line, as it was written.
    exit_code
        With what the command line ends.

    Examples
    --------
    >>> try:
    ...     prlx.open("no-such-file.prlx")
    ... except prlx.PrlxError as error:
    ...     type(error).__name__, error.exit_code
    ('FileAccessError', 3)
    """

    exit_code: ClassVar[int] = 70

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        offset: int | None = None,
        line: int | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.path = path
        self.offset = offset
        self.line = line
        self.advice = hint

    @property
    def message(self) -> str:
        """What was found and expected, in arguments of functions, where the command line says it in flags."""
        return in_python(str(self.args[0]))

    @property
    def hint(self) -> str | None:
        """What the user can do, or None: in arguments of functions, where the command line says it in flags."""
        return None if self.advice is None else in_python(self.advice)

    def __str__(self) -> str:
        return self._told(self.message, self.hint)

    def on_command_line(self) -> str:
        """What ``str()`` says, with flags in place of arguments."""
        return self._told(str(self.args[0]), self.advice)

    def _told(self, message: str, hint: str | None) -> str:
        place = f"{self.path or 'line'}{':' if self.path else ' '}{self.line}" if self.line else self.path
        text = f"{place}: {message}" if place else message
        if self.offset is not None:
            text += f" (at byte {self.offset})"
        return f"{text}\n{hint}" if hint else text

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions pickle by their positional arguments, which would lose the place on the way back from a process pool.
        # ImportError keeps its path outside of __dict__.
        return type(self), (self.args[0],), {**self.__dict__, "path": self.path}


class UsageError(PrlxError, ValueError):
    """The request itself is wrong: an unknown option, a value that cannot be."""

    exit_code = 2


class TraceFormatError(PrlxError):
    """An input is not what it should be: truncated, corrupt, or of another format."""

    exit_code = 3


class FileAccessError(PrlxError, OSError):
    """The file system refused: missing, unreadable, already there, disk full."""

    exit_code = 3


class LimitError(PrlxError):
    """An input exceeds a limit, of the format or of the memory that was granted."""

    exit_code = 3


class IncompatibleTracesError(PrlxError):
    """The inputs do not belong together."""

    exit_code = 4


class AlignmentError(PrlxError):
    """The clocks cannot be aligned as asked."""

    exit_code = 4


class ArrayMemoryError(PrlxError, BufferError):
    """The memory of an array cannot be accessed: the file that it is mapped from became shorter, or a buffer is gone."""

    exit_code = 3


class SimulationError(PrlxError):
    """A kernel has something that the simulator does not execute; the message names it with its line."""

    exit_code = 3


class FindingError(PrlxError):
    """A check of the simulator found something, and the first finding was to stop the program.

    Attributes
    ----------
    finding
        What was found; None in an exception that came from another process.
    """

    exit_code = 1

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        offset: int | None = None,
        line: int | None = None,
        hint: str | None = None,
        finding: Finding | None = None,
    ) -> None:
        super().__init__(message, path=path, offset=offset, line=line, hint=hint)
        self.finding = finding


class NotAlignedWarning(UserWarning):
    """Traces were merged without aligning them, because nothing said how their clocks relate."""


class FindingWarning(UserWarning):
    """A check of the simulator found something in a launch, which went on."""


class PartialResultError(PrlxError):
    """Only a part of the result could be made, and that was not to pass."""

    exit_code = 5


class InconclusiveError(PrlxError, TypeError):
    """A result was asked whether it is true, and its verdict is ``inconclusive``: neither yes nor no would be right.

    Examples
    --------
    >>> from prlx import InconclusiveError
    >>> InconclusiveError.exit_code
    5
    """

    exit_code = 5


class CancelledError(PrlxError):
    """The job was cancelled before it finished."""

    exit_code = 130


class ForkedProcessError(PrlxError, RuntimeError):
    """This process was forked from one that had loaded the core, and the core does not survive a fork."""


class CoreUnavailableError(PrlxError, ImportError):
    """The core cannot be loaded: not built, or built for another version of the package."""


class InternalError(PrlxError):
    """A bug of prlx.

    Attributes
    ----------
    stack
        The stack of the core where it happened, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        offset: int | None = None,
        line: int | None = None,
        hint: str | None = None,
        stack: str | None = None,
    ) -> None:
        super().__init__(message, path=path, offset=offset, line=line, hint=hint)
        self.stack = stack


_BY_KIND: dict[str, type[PrlxError]] = {
    "usage": UsageError,
    "format": TraceFormatError,
    "io": FileAccessError,
    "limit": LimitError,
    "memory": ArrayMemoryError,
    "incompatible": IncompatibleTracesError,
    "alignment": AlignmentError,
    "partial": PartialResultError,
    "cancelled": CancelledError,
    "forked": ForkedProcessError,
    "unavailable": CoreUnavailableError,
}


def from_envelope(envelope: Mapping[str, Any]) -> PrlxError:
    """Make the exception that an error envelope of the core describes."""
    message = str(envelope.get("message", ""))
    path, offset, line, hint = (envelope.get(key) for key in ("path", "offset", "line", "hint"))
    kind = _BY_KIND.get(str(envelope.get("kind")))
    if kind is None:
        return InternalError(message, path=path, offset=offset, line=line, hint=hint, stack=envelope.get("stack"))
    return kind(message, path=path, offset=offset, line=line, hint=hint)


def to_envelope(error: BaseException) -> dict[str, Any]:
    """Describe an exception so that ``from_envelope`` makes it again, in another process."""
    if not isinstance(error, PrlxError):
        return {"kind": "internal", "message": f"{type(error).__name__}: {error}"}
    envelope: dict[str, Any] = {
        "kind": next((kind for kind, of in _BY_KIND.items() if type(error) is of), "internal"),
        "message": error.args[0],
        "path": error.path,
        "offset": error.offset,
        "line": error.line,
        "hint": error.advice,
        "stack": getattr(error, "stack", None),
    }
    return {key: value for key, value in envelope.items() if value is not None}
