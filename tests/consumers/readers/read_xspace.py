"""Answers questions about XSpace files with xprof and JAX; runs in the xspace environment.

stdin: a JSON list of questions. The file named on the command line gets the JSON list of answers (xprof writes to stdout
as it likes). A question is one of

  {"view": [paths], "tool": "trace_viewer@"}   what the trace viewer shows; null when xprof could not convert
  {"report": [paths], "tool": "..."}           the tool's own JSON; null when xprof could not convert
  {"capture": "host:port", "into": directory}  has xprof capture a running program, and take a snapshot of continuous
                                               profiling: the paths of both traces
  {"profile": path}                            planes, lines and events as jax.profiler.ProfileData reads them

Times in a view are integer picoseconds, in a profile float nanoseconds as JAX gives them.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from decimal import Decimal
from pathlib import Path


def convert(paths: list[str], tool: str) -> str | bytes | None:
    """What xprof makes of the files. It leaves caches beside its input, so it gets copies."""
    from xprof.convert import raw_to_tool_data

    with tempfile.TemporaryDirectory() as scratch:
        copies = []
        for path in paths:
            copies.append(str(Path(scratch) / Path(path).name))
            shutil.copy(path, copies[-1])
        options = {"use_saved_result": False, "trace_viewer_options": {}}
        data, _ = raw_to_tool_data.xspace_to_tool_data(copies, tool, options)
        return data


def view(paths: list[str], tool: str) -> dict | None:
    """Processes, threads and complete events of a trace viewer document."""
    data = convert(paths, tool)
    if data is None:
        return None
    processes, threads, events = {}, [], []
    for event in json.loads(data, parse_float=Decimal)["traceEvents"]:
        if event.get("ph") == "M" and event["name"] == "process_name":
            processes[str(event["pid"])] = event["args"]["name"]
        elif event.get("ph") == "M" and event["name"] == "thread_name":
            threads.append([event["pid"], event["tid"], event["args"]["name"]])
        elif event.get("ph") == "X":
            start, duration = (int(Decimal(event[key]) * 1_000_000) for key in ("ts", "dur"))
            events.append([event["pid"], event["tid"], start, duration, event["name"]])
    return {"processes": processes, "threads": threads, "events": events}


def report(paths: list[str], tool: str) -> object:
    """The document of an analysis tool."""
    data = convert(paths, tool)
    return None if data is None else json.loads(data)


def profile(path: str) -> dict:
    """Every plane, line and event; stats of events only as a count."""
    import jax.profiler

    def plane_document(plane: object) -> dict:
        return {
            "name": plane.name,
            "stats": {key: value for key, value in plane.stats if isinstance(value, (int, float, str))},
            "lines": [line_document(line) for line in plane.lines],
        }

    def line_document(line: object) -> dict:
        events, stats = [], 0
        for event in line.events:
            events.append([event.name, event.start_ns, event.duration_ns])
            stats += len(list(event.stats))
        return {"name": line.name, "events": events, "event_stats": stats}

    try:
        data = jax.profiler.ProfileData.from_file(path)
    except RuntimeError as error:
        return {"error": str(error)}
    return {"planes": [plane_document(plane) for plane in data.planes]}


def capture(address: str, into: str) -> list[str]:
    """A capture as TensorBoard's button makes it, and a snapshot of what is profiled continuously."""
    from xprof.convert import _pywrap_profiler_plugin as plugin

    plugin.trace(address, f"{into}/captured", "", True, 500, 3, {})
    plugin.start_continuous_profiling(address, {})
    time.sleep(1)
    plugin.get_snapshot(address, f"{into}/continuous")
    plugin.stop_continuous_profiling(address)
    return [str(path) for how in ("captured", "continuous") for path in Path(into, how).rglob("*.xplane.pb")]


def answer(question: dict) -> object:
    if "capture" in question:
        return capture(question["capture"], question["into"])
    if "view" in question:
        return view(question["view"], question["tool"])
    if "report" in question:
        return report(question["report"], question["tool"])
    return profile(question["profile"])


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps([answer(question) for question in json.load(sys.stdin)]))
