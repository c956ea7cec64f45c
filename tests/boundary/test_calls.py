"""Calls and jobs: documents, errors, progress, cancelling, limits; and that no failure takes the process along."""

from __future__ import annotations

import _thread
import gc
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import prlx
from prlx import _core

from .conftest import Python

FOREVER_MS = 3_600_000  # what sleeps so long ends because it is cancelled
HANG_S = (
    600.0  # of waiting: the time that prlx promises is measured by bench/contracts.py, on a machine that is not busy
)


def test_documents_cross_whole() -> None:
    request = {"text": "größer ☃ \u2028 <&>", "numbers": [0, -1, 2**62, 0.5], "nested": {"a": [True, None, ""]}}
    assert _core.call("debug.echo", request) == request
    assert _core.run("debug.echo", request) == request


@pytest.mark.parametrize("size", [0, 1, 65_500, 65_536, 65_537, 3_000_000])
def test_documents_of_any_size_cross(size: int) -> None:
    assert _core.call("debug.echo", {"text": "x" * size}) == {"text": "x" * size}
    assert _core.run("debug.echo", {"text": "x" * size}) == {"text": "x" * size}


def test_none_in_a_request_is_absent() -> None:
    assert _core.call("debug.echo", {"a": None, "b": 0}) == {"b": 0}


def test_text_that_is_not_unicode_is_a_usage_error() -> None:
    with pytest.raises(prlx.UsageError, match="not valid Unicode"):
        _core.call("debug.echo", {"path": os.fsdecode(b"/traces/\xff.json")})


@pytest.mark.parametrize(
    ("kind", "exception", "code"),
    [
        ("usage", prlx.UsageError, 2),
        ("format", prlx.TraceFormatError, 3),
        ("io", prlx.FileAccessError, 3),
        ("limit", prlx.LimitError, 3),
        ("memory", prlx.ArrayMemoryError, 3),
        ("incompatible", prlx.IncompatibleTracesError, 4),
        ("alignment", prlx.AlignmentError, 4),
        ("partial", prlx.PartialResultError, 5),
        ("cancelled", prlx.CancelledError, 130),
        ("internal", prlx.InternalError, 70),
    ],
)
def test_every_kind_of_error_has_its_exception(kind: str, exception: type[prlx.PrlxError], code: int) -> None:
    envelope = {"kind": kind, "message": "bad length", "path": "/t/a.pb", "offset": 17, "hint": "cut it"}
    for ask in (_core.call, _core.run):
        with pytest.raises(prlx.PrlxError) as caught:
            ask("debug.error", envelope)
        error = caught.value
        assert type(error) is exception
        assert (error.path, error.offset, error.line, error.hint) == ("/t/a.pb", 17, None, "cut it")
        assert str(error) == "/t/a.pb: debug: bad length (at byte 17)\ncut it"
        assert error.exit_code == code


def test_place_in_a_text_file_is_a_line() -> None:
    with pytest.raises(prlx.TraceFormatError) as caught:
        _core.call("debug.error", {"kind": "format", "message": "no number", "path": "/t/a.jsonl", "line": 3})
    assert caught.value.line == 3
    assert str(caught.value) == "/t/a.jsonl:3: debug: no number"


@pytest.mark.parametrize("exception", [prlx.TraceFormatError, prlx.FileAccessError, prlx.CoreUnavailableError])
def test_exceptions_survive_pickling(exception: type[prlx.PrlxError]) -> None:
    error = exception("bad", path="/t/a", offset=3, hint="do")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is exception
    assert (str(again), again.path, again.offset, again.hint) == (str(error), "/t/a", 3, "do")


@pytest.mark.parametrize("operation", ["debug.panic", "debug.goroutine_panic"])
@pytest.mark.parametrize("ask", [_core.call, _core.run])
def test_panic_is_an_internal_error_with_the_stack_of_the_core(ask: Callable[[str], object], operation: str) -> None:
    with pytest.raises(prlx.InternalError, match="panic: ") as caught:
        ask(operation)
    assert "goroutine" in (caught.value.stack or "")
    assert "report it" in (caught.value.hint or "")
    assert _core.call("version")["core"] == prlx.__version__


def test_wrong_addresses_are_refused() -> None:
    from prlx import _prlx

    assert _prlx.pybind_Call("version", 0, 0, 4096, 1 << 20) == 0
    assert _prlx.pybind_Call("version", 0, 0, 0, 100) == 0
    assert _prlx.pybind_Fetch(1 << 40, 4096, 100) == 0
    assert _core.call("version")["core"] == prlx.__version__


def test_progress_names_the_stage_and_counts_up() -> None:
    seen: list[tuple[str, int, int]] = []
    _core.run("debug.sleep", {"ms": 300}, progress=lambda *state: seen.append(state))
    assert {(stage, total) for stage, _, total in seen if stage} == {("sleep", 300)}
    counts = [done for _, done, _ in seen]
    assert counts == sorted(counts)
    assert len(seen) >= 3


def test_exception_of_the_progress_callback_cancels_the_job() -> None:
    def refuse(*_state: object) -> None:
        raise ZeroDivisionError

    begin = time.monotonic()
    with pytest.raises(ZeroDivisionError):
        _core.run("debug.sleep", {"ms": FOREVER_MS}, progress=refuse)
    assert time.monotonic() - begin < HANG_S


def test_cancelled_job_raises() -> None:
    job = _core.start("debug.sleep", {"ms": 60_000})
    assert not job.wait(0.02)
    job.cancel()
    with pytest.raises(prlx.CancelledError):
        job.result()


