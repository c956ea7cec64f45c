"""``prlx nccl watch``: looks at the recordings of a running job again and again, and says when it stops moving."""

from __future__ import annotations

import http.server
import json
import os
import re
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _config, _core, _request
from .._errors import PrlxError, UsageError
from .._verdict import EXIT_CODES
from ._render import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._ui import UI

INTERVAL_S = 3.0
STALL_S = 5.0
# Reading takes the longer the more there is: at most a third of the time goes into it.
_REST = 2
_STALLS = ("never-arrived", "ended", "unrecorded", "not-started", "deadlock", "stage", "stuck")
STALLED = EXIT_CODES["failed"]
INCONCLUSIVE = EXIT_CODES["inconclusive"]


def watch(
    inputs: Sequence[str],
    ui: UI,
    *,
    interval_s: float = INTERVAL_S,
    stall_s: float = STALL_S,
    prometheus: str | None = None,
    rounds: int | None = None,
    until_stall: bool = False,
) -> int:
    """Diagnose until all processes have ended, Ctrl-C, or as often as ``rounds`` says.

    The exit code is 1 if the job stands still at the end, 5 if the last look could not tell: nothing was read, or no
    operation is recorded.
    """
    if not inputs:
        raise UsageError("no directory given", hint="name the directory that PRLX_NCCL_DIR names in the job")
    meter = _meter(prometheus)
    said: str | None = None
    code = INCONCLUSIVE
    done = 0
    try:
        while True:
            begun = time.monotonic()
            found = _diagnosed(inputs, stall_s)
            code = _code(found)
            meter.show(metrics(found if isinstance(found, dict) else None, time.monotonic() - begun))
            said = _say(found, said, ui)
            done += 1
            over = isinstance(found, dict) and _over(found)
            if over or (code == STALLED and until_stall) or (rounds is not None and done >= rounds):
                return code
            time.sleep(max(interval_s, _REST * (time.monotonic() - begun)))
    except KeyboardInterrupt as stop:
        if type(stop) is not KeyboardInterrupt:
            raise
        return code
    finally:
        meter.close()


def _diagnosed(inputs: Sequence[str], stall_s: float) -> dict[str, Any] | str:
    """What holds the job up now, or why nobody can say."""
    asked = {
        "inputs": _request.paths(inputs),
        "probes": [],
        "stall_after": stall_s,
        **_request.limits(None, None, _config.load()),
    }
    try:
        return dict(_core.run("nccl_diagnose", asked))
    except PrlxError as error:
        return clean(str(error))


def _code(found: dict[str, Any] | str) -> int:
    return INCONCLUSIVE if isinstance(found, str) else EXIT_CODES[found["progress"]["outcome"]]


