"""Sessions that others start, after prlx.jax.trace: jax_sessions.py DIRECTORY [PORT]. It says where their traces are.

With a port it serves its profiler there until its input ends.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path

import jax
import jax.numpy as jnp

import prlx
import prlx.jax

jax.config.update("jax_platforms", "cpu")
folder = Path(sys.argv[1])
multiply = jax.jit(lambda v: v @ v / 2)


def work(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        multiply(jnp.ones((64, 64))).block_until_ready()
        time.sleep(0.01)


def newest(where: str) -> str:
    return str(max((folder / where).rglob("*.xplane.pb"), key=lambda path: path.stat().st_mtime))


traces = {}
call = prlx.jax._profiler_call
if hasattr(__import__("jaxlib._profiler", fromlist=["_profiler"]), "set_metadata"):
    prlx.jax._profiler_call = lambda name: None if name == "register_plugin_profiler" else call(name)  # type: ignore[assignment]
    with prlx.jax.trace(folder / "metadata", snapshots=True, period_ms=10) as traced:
        work(0.3)
    traces["metadata"] = str(traced.xplane)
    prlx.jax._profiler_call = call
with prlx.jax.trace(folder / "ours", snapshots=True, period_ms=20) as traced:
    work(0.1)
traces["ours"] = str(traced.xplane)
with jax.profiler.trace(str(folder / "trace")):
    work(0.2)
traces["trace"] = newest("trace")
options = jax.profiler.ProfileOptions() if hasattr(jax.profiler, "ProfileOptions") else None
if hasattr(jax.profiler, "ProfileSession"):
    with jax.profiler.ProfileSession(str(folder / "session"), profiler_options=options):
        work(0.2)
    traces["session"] = newest("session")
print(json.dumps(traces), flush=True)
if len(sys.argv) > 2:
    jax.profiler.start_server(int(sys.argv[2]))
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    print("serving", flush=True)
    while not ended.is_set():
        work(0.1)
