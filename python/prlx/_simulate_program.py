"""A program on the simulator, with every process that it starts: what its launches did, gathered from their devices."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ._errors import UsageError
from ._launching import Options
from ._program import run_program
from ._result import Card
from ._simulated import COUNTS, PASSED_OVER, Run, save_page
from ._simulation import Finding, Simulation, percent, share
from ._units import format_count, plural
from ._verdict import Judged

if TYPE_CHECKING:
    import pandas

    from ._table import Table
    from ._target import Mode, Target

CHECKS = (
    "seed",
    "nan",
    "races",
    "global_races",
    "warp_races",
    "convergence",
    "counts",
    "max_findings",
    "max_instructions",
    "workers",
    "memory_limit",
)


Rest: TypeAlias = Literal["skip", "repeat"]
"""What becomes of launches that are not executed: nothing, or what an earlier one left that found the same."""

_LINES = (
    ("kernel", "string", ""),
    ("file", "string", ""),
    ("line", "int64", ""),
    ("instructions", "int64", ""),
    ("lane_instructions", "int64", ""),
    *((name, "int64", "bytes" if name == "global_bytes" else "") for name in COUNTS),
)
_SHOWN = 20  # rows of a card


@dataclass(frozen=True, repr=False)
class SimulatedRun(Judged):
    """What many launches did on the simulator, added up. The document is ``prlx.simulate/1``.

    Attributes
    ----------
    session
        The directory that their recordings are in; None where nothing was recorded.
    """

    session: Path | None = None
    seen: Run | None = field(default=None, repr=False, compare=False)

    @property
    def passed(self) -> bool:
        """Whether all ended well, every check ran, and none found anything."""
        return self.conclusion.outcome == "passed"

    @property
    def launches(self) -> int:
        """Launches that were executed or repeated."""
        return int(self.document["launches"])

    @property
    def instructions(self) -> int:
        """Instructions of warps."""
        return int(self.document["instructions"])

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What the checks found in kernels, and in what a program asked of its runtime."""
        return tuple(Finding.of(row) for row in self.document["findings"])

    @property
    def fidelity(self) -> Mapping[str, Mapping[str, Any]]:
        """How far the answer can be trusted, by kernel, as ``Simulation.fidelity`` of one launch."""
        return {kernel["kernel"]: kernel["fidelity"] for kernel in self.document["kernels"]}

    @cached_property
    def lines(self) -> Table:
        """One row a kernel and source line: instructions, branches, traffic, bank conflicts."""
        from ._rows import table

        rows = [{"kernel": one["kernel"], **row} for one in self.document["kernels"] for row in one["lines"]]
        return table(_LINES, rows)

    def to_pandas(self) -> pandas.DataFrame:
        """The lines as a ``pandas.DataFrame``.

        Examples
        --------
        >>> import sys
        >>> ran = prlx.simulate_program([sys.executable, "examples/ptx/driver.py"], capture_output=True)
        >>> int(ran.to_pandas()["instructions"].sum()) == ran.instructions
        True
        """
        return self.lines.to_pandas()

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the document (``.json``), or the page of the launches for a browser (``.html``).

        Parameters
        ----------
        path
            Where to; its ending decides the format.
        overwrite
            Replace a file that exists.

        Examples
        --------
        >>> import sys
        >>> ran = prlx.simulate_program([sys.executable, "examples/ptx/driver.py"], capture_output=True)
        >>> ran.save("driver.html").name
        'driver.html'
        """
        target = Path(path)
        if target.suffix != ".html" or self.seen is None:
            return super().save(target, overwrite=overwrite)
        save_page(pictured(self), target, overwrite=overwrite)
        return target

    def _card(self) -> Card:
        notes = [str(finding) for finding in self.findings[:_SHOWN]]
        rows = [
            (
                row["kernel"],
                format_count(row["launches"]),
                format_count(row["instructions"]),
                percent(share(row)),
                format_count(row["global_bytes"]),
            )
            for row in self.document["kernels"]
        ]
        sentence = f"{plural(self.launches, 'launch')}, {plural(self.instructions, 'warp instruction')}, "
        sentence += f"{self._ended()}{plural(len(self.findings), 'finding')}"
        return Card("Program", sentence, ("kernel", "launches", "instructions", "lanes", "bytes"), rows, notes)

    def _ended(self) -> str:
        return ""


@dataclass(frozen=True, repr=False)
class ProgramRun(SimulatedRun):
    """What a program did on the simulator, with every process that it started. The document is ``prlx.simulate/1``.

    Attributes
    ----------
    recordings
        The recordings of its launches, in their order.
    session
        The directory that they are in; None where nothing was recorded.
    stdout, stderr
        What it printed; None where that went where programs print.

    Examples
    --------
    >>> import sys
    >>> ran = prlx.simulate_program([sys.executable, "examples/ptx/driver.py"], capture_output=True)
    >>> ran.passed, ran.launches, ran.exit_code, ran.stdout.strip()
    (True, 1, 0, '[1.0, 3.0, 5.0]')
    """

    recordings: tuple[Path, ...] = ()
    stdout: str | None = field(default=None, repr=False, compare=False)
    stderr: str | None = field(default=None, repr=False, compare=False)

    @property
    def exit_code(self) -> int:
        """The program's, 128 more than the signal that ended it."""
        return int(self.document["exit_status"])

    def _ended(self) -> str:
        return f"exit code {self.exit_code}, "