def _stalls(found: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The findings that say that the job does not move."""
    return [row for row in found["findings"] if row["class"] in _STALLS]


def _over(found: Mapping[str, Any]) -> bool:
    """Whether every process has ended."""
    recorded = [row for row in found["ranks"] if row["state"] != "unrecorded"]
    return bool(recorded) and all(row["state"] == "ended" for row in recorded)


def _say(found: dict[str, Any] | str, said: str | None, ui: UI) -> str:
    """Print what is new; return what was said last."""
    if isinstance(found, str):
        if found != said:
            ui.warn(found)
        return found
    if ui.json:
        ui.out.line(json.dumps(found, ensure_ascii=not ui.out.unicode))
        ui.out.file.flush()
        return str(found["verdict"])
    stalls = _stalls(found)
    verdict = str(stalls[0]["sentence"] if stalls else found["verdict"])
    key = (
        f"{stalls[0]['class']} {stalls[0]['operation']} {stalls[0]['sequence']}" if stalls else f"moving {_code(found)}"
    )
    if key != said:
        if not stalls:
            verdict = found["progress"]["why"]
        ui.show([f"{time.strftime('%H:%M:%S')}  {clean(verdict)}"])
        ui.out.file.flush()
    return key


_NAME = re.compile(r"[\\\n\"]")


def metrics(found: Mapping[str, Any] | None, took_s: float) -> str:
    """What was found as text for Prometheus; without a finding only that nothing could be read."""
    rows: list[tuple[str, str, str, list[tuple[dict[str, str], float]]]] = [
        ("prlx_nccl_up", "gauge", "Whether the recordings could be read.", [({}, float(found is not None))]),
        ("prlx_nccl_read_seconds", "gauge", "How long it took to read them.", [({}, round(took_s, 6))]),
    ]
    if found is not None:
        rows += list(_families(found))
    lines: list[str] = []
    for name, kind, says, samples in rows:
        lines += [f"# HELP {name} {says}", f"# TYPE {name} {kind}"]
        for labels, value in samples:
            inside = ",".join(f'{key}="{_NAME.sub(_escaped, text)}"' for key, text in labels.items())
            number = repr(value).removesuffix(".0")
            lines.append(f"{name}{{{inside}}} {number}" if inside else f"{name} {number}")
    return "\n".join(lines) + "\n"


def _escaped(match: re.Match[str]) -> str:
    return {"\\": "\\\\", "\n": "\\n", '"': '\\"'}[match[0]]


def _families(
    found: Mapping[str, Any],
) -> Iterator[tuple[str, str, str, list[tuple[dict[str, str], float]]]]:
    looked, stalls = found["looked"], _stalls(found)
    yield "prlx_nccl_stalled", "gauge", "Whether the job stands still.", [({}, float(bool(stalls)))]
    yield (
        "prlx_nccl_stalled_seconds",
        "gauge",
        "For how long it has not moved.",
        [({}, max((row["since_ns"] for row in stalls), default=0) / 1e9)],
    )
    yield (
        "prlx_nccl_finding",
        "gauge",
        "What is wrong, by class and rank.",
        [
            ({"class": kind, "rank": rank, "operation": operation}, 1.0)
            for kind, rank, operation in sorted(
                {(row["class"], rank, row["operation"]) for row in found["findings"] for rank in row["ranks"]}
            )
        ],
    )
    for name in ("operations", "complete", "unfinished", "unknown"):
        says = {
            "operations": "Operations that the recordings hold.",
            "complete": "Of these, those that all members were seen to finish.",
            "unfinished": "Of these, those that a member has not finished.",
            "unknown": "Of these, those of which it is not recorded whether they finished.",
        }[name]
        yield f"prlx_nccl_operations_{name}", "gauge", says, [({}, float(looked[name]))]
    ranks = found["ranks"]
    yield (
        "prlx_nccl_rank_silent_seconds",
        "gauge",
        "For how long nothing of a rank was heard.",
        [({"rank": row["id"], "host": row["host"], "state": row["state"]}, row["silent_ns"] / 1e9) for row in ranks],
    )
    yield (
        "prlx_nccl_records_lost",
        "gauge",
        "Callbacks that found no room.",
        [({"recording": Path(row["path"]).name}, float(row["lost"])) for row in found["recordings"]],
    )


class _Nowhere:
    """No metrics were asked for."""

    def show(self, text: str) -> None:
        """Leave it."""

    def close(self) -> None:
        """There is nothing to close."""


class _File(_Nowhere):
    """A file that is replaced as a whole, as a collector of text files wants it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.parent.is_dir():
            raise UsageError(f"{path.parent} is no directory")

    def show(self, text: str) -> None:
        """Replace the file."""
        new = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            new.write_text(text, encoding="utf-8")
            new.replace(self.path)
        except OSError as error:
            new.unlink(missing_ok=True)
            raise PrlxError(f"{self.path} cannot be written: {error.strerror}") from None


class _Port(_Nowhere):
    """A port of this machine that answers with the latest text."""

    def __init__(self, port: int) -> None:
        self.text = ""
        owner = self

        class Answer(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = owner.text.encode()
                self.send_response(200 if self.path in ("/", "/metrics") else 404)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing of each request."""

        try:
            self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Answer)
        except OSError as error:
            raise PrlxError(f"port {port} of this machine cannot be used: {error.strerror}") from None
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def show(self, text: str) -> None:
        """Answer with it from now on."""
        self.text = text

    def close(self) -> None:
        """Free the port."""
        self.server.shutdown()
        self.server.server_close()


def _meter(where: str | None) -> _Nowhere:
    """Where metrics go: a port, or a file."""
    if where is None:
        return _Nowhere()
    if where.isdecimal() and int(where) < 65536:
        return _Port(int(where))
    return _File(Path(_request.absolute(where)))
