"""Forked, spawned and pooled processes, and the worker process."""

from __future__ import annotations

import concurrent.futures
import gc
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import prlx
from prlx import _core
from prlx._worker import Worker

FOREVER_MS = 3_600_000  # what sleeps so long ends because it is cancelled
HANG_S = (
    600.0  # of waiting: the time that prlx promises is measured by bench/contracts.py, on a machine that is not busy
)


def answer(_number: int = 0) -> str:
    """What a process gets from the core: the version, or the name of the exception."""
    try:
        version: str = _core.run("version")["core"]
    except prlx.PrlxError as error:
        return f"{type(error).__name__}: {error.hint}"
    return version


def let_raise(_number: int = 0) -> None:
    _core.call("version")


def grandchild() -> str:
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, answer().encode())
        os._exit(0)
    os.wait()
    return os.read(read, 1000).decode()


def in_fork(child: Callable[[], str]) -> str:
    """What ``child()`` returns in a forked child, or how it ended."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write, child().encode())
            os._exit(0)
        finally:
            os._exit(1)
    os.close(write)
    end = time.monotonic() + HANG_S
    with os.fdopen(read) as pipe:
        while time.monotonic() < end:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                return pipe.read() if status == 0 else f"status {status}"
            time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return "hung"


@pytest.fixture(autouse=True)
def _loaded() -> None:
    """The core is loaded in the parent: the case that matters."""
    _core.call("version")


@pytest.mark.parametrize("child", [answer, grandchild])
def test_a_forked_child_gets_an_error_that_says_so(child: Callable[[], str]) -> None:
    got = in_fork(child)
    assert got.startswith("ForkedProcessError: start processes with the 'spawn' or 'forkserver' method")
    assert answer() == prlx.__version__


def test_forked_child_can_use_and_drop_what_the_parent_made() -> None:
    kept: list[Any] = [
        _core.start("debug.sleep", {"ms": 2000}),
        _core.table("debug.table", {"rows": 10}, name="events"),
    ]
    kept[1].__arrow_c_stream__()  # looks up the releases while the core is alive

    def child() -> str:
        last = str(kept[1]["start"][-1])
        kept[1].__arrow_c_stream__()
        kept.clear()
        for _ in range(5):
            gc.collect()
        return last

    assert in_fork(child) == str(kept[1]["start"][-1])
    kept[0].close()


def test_child_forked_before_loading_loads_its_own() -> None:
    code = (
        "import os\n"
        "from prlx import _core\n"
        "pid = os.fork()\n"
        "os.write(1, (_core.call('version')['core'] + '\\n').encode())\n"
        "if pid: os.waitpid(pid, 0)\n"
        "else: os._exit(0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.stdout.split() == [prlx.__version__] * 2, done.stderr


def test_pool_of_forked_processes_raises_where_it_is_asked() -> None:
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert all(got.startswith("ForkedProcessError") for got in pool.map(answer, range(4)))
        with pytest.raises(prlx.ForkedProcessError, match="forked after prlx had loaded"):
            pool.apply(let_raise)
    assert answer() == prlx.__version__


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_pool_of_fresh_processes_works(method: str) -> None:
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        assert list(pool.map(answer, range(2))) == [prlx.__version__] * 2
        table = pool.submit(_core.table, "debug.table", {"rows": 5}, name="events").result()
        assert table["name"].tolist() == [f"kernel {i}" for i in range(5)]


def test_data_loader_workers_survive() -> None:
    """As torch's DataLoader does on Linux: forked workers that live on, collect garbage and answer through queues."""
    context = multiprocessing.get_context("fork")
    asked, answered = context.SimpleQueue(), context.SimpleQueue()

    def work() -> None:
        while (item := asked.get()) is not None:
            garbage: list[Any] = []
            garbage.append(garbage)
            del garbage
            gc.collect()
            answered.put((item * item, answer()))

    workers = [context.Process(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    for item in range(20):
        asked.put(item)
    got = sorted(answered.get() for _ in range(20))
    for _ in workers:
        asked.put(None)
    for worker in workers:
        worker.join(20)
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert [square for square, _ in got] == [item * item for item in range(20)]
    assert all(text.startswith("ForkedProcessError") for _, text in got)


@pytest.fixture
def worker() -> Iterator[Worker]:
    with Worker() as it:
        yield it


def test_worker_answers_as_the_core_does(worker: Worker) -> None:
    assert worker.run("version") == _core.run("version")
    request = {"text": "größer ☃" * 50_000, "none": None}
    assert worker.run("debug.echo", request) == _core.run("debug.echo", request)


def test_worker_sends_tables(worker: Worker) -> None:
    for rows in (0, 1, 1000):
        mine = _core.table("debug.table", {"rows": rows}, name="events")
        theirs = worker.run("debug.table", {"rows": rows})["tables"]["events"]
        assert repr(theirs) == repr(mine)
        assert all(theirs[name].tolist() == mine[name].tolist() for name in mine)


def test_worker_raises_what_the_core_raises(worker: Worker) -> None:
    with pytest.raises(prlx.TraceFormatError) as caught:
        worker.run("debug.error", {"kind": "format", "message": "bad", "path": "/t", "offset": 4, "hint": "cut"})
    assert str(caught.value) == "/t: debug: bad (at byte 4)\ncut"
    with pytest.raises(prlx.InternalError) as panicked:
        worker.run("debug.goroutine_panic")
    assert "goroutine" in (panicked.value.stack or "")
    with pytest.raises(prlx.UsageError):
        worker.run("no.such")
    assert worker.run("version")["core"] == prlx.__version__


def test_worker_reports_progress_and_can_be_interrupted(worker: Worker) -> None:
    seen: list[tuple[str, int, int]] = []
    worker.run("debug.sleep", {"ms": 300}, progress=lambda *state: seen.append(state))
    assert ("sleep", 300) in {(stage, total) for stage, _, total in seen}

    def refuse(*_state: object) -> None:
        raise ZeroDivisionError

    begin = time.monotonic()
    with pytest.raises(ZeroDivisionError):
        worker.run("debug.sleep", {"ms": FOREVER_MS}, progress=refuse)
    assert time.monotonic() - begin < HANG_S
    assert worker.run("version")["core"] == prlx.__version__


def test_forked_child_works_through_a_worker(worker: Worker) -> None:
    def child() -> str:
        with Worker() as own:
            version: str = own.run("version")["core"]
        theirs: str = worker.run("version")["core"]  # the parent's worker stays the parent's: this starts another
        worker.close()
        return version + theirs

    worker.run("version")
    assert in_fork(child) == prlx.__version__ * 2
    assert worker.run("version")["core"] == prlx.__version__


def frames(*messages: Any) -> bytes:
    bodies = [message if isinstance(message, bytes) else json.dumps(message).encode() for message in messages]
    return b"".join(len(body).to_bytes(4, "little") + body for body in bodies)


def serve(sent: bytes, *, start: str = "import prlx._worker as w; w.main()") -> subprocess.CompletedProcess[bytes]:
    """Run a worker on these bytes."""
    return subprocess.run([sys.executable, "-c", start], input=sent, capture_output=True, timeout=600)


def answers(sent: bytes) -> list[Any]:
    """What a worker answers to these bytes, in silence."""
    done = serve(sent)
    assert (done.returncode, done.stderr) == (0, b"")
    found, rest = [], done.stdout
    while rest:
        size = int.from_bytes(rest[:4], "little")
        found.append(json.loads(rest[4 : 4 + size]))
        rest = rest[4 + size :]
    return found


def test_worker_speaks_frames_and_ends_with_its_input() -> None:
    failing = {"id": 8, "op": "debug.error", "request": {"kind": "io"}}
    by_id = {it["id"]: it for it in answers(frames(failing, {"id": 9, "op": 7}))}
    assert by_id[8]["error"]["kind"] in ("io", "cancelled")  # the end of the input may come first
    assert by_id[9]["error"]["kind"] == "usage"


def test_worker_cancels_what_runs_when_its_input_ends() -> None:
    (last,) = answers(frames({"id": 1, "op": "debug.sleep", "request": {"ms": FOREVER_MS}}))
    assert last["error"]["kind"] == "cancelled"


def read_frame(process: subprocess.Popen[bytes]) -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.read(int.from_bytes(process.stdout.read(4), "little")))


def test_worker_serves_side_by_side_and_cancels_on_request() -> None:
    sleep = {"id": 1, "op": "debug.sleep", "request": {"ms": 60_000}}
    command = [sys.executable, "-m", "prlx._worker"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(frames(sleep, {"id": 2, "op": "version"}))
        process.stdin.flush()
        assert read_frame(process)["id"] == 2
        process.stdin.write(frames({"cancel": 1}, {"cancel": 99}))
        process.stdin.flush()
        assert read_frame(process)["error"]["kind"] == "cancelled"
        process.stdin.close()
        assert process.wait(10) == 0


@pytest.mark.parametrize(
    "noise",
    [b"\x01", b"\xff\xff\xff\xff{}", b"\x10\x00\x00\x00{}", frames(b"[1]"), frames(b"\xff"), frames(b"{}")],
)
def test_worker_ends_on_noise_instead_of_hanging(noise: bytes) -> None:
    done = serve(noise)
    assert done.returncode == prlx.InternalError.exit_code
    assert done.stderr.startswith(b"prlx worker: ")
    assert b"Traceback" not in done.stderr


def test_what_prints_in_the_worker_goes_to_stderr() -> None:
    noisy = (
        "import prlx._worker as w, builtins\n"
        "run = w._Server._run\n"
        "w._Server._run = lambda *a: (print('noise', flush=True), run(*a))[1]\n"
        "w.main()"
    )
    done = serve(frames({"id": 1, "op": "debug.panic"}), start=noisy)
    assert done.stderr.strip() == b"noise"
    assert json.loads(done.stdout[4:])["id"] == 1
