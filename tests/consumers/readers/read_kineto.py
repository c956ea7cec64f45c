"""Loads Kineto traces with HolisticTraceAnalysis and torch-tb-profiler; runs in the kineto environment.

stdin: a JSON list of questions. The file named on the command line gets the JSON list of answers. A question is one of

  {"hta": directory}            rows, kernels and ranks of its traces, and whether the usual analyses run
  {"tensorboard": directory}    workers, kernel calls and operator calls of torch-tb-profiler's run

An answer with "error" says what the package raised.
"""

from __future__ import annotations

import json
import logging
import sys
import warnings
from pathlib import Path

ANALYSES = ("get_gpu_kernel_breakdown", "get_comm_comp_overlap", "get_temporal_breakdown")


def hta(directory: str) -> dict:
    from hta.trace_analysis import TraceAnalysis

    analysis = TraceAnalysis(trace_dir=directory)
    traces = {rank: analysis.t.get_trace(rank) for rank in analysis.t.get_all_traces()}
    kernels = [frame[frame["stream"] >= 0] for frame in traces.values()]
    return {
        "ranks": sorted(traces),
        "rows": sum(len(frame) for frame in traces.values()),
        "kernels": sum(len(frame) for frame in kernels),
        "kernel_us": float(sum(frame["dur"].sum() for frame in kernels)),
        "analyses": {name: run(getattr(analysis, name)) for name in ANALYSES},
    }


def run(analysis: object) -> str:
    try:
        analysis(visualize=False)
    except Exception as error:  # whatever it is, the caller compares it with what the raw traces give
        return f"{type(error).__name__}: {error}"
    return "passed"


def tensorboard(directory: str) -> dict:
    from torch_tb_profiler.io.cache import Cache
    from torch_tb_profiler.profiler.loader import RunLoader

    profiles = RunLoader("run", directory, Cache()).load().profiles.values()
    workers = [profile for profile in profiles if profile.worker != "All"]
    return {
        "workers": sorted(profile.worker for profile in workers),
        "kernel_calls": sum(column_total(profile.kernel_table, "Calls") for profile in workers),
        "operator_calls": sum(operator_calls(profile.operation_table_by_name) for profile in workers),
    }


def column_total(table: dict | None, name: str) -> int:
    if table is None:  # a trace without a device
        return 0
    columns = [column["name"] for column in table["data"]["columns"]]
    return sum(int(row[columns.index(name)]) for row in table["data"]["rows"])


def operator_calls(table: dict) -> int:
    return sum(int(row["calls"]) for row in table["data"])


def answer(question: dict) -> object:
    try:
        return hta(question["hta"]) if "hta" in question else tensorboard(question["tensorboard"])
    except Exception as error:  # a consumer's failure is an answer
        return {"error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":  # torch-tb-profiler starts processes that import this module again
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    Path(sys.argv[1]).write_text(json.dumps([answer(question) for question in json.load(sys.stdin)]))
