"""The ranks of one run: where they fall apart, by their tapes alone, and that right runs do not."""

from __future__ import annotations

import ast
import json
import os
import shutil
from pathlib import Path

import pytest

import prlx
from prlx._timeline import inspect_files

HERE = Path(__file__).resolve().parent
FULL = os.environ.get("PRLX_FULL_SWEEP") == "1"
RANKS, CLEAN = (8, 20) if FULL else (2, 2)


def expected() -> dict[str, dict]:
    """The list of harms with their answers: ``apart.py`` imports torch, which is not here."""
    tree = ast.parse((HERE / "apart.py").read_text())
    (table,) = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "HARMS"
    ]
    assert isinstance(table, ast.Dict)
    names = ("step", "module", "kind", "tensor")
    answers = {}
    for key, call in zip(table.keys, table.values, strict=True):
        flags = {each.arg: True for each in call.keywords} | {"told": True}
        plain = {each.arg: each.value.value for each in call.keywords if each.arg in ("told", "own", "sharded")}
        given = [each.value for each in call.args]
        answers[key.value] = {**dict(zip(names, given, strict=True)), "own": False, "sharded": False, **flags, **plain}
    return answers


HARMS = expected()
SHARDED = [name for name, harm in HARMS.items() if harm["sharded"] is True]


@pytest.fixture(scope="module")
def runs(train_in, tmp_path_factory) -> dict[str, Path]:
    """The tapes of all ranks of all runs, harmed and right, of both ways to share a model."""
    folder = tmp_path_factory.mktemp("ranks")
    for how, names in (("ddp", HARMS), ("fsdp", SHARDED)):
        clean = [f"clean{number}" for number in range(CLEAN)]
        train_in(folder, "wrapped.ranks", how, how, RANKS, *names, *clean, seconds=1500)
    return {how: folder / how for how in ("ddp", "fsdp")}


@pytest.mark.parametrize(("how", "name"), [("ddp", name) for name in HARMS] + [("fsdp", name) for name in SHARDED])
def test_ranks_that_fall_apart(runs, how, name):
    harm, folder = HARMS[name], runs[how] / name
    diff = prlx.diff_traces(folder, folder, progress=False)
    first = diff.first
    assert first is not None
    assert diff.conclusion.outcome == "differs"
    got = (first.step, first.phase, first.module, first.kind, first.tensor)
    if name == "initial":  # the state of the optimizer begins with the parameter
        assert first.operator == "aten.zeros_like.default"
    assert got == (harm["step"], "optimizer", harm["module"], harm["kind"], harm["tensor"])
    told = harm["told"] if RANKS == 2 else not harm["own"]
    assert first.deviating == ((1,) if told else ())
    assert ("it is rank 1 that deviates" in diff.verdict) == told


@pytest.mark.parametrize("how", ["ddp", "fsdp"])
@pytest.mark.parametrize("number", range(CLEAN))
def test_right_runs_agree(runs, how, number):
    folder = runs[how] / f"clean{number}"
    diff = prlx.diff_traces(folder, folder, progress=False)
    assert diff.conclusion.outcome == "same", diff.verdict
    assert diff.first is None
    assert f"among {RANKS} ranks do" in diff.verdict
    assert not diff.facts


def test_results_of_collectives_are_looked_at_when_they_are_there(runs):
    for how, operator in (("ddp", "c10d.allreduce_.default"), ("fsdp", "c10d._allgather_base_.default")):
        tapes = sorted((runs[how] / "clean0").glob("*.tape"))
        assert len(tapes) == RANKS
        two = prlx.diff_traces(tapes[0], tapes[1], progress=False)
        assert two.first is not None
        assert two.first.kind in ("input", "random"), "each rank has a batch of its own"
        for tape in inspect_files([str(each) for each in tapes], progress=False)["files"]:
            assert tape["tape"]["whole"]
            assert tape["tape"]["run"]["ranks"] == RANKS
        again = prlx.diff_traces(tapes[0], runs[how] / "clean1" / tapes[0].name, progress=False)
        assert again.conclusion.outcome == "same", f"{operator}: {again.verdict}"


def test_ranks_that_neither_run_has_a_tape_of_are_not_the_same(runs, tmp_path):
    for side in ("clean0", "clean1"):
        (tmp_path / side).mkdir()
        shutil.copy(next(iter(sorted((runs["ddp"] / side).glob("*.tape")))), tmp_path / side)
    diff = prlx.diff_traces(tmp_path / "clean0", tmp_path / "clean1", progress=False)
    assert diff.first is None
    assert diff.conclusion.outcome == "inconclusive", diff.verdict
    assert "ranks" in diff.verdict


def test_the_command_names_the_ranks(runs, command):
    done = command("diff", runs["ddp"] / "weight", runs["ddp"] / "weight")
    assert done.returncode == 1
    assert "step 2, optimizer: aten.mul_.Tensor of 0.2.weight" in done.stdout
    assert "rank 1: digest" in done.stdout
    document = json.loads(command("diff", runs["ddp"] / "clean0", runs["ddp"] / "clean0", "--json").stdout)
    assert (document["among"], document["status"], len(document["ranks"])) == ("ranks", "identical", RANKS - 1)
