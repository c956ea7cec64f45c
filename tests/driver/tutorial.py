"""Runs a tutorial of Triton as it is, but for its benchmarks: prlx simulate -- python tests/driver/tutorial.py FILE."""

from __future__ import annotations

import runpy
import sys

import triton.testing


class Skipped:
    """A benchmark that is not run: it takes hours without a GPU, and measures nothing."""

    def __init__(self, *_):
        pass

    def run(self, *_, **__):
        print("a benchmark is skipped")


triton.testing.perf_report = lambda *_: Skipped
runpy.run_path(sys.argv[1], run_name="__main__")
