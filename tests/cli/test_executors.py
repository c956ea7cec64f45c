"""``executor=`` with the pools of the standard library."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest

import prlx as package


@pytest.fixture(scope="module")
def here(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("here")
    return package.combine_traces(data / "jax_skew" / "p2", output=folder / "run", progress=False)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_process_pool_writes_the_same_bytes_however_it_starts_its_processes(data, tmp_path, here, method):
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        there = package.combine_traces(data / "jax_skew" / "p2", output=tmp_path / "run", executor=pool, progress=False)
    assert [output.sha256 for output in there.outputs] == [output.sha256 for output in here.outputs]


def test_an_error_in_a_forked_worker_is_the_error_of_the_call(data, tmp_path, here):
    del here
    bad = tmp_path / "node1.xplane.pb"
    bad.write_bytes((next((data / "jax_skew" / "p2").glob("**/*.xplane.pb"))).read_bytes()[:5000])
    with (
        ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool,
        pytest.raises(package.TraceFormatError, match="node1"),
    ):
        package.combine_traces([bad], output=tmp_path / "run", executor=pool, progress=False)


def test_a_pool_of_threads_writes_the_same_bytes(data, tmp_path, here):
    with ThreadPoolExecutor(2) as pool:
        there = package.combine_traces(data / "jax_skew" / "p2", output=tmp_path / "run", executor=pool, progress=False)
    assert [output.sha256 for output in there.outputs] == [output.sha256 for output in here.outputs]


@pytest.mark.parametrize("asked", ["check", "correct"])
def test_tasks_of_an_executor_look_for_no_launches_and_say_so(data, tmp_path, here, asked):
    with ThreadPoolExecutor(2) as pool:
        there = package.combine_traces(
            data / "jax_skew" / "p2", output=tmp_path / "run", executor=pool, device_clocks=asked, progress=False
        )
    assert [output.sha256 for output in there.outputs] == [output.sha256 for output in here.outputs]
    for node in there.nodes:
        assert any("the tasks of an executor do not look for launches" in text for text in node.warnings)
        assert "device_clocks" not in node.document
