"""``executor=`` with a real Dask cluster of two worker processes."""

from __future__ import annotations

import os

import pytest

import prlx as package

distributed = pytest.importorskip("distributed")


@pytest.mark.filterwarnings("default")  # what Dask warns about is Dask's
def test_two_dask_workers_write_the_same_bytes(data, tmp_path):
    p4 = data / "jax_skew" / "p4"
    here = package.combine_traces(p4, output="here", progress=False)
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            local_directory=str(tmp_path / "dask"),
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        workers = set(client.run(os.getpid).values())
        assert len(workers) == 2
        assert os.getpid() not in workers
        there = package.combine_traces(p4, output="there", executor=client.get_executor(pure=False), progress=False)
        loaded = client.run(lambda: __import__("prlx._core")._core.is_loaded())
        assert any(loaded.values()), "no worker did any work"
    assert [output.sha256 for output in here.outputs] == [output.sha256 for output in there.outputs]
    assert there.status == "aligned"