def test_result_is_collected_once() -> None:
    job = _core.start("version")
    assert job.result()["core"] == prlx.__version__
    with pytest.raises(prlx.InternalError, match="already collected"):
        job.result()
    job.close()


def test_dropped_job_is_cancelled() -> None:
    from prlx import _prlx

    job = _core.start("debug.sleep", {"ms": 60_000})
    number = job._id()
    del job
    gc.collect()
    assert _prlx.pybind_Cancel(number, False) == 0, "the core still knows the job"


@pytest.mark.parametrize("deaf", [False, True], ids=["listening", "deaf"])
def test_ctrl_c_comes_back(deaf: bool) -> None:
    _core.call("version")
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        _core.run("debug.sleep", {"ms": FOREVER_MS, "deaf": deaf})
    assert time.monotonic() - begin < HANG_S


def test_ctrl_c_while_waiting_for_a_result() -> None:
    job = _core.start("debug.sleep", {"ms": FOREVER_MS})
    threading.Timer(0.1, _thread.interrupt_main).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        job.result()
    assert time.monotonic() - begin < HANG_S


def test_limits_of_a_request_hold_for_its_job() -> None:
    limits = _core.run("debug.limits", {"workers": 3, "memory_limit": "256MiB"})
    assert limits["workers"] == 3
    assert limits["budget"] == 192 << 20
    assert limits["collector_limit"] == 256 << 20


def test_default_memory_limit_is_half_of_what_is_granted() -> None:
    configured = _core.configure()
    meminfo = Path("/proc/meminfo").read_text().splitlines()
    total = int(next(line for line in meminfo if line.startswith("MemTotal")).split()[1]) << 10
    assert 0 < configured["memory_limit"] <= total // 2
    assert configured["memory_source"] in ("cgroup v1", "cgroup v2", "machine")
    assert _core.run("debug.limits")["collector_limit"] == configured["memory_limit"]


def test_memory_limit_is_kept_or_refused() -> None:
    try:
        _core.configure(memory_limit="64MiB")
        with pytest.raises(prlx.LimitError, match="needs 100000000 bytes"):
            _core.run("debug.allocate", {"bytes": 100_000_000})
        assert _core.run("debug.allocate", {"bytes": 10_000_000}) == {"bytes": 10_000_000}
        with pytest.raises(prlx.UsageError, match="expected at least"):
            _core.configure(memory_limit=5)
    finally:
        _core.configure()


def test_threads_call_side_by_side() -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for i in range(200):
                assert _core.call("debug.echo", {"n": number, "i": i}) == {"n": number, "i": i}
            assert _core.run("debug.echo", {"n": number}) == {"n": number}
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_jobs_run_side_by_side() -> None:
    jobs = [_core.start("debug.sleep", {"ms": FOREVER_MS}) for _ in range(8)]
    while any(job.progress()[0] != "sleep" for job in jobs):
        time.sleep(0.01)  # each says that it runs while none has ended
    for job in jobs:
        job.cancel()
        with pytest.raises(prlx.CancelledError):
            job.result()


def test_waiting_leaves_other_threads_running() -> None:
    thread = threading.Thread(target=_core.run, args=("debug.sleep", {"ms": 300}))
    thread.start()
    rounds = 0
    while thread.is_alive():
        rounds += 1
        time.sleep(0.001)
    thread.join()
    assert rounds > 30


def test_threads_may_load_the_core_at_once(python: Python) -> None:
    got = python(
        "import threading\n"
        "from prlx import _core\n"
        "got = []\n"
        "threads = [threading.Thread(target=lambda: got.append(_core.run('debug.echo', {'a': 1}))) for _ in range(8)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
        "show(got)"
    )
    assert got == [{"a": 1}] * 8


def test_memory_stays_flat_over_many_calls() -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def calls(n: int) -> None:
        for _ in range(n):
            _core.call("debug.echo", {"text": "x" * 100})
            with pytest.raises(prlx.UsageError):
                _core.call("no.such")

    calls(3000)
    before = resident()
    calls(20_000)
    assert resident() - before < 8 << 20


def test_debug_operations_are_closed_by_default(python: Python) -> None:
    message = python(
        "import prlx\n"
        "from prlx import _core\n"
        "try: _core.call('debug.panic')\n"
        "except prlx.UsageError as error: show(str(error))",
        PRLX_DEBUG_OPS="",
    )
    assert message.startswith('there is no operation "debug.panic"')


def test_exit_in_the_middle_of_a_job_is_clean() -> None:
    code = (
        "import threading; from prlx import _core\n"
        "threading.Thread(target=lambda: _core.run('debug.sleep', {'ms': 60000}), daemon=True).start()\n"
        "job = _core.start('debug.sleep', {'ms': 60000}); job.wait(0.2)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")


def test_subnormal_numbers_survive_loading_the_core(python: Python) -> None:
    assert python("from prlx import _core; _core.call('version'); x = 2.2e-308; show(x / 4 > 0)") is True


def test_faulthandler_still_reports() -> None:
    code = (
        "import faulthandler, ctypes; faulthandler.enable()\n"
        "from prlx import _core; _core.call('version'); ctypes.string_at(0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.returncode == -signal.SIGSEGV
    assert "Segmentation fault" in done.stderr


def test_document_begins_with_its_schema() -> None:
    document: dict[str, Any] = _core.call("version")
    assert next(iter(document)) == "schema"
    assert json.loads(json.dumps(document)) == document