def pictured(ran: SimulatedRun) -> Mapping[str, Any]:
    """The document with what only pages show."""
    if ran.seen is None:
        return ran.document
    return ran.seen.document(recording=ran.session, status=int(ran.document["exit_status"]), pictures=True)


def simulate_program(
    argv: Sequence[str | os.PathLike[str]],
    *,
    output: str | os.PathLike[str] | None = None,
    mode: Mode = "control-flow",
    stores: bool = False,
    atomics: bool = False,
    loads: bool = False,
    barriers: bool = False,
    events_per_warp: int | None = None,
    outputs: int | str | None = None,
    sources: bool | None = None,
    overwrite: bool = False,
    launches: int | None = None,
    rest: Rest = "skip",
    leaks: bool = False,
    uninitialised: bool = False,
    seed: int = 0,
    nan: bool = False,
    races: bool = True,
    global_races: bool = False,
    warp_races: bool = False,
    convergence: bool = True,
    counts: bool = True,
    max_findings: int = 1000,
    max_instructions: int | None = None,
    workers: int | None = None,
    memory_limit: int | str | None = None,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    capture_output: bool = False,
    stdout: int | None = None,
) -> ProgramRun:
    """Run a program on the simulator: one of CUDA, or any other that finds a CUDA driver. It is ``prlx simulate -- ARGV``.

    The program is not changed. Neither findings nor its exit code raise anything: they are in the result.

    Parameters
    ----------
    argv
        The program and its arguments.
    output
        Record every launch to this directory.
    mode, stores, atomics, loads, barriers, events_per_warp, outputs, sources, overwrite
        What is recorded, as for ``record``.
    launches
        Execute the first launches of each kernel in each process; None for all.
    rest
        What becomes of other launches. ``"skip"``: nothing, they are counted, and findings after them say so. ``"repeat"``: one
        that finds what an earlier one found (kernel, arguments, what memory holds) leaves what that one left, without being
        executed; without ``launches`` that holds for all, and the result is that of a whole run.
    leaks
        Memory that is there when a process ends is a finding.
    uninitialised
        Look for reads of what is in memory of ``cudaMalloc`` that nobody has written, in the first launch that it is passed to.
    seed, nan, races, global_races, warp_races, convergence, counts, max_findings, max_instructions
        What is checked, as for ``enable``.
    workers, memory_limit
        As for ``combine_traces``.
    cwd, env
        Where the program runs, and its environment; None for those of this process.
    capture_output
        Keep what it prints in the result.
    stdout
        A descriptor that takes the place of its standard output.

    Returns
    -------
    ProgramRun
        Its ``passed`` says whether nothing was found, ``exit_code`` with what the program ended.

    Raises
    ------
    FileAccessError
        There is no such program.
    UsageError
        An option is what it cannot be.

    Examples
    --------
    >>> import sys
    >>> ran = prlx.simulate_program([sys.executable, "examples/ptx/driver.py", "101"], capture_output=True)
    >>> ran.exit_code, ran.findings[0].check, ran.findings[0].place, ran.findings[0].who
    (1, 'out-of-bounds', 'saxpy.cu:6', 'block (0, 0, 0), warp 3, lane 4')
    """
    if isinstance(argv, (str, bytes)) or not argv:
        raise UsageError(f"argv is {argv!r}", hint='a program and its arguments, such as ["./a.out", "7"]')
    if rest not in ("skip", "repeat"):
        raise UsageError(f"rest: expected skip or repeat, got {rest!r}")
    if launches is not None and (isinstance(launches, bool) or not isinstance(launches, int) or launches < 1):
        raise UsageError(f"launches: expected a whole number above 0, got {launches!r}")
    if rest == "repeat" and output is not None:
        raise UsageError('rest="repeat" records nothing of launches that it repeats', hint="leave one of both out")
    if output is not None:
        from ._target import recorded_again

        seed = recorded_again(os.environ).get("seed", seed)
    options = Options(
        seed=seed, nan=nan, races=races, global_races=global_races, warp_races=warp_races, convergence=convergence,
        counts=counts, max_findings=max_findings, max_instructions=max_instructions, workers=workers,
        memory_limit=memory_limit,
    ).checked()  # fmt: skip
    target = None
    if output is not None:
        from ._record import extras
        from ._target import Target, asked_again

        held = extras(
            stores=stores, atomics=atomics, loads=loads, barriers=barriers, events_per_warp=events_per_warp, outputs=outputs,
            sources=sources,
        )  # fmt: skip
        asked, held = asked_again(mode, held)
        held.pop("inputs", None)  # of programs, arrays are not kept before a launch
        target = Target(output, mode=asked, filter="", overwrite=overwrite, extras=held, directory=False)
        if target.is_file:
            raise UsageError("a program makes a session", hint="name a directory")
    command = [os.fspath(word) for word in argv]
    with tempfile.TemporaryDirectory(prefix="prlx-run-") as folder:
        told = Path(folder) / "run.json"
        told.write_text(json.dumps(_run(Path(folder), options, target, launches or 0, rest, uninitialised)))
        streams: dict[str, Any] = {"environ": os.environ if env is None else env, "run": told, "cwd": cwd}
        status, said = _ran(command, streams | ({} if stdout is None else {"stdout": stdout}), capture_output)
        seen = _gathered(Path(folder), shown_name(command[0]), target, leaks)
        if status and not seen.launches:
            for library in binary_libraries(command[0]):
                seen.refuse(
                    library, "a library of machine code, which the simulator does not run (headers such as CUB do)"
                )
    if target is not None:
        target.close(partial=status != 0)
    made = () if target is None else tuple(target.path / str(row["file"]) for row in target.launches)
    session = None if target is None else target.path
    return ProgramRun(seen.document(recording=session, status=status), session, seen, made, *said)


