"""Checks of Triton kernels whose blocks wait for each other. Run as ``driver_checks.py`` is."""

import json
import sys
import traceback
import warnings

import numpy as np
import triton
import triton.language as tl

import prlx

BLOCKS, ROUNDS = 64, 32


@triton.jit
def counted_barrier(counter, part, out, BLOCKS: tl.constexpr, ROUNDS: tl.constexpr):
    pid = tl.program_id(0)
    for r in range(ROUNDS):
        tl.atomic_add(part + pid, 1.0)
        tl.atomic_add(counter + r, 1, sem="release")
        while tl.atomic_add(counter + r, 0, sem="acquire") < BLOCKS:
            pass
    tl.store(out + pid, tl.atomic_add(counter + ROUNDS - 1, 0))


@triton.jit
def volatile_barrier(counter, part, out, BLOCKS: tl.constexpr, ROUNDS: tl.constexpr):
    pid = tl.program_id(0)
    for r in range(ROUNDS):
        tl.atomic_add(part + pid, 1.0)
        tl.atomic_add(counter + r, 1, sem="release")
        while tl.load(counter + r, volatile=True) < BLOCKS:
            pass
    tl.store(out + pid, tl.atomic_add(counter + ROUNDS - 1, 0))


@triton.jit
def never_set(flag, out):
    while tl.atomic_cas(flag + 2, 1, 1) != 1:
        pass
    tl.store(out, 1)


def ends(kernel):
    """A barrier of all blocks ends after a few looks of each (FlagTree #1029 and #1030), also when races are looked for."""
    for machine in ({}, {"seed": 5}, {"global_races": True}):
        part, out = np.zeros(BLOCKS, np.float32), np.zeros(BLOCKS, np.float32)
        counter, sizes = np.zeros(ROUNDS, np.int32), {"BLOCKS": BLOCKS, "ROUNDS": ROUNDS}
        done = prlx.simulate(kernel, (BLOCKS,), counter, part, out, machine=machine, **sizes)
        assert not done.findings, done.findings
        assert (out == BLOCKS).all() and (part == ROUNDS).all()
        assert done.document["instructions"] < 2_000_000, done.document["instructions"]


def check_a_barrier_of_blocks_that_poll_by_an_atomic_ends():
    ends(counted_barrier)


def check_a_barrier_of_blocks_that_poll_by_volatile_loads_ends():
    ends(volatile_barrier)


def check_a_flag_that_nobody_sets_is_named():
    done = prlx.simulate(never_set, (2,), np.zeros(4, np.int32), np.zeros(1, np.int32))
    (found,) = done.findings
    assert found.check == "deadlock", found
    assert "blocks 0, 1 poll flag[2]" in found.message and "nobody has written it" in found.message, found.message
    assert found.line == never_set.fn.__code__.co_firstlineno + 2, (found.line, never_set.fn.__code__.co_firstlineno)


def main():
    warnings.filterwarnings("ignore")
    problems = {}
    for name, check in list(globals().items()):
        if name.startswith("check_"):
            try:
                check()
                problems[name] = None
            except Exception:
                problems[name] = traceback.format_exc()
    json.dump(problems, sys.stdout)


if __name__ == "__main__":
    main()
