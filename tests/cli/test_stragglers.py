"""``prlx stragglers``: the answer, the gate, and what can be asked for."""

from __future__ import annotations

import json

import pytest

import prlx as package


@pytest.fixture(scope="module")
def timeline(data):
    return next((data / "kineto").glob("*timeline-ST*"))


def test_the_first_line_says_who_was_late_and_why(prlx, timeline):
    ran = prlx("stragglers", str(timeline))
    assert ran.code == 0
    first = ran.out.splitlines()[0]
    assert first.startswith("dp1 pp3 was late")
    assert "forward-compute" in first


@pytest.mark.parametrize(("gate", "code"), [("rank-loss>5%", 1), ("rank-loss > 16.5 %", 1), ("rank-loss>20%", 0)])
def test_a_gate_fails_where_a_rank_cost_more(prlx, timeline, gate, code):
    assert prlx("stragglers", str(timeline), "--fail-on", gate).code == code


@pytest.mark.parametrize("gate", ["", "rank-loss", "rank-loss>5", "step-loss>5%", "rank-loss>-5%"])
def test_a_gate_that_is_none_is_refused_before_anything_is_read(prlx, gate):
    ran = prlx("stragglers", "no such file", "--fail-on", gate)
    assert ran.code == 2
    assert "rank-loss>5%" in ran.err


def test_the_function_and_the_command_say_the_same(prlx, timeline):
    found = package.find_stragglers(timeline, step=["519"], limit=2, progress=False)
    assert found.document == json.loads(
        prlx("stragglers", str(timeline), "--step", "519", "--limit", "2", "--json").out
    )
    assert [rank.id for rank in found.blamed] == ["dp1 pp3"]
    assert found.blamed[0].cause == "forward-compute"
    assert [step["name"] for step in found.steps] == ["519"]
    assert len(found.document["worst"]) == 2


def test_a_part_of_the_job_can_be_looked_at(timeline):
    every = package.find_stragglers(timeline, progress=False)
    late = package.find_stragglers(timeline, since=40, progress=False)
    assert 0 < late.operations < every.operations
    pipeline = package.find_stragglers(timeline, group="pipeline dp0", progress=False)
    assert {row["group"] for row in pipeline.document["groups"]} == {"pipeline dp0 tp0"}


def test_what_is_asked_for_and_is_not_there_is_named(prlx, timeline):
    ran = prlx("stragglers", str(timeline), "--step", "7")
    assert ran.code == 2
    assert 'no step "7"' in ran.err
    assert "23 to 1048" in ran.err
    assert prlx("stragglers", str(timeline), "--group", "nobody").code == 2


def test_where_nothing_can_be_judged_the_exit_code_says_so(prlx, data):
    alone = next((data / "jax_skew" / "p2").glob("**/*.xplane.pb"))
    ran = prlx("stragglers", str(alone))
    assert ran.code == 5
    assert "nothing to judge" in ran.out