def shown_name(program: str) -> str:
    """A program as documents call it: relative where it is below the current directory."""
    path = Path(program)
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_absolute() and path.is_relative_to(here) else program


_BINARY = re.compile(
    rb"\0(lib(?:cublas|cublasLt|cufft|cufftw|curand|cusparse|cusolver|cudnn|nccl|npp\w*|nvjpeg)\.so\.\d+)(?=\0)"
)
_MOST_READ = 1 << 26  # bytes of a program that are looked through for names of libraries


def binary_libraries(program: str) -> list[str]:
    """The libraries of NVIDIA that a program names and that come as machine code: they compute by kernels nobody can read."""
    try:
        with Path(shutil.which(program) or program).open("rb") as file:
            text = file.read(_MOST_READ)
    except OSError:
        return []
    return sorted({name.decode() for name in _BINARY.findall(text)})


def _ran(
    command: Sequence[str], streams: Mapping[str, Any], capture: bool
) -> tuple[int, tuple[str | None, str | None]]:
    """Run the program: its exit code, and what it printed where that is kept."""
    if not capture:
        return run_program(command, **streams), (None, None)
    with tempfile.TemporaryFile("w+b") as out, tempfile.TemporaryFile("w+b") as err:
        status = run_program(command, **{**streams, "stdout": out.fileno(), "stderr": err.fileno()})
        texts = []
        for kept in (out, err):
            kept.seek(0)
            texts.append(kept.read().decode("utf-8", errors="replace"))
    return status, (texts[0], texts[1])


