"""What the source calls the values of a stop: found from the syntax, never a wrong one."""

from __future__ import annotations

import json
import os

import pytest

from prlx._names import Source, name

from .conftest import HERE, python, require, variables

TEXT = """
def kernel(x, n):
    a = x + n
    b, c = x, n
    d = e = x * 2
    f = x; g = n
    if n > 2: h = x
    i: tl.tensor = x * n
    j = tl.where(
        x > 0,
        x * 2,
        n)
    k = tl.load(x + n, mask=a < n)
    for l in range(n):
        a += x * n
    m = (o := x + 1) * 2
    p = tl.arange(0, 4)
    q = a < n
    r[0] = a
    s = (
        a + n)
"""
HEAD = 10  # the line of `def`


def value(line, op="add", type="f32", origin="arith", **more):
    results = [[{"file": "k.py", "line": HEAD - 1 + line, "op": op, "steps": False, **more}]]
    return {"origin": origin, "type": type, "name": "", "results": results}


@pytest.fixture
def source():
    """The text as it was compiled, of a file that is not there."""
    return Source({"functions": [{"file": "k.py", "first_line": HEAD, "text": TEXT.lstrip("\n")}]})


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (2, "a"), (3, ""), (4, ""), (5, ""), (6, ""), (7, "i"), (8, "j"), (9, ""), (10, ""), (12, ""), (13, ""),
        (14, "a"), (15, ""), (16, "p"), (17, "q"), (18, ""), (19, ""), (20, "s"), (1, ""), (0, ""), (99, ""),
    ],
)  # fmt: skip
def test_a_line_that_assigns_one_variable_names_its_outcome(source, line, found):
    assert name(value(line), source) == found


def test_what_a_line_takes_itself_has_no_name(source):
    assert name(value(2) | {"results": None}, source) == ""
    assert name(value(2, steps=True), source) == ""
    assert name(value(16, "or", "s32", steps=True), source) == "p"  # other elements of a range


def test_a_load_names_what_it_brings_and_no_address(source):
    assert name(value(12, "ld", origin="load"), source) == "k"
    assert name(value(12, "add", "ptr"), source) == ""


def test_a_step_that_is_left_of_a_line_has_no_name(source):
    assert name(value(14, "shl", "s32"), source) == ""  # x * n, moved out of the loop
    assert name(value(14, "mad", "s32"), source) == "a"
    assert name(value(2, "setp", "pred"), source) == ""
    assert name(value(17, "setp", "pred"), source) == "q"


def test_a_value_of_two_lines_has_their_name_where_it_is_one(source):
    both = value(2)["results"] + value(14)["results"]
    assert name(value(2) | {"results": both, "origin": "carried"}, source) == "a"
    assert name(value(2) | {"results": value(2)["results"] + value(7)["results"]}, source) == ""


def test_the_line_that_calls_names_what_a_function_returns(source):
    inside = {"file": "nowhere.py", "line": 3, "op": "add", "steps": False}
    chain = [[inside, *value(8)["results"][0]]]
    assert name(value(8) | {"results": chain}, source) == "j"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("  float y = x * 2;", "y"),
        ("y += x;", "y"),
        ("a = 1; b = 2;", ""),
        ("a = b = 2;", ""),
        ("if (a == b) c();", ""),
    ],
)
def test_lines_of_c_are_read_by_their_form(text, found):
    source = Source({"functions": [{"file": "k.cu", "first_line": 3, "text": text}]})
    row = value(2) | {"results": [[{"file": "k.cu", "line": 3, "op": "add", "steps": False}]]}
    assert name(row, source) == found


def test_names_are_those_that_the_compiler_has(triton):
    """Of kernels of the corpus, all of them in ``make corpus``: beside the names in Triton's own IR."""
    cases = [] if os.environ.get("PRLX_TRITON_ALL") else ["add", "matmul", "libdevice", "idx64"]
    done = python(require(triton.name), HERE / "run_names.py", *cases, seconds=3600, **variables(triton))
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"case"')]
    assert {row["case"]: row["wrong"] for row in rows if row.get("wrong")} == {}
    assert all(row["named"] > 0 for row in rows if row["case"] in cases), rows