def _run(
    folder: Path, options: Options, target: Target | None, most: int, rest: Rest, uninitialised: bool
) -> dict[str, Any]:
    """What devices are told of the run that they are part of."""
    checks = {name: getattr(options, name) for name in CHECKS if getattr(options, name) is not None}
    checks["uninitialised"] = uninitialised
    record, sources = None, False
    if target is not None:
        record = {**target.request, "path": str(target.path), "texts_beside": True}
        sources = bool(record.pop("sources", None))
        record["events_per_warp"] = record["events_per_warp"] or 0
    return {
        "folder": str(folder),
        "options": checks,
        "record": record,
        "only": None if target is None else target.only,
        "sources": sources,
        "most": most,
        "repeat": rest == "repeat",
    }


def _gathered(folder: Path, name: str, target: Target | None, leaks: bool) -> Run:
    """What the launches of all processes did."""
    seen = Run(name, noun="program")
    passed: dict[int, int] = {}  # launches that were passed over, by process
    for row in _journal(folder):
        _add(seen, row, target, leaks, passed)
    return seen


def _journal(folder: Path) -> Iterator[Mapping[str, Any]]:
    """The launches of all processes, in the order in which they began."""
    rows = []
    for path in folder.glob("*.jsonl"):
        with path.open("rb") as lines:
            rows += [json.loads(line) for line in lines if line.endswith(b"\n")]  # a killed device leaves half a line
    return iter(sorted(rows, key=lambda row: row["launch"]))


def _add(seen: Run, row: Mapping[str, Any], target: Target | None, leaks: bool, passed: dict[int, int]) -> None:
    """Add a launch, or what a program did wrong."""
    document, over = row["document"], passed.get(row["process"], 0)
    if row["outcome"] == "noted":
        if leaks or document["check"] != "leak":
            seen.note(_after({**document, **_line(document)}, over))
    elif row["outcome"] == "refused":
        hint = f" ({document['hint']})" if document.get("hint") else ""
        seen.refuse(row["kernel"], f"{document['message']}{hint}")
    elif row["outcome"] == "passed over":
        passed[row["process"]] = over + 1
        seen.refuse(row["kernel"], PASSED_OVER)
    else:
        simulation = Simulation({**document, "findings": [_after(found, over) for found in document["findings"]]})
        seen.add(simulation, repeated=row["outcome"] == "repeated")
        if target is not None and document["recording"] is not None:
            from ._simulator import row_of

            made = row_of(simulation)
            target.launches.append({"launch": row["launch"], **made, "file": Path(made["file"]).name})


def _after(found: Mapping[str, Any], over: int) -> Mapping[str, Any]:
    """A finding that says how many launches before it left memory as it was."""
    if not over:
        return found
    said = f"{found['message']}; {plural(over, 'launch')} before it {'was' if over == 1 else 'were'} passed over"
    return {**found, "message": said, "passed_over": over}


def _line(found: Mapping[str, Any]) -> dict[str, Any]:
    """Where a program did something: file and line, where it has them and binutils are there; else its function."""
    places = [place for place in found["places"] if place["object"] == found["places"][0]["object"]]
    for file, line in _frames(places):
        if line and Path(file).name not in _HEADERS:
            return {"file": file, "line": line}
    names = [place["function"] or Path(place["object"]).name for place in places[-1:]]
    return {"message": f"{found['message']} (in {names[0]})"} if names else {}


def _frames(places: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, int]]:
    """File and line, 0 where there is none, of each function that was entered, the innermost first.

    Not of what a compiler makes of ``<<<>>>``: a stub, and with nvcc a function of the kernel's name, which the stub's holds.
    """
    tool = shutil.which("addr2line")
    frames: list[tuple[str, str, int]] = []
    for place in places if tool is not None else ():
        words = [tool, "-f", "-i", "-e", place["object"], hex(place["offset"])]
        said = subprocess.run(words, capture_output=True, text=True, check=False).stdout.splitlines()
        for function, at in zip(said[::2], said[1::2], strict=False):
            file, _, number = at.split(" (discriminator")[0].rpartition(":")
            frames.append((function, file, int(number) if number.isdigit() else 0))
    stubs = [at for at, (function, _, _) in enumerate(frames) if "__device_stub_" in function]
    stub = frames[stubs[-1]][0] if stubs else ""
    for function, file, line in frames[stubs[-1] + 1 if stubs else 0 :]:
        if function not in stub:
            yield file, line


_HEADERS = frozenset({"cuda_runtime.h"})  # of which functions are called that have no others behind them
