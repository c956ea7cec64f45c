"""Checks with torch: CPU tensors as arguments, and code that says device="cuda". Run as ``driver_checks.py`` is."""

import json
import sys
import traceback
import warnings

import kernels
import torch
import triton

from prlx.hooks import cuda, simulator
from prlx.hooks.triton import Surfaces

N = 4096
launches = []


def run(launch):
    launches.append(launch)
    return 5000


def check_cpu_tensors_are_arguments_as_they_are():
    a, b = torch.zeros(N), torch.ones(N, dtype=torch.bfloat16)
    kernels.add[(4,)](a, b, a, N, BLOCK=1024)
    first, second = launches[-1].parameters[:2]
    assert (first.type, second.type) == ("*fp32", "*bf16") and first.value == a.data_ptr()
    assert first.storage.size == 4 * N and second.storage.size == 2 * N


def check_a_view_may_touch_its_storage():
    a = torch.zeros(4, N)
    kernels.copy[(1,)](a[2], a.t()[5:], BLOCK=16)
    first, second = launches[-1].parameters[:2]
    assert first.storage.size == second.storage.size == 16 * N
    assert first.value == a.data_ptr() + 8 * N and first.storage.address == a.data_ptr()


def check_an_array_of_a_tensor_has_its_storage():
    a = torch.zeros(64)
    kernels.copy[(1,)](a.numpy()[:16], a[16:], BLOCK=16)
    first, second = launches[-1].parameters[:2]
    assert first.storage.address == second.storage.address and first.storage.size == 256


def check_meta_tensors_are_refused():
    try:
        kernels.copy[(1,)](torch.zeros(16, device="meta"), torch.zeros(16), BLOCK=16)
    except Exception as error:
        assert "meta" in str(error), error
    else:
        raise AssertionError("launched on a tensor without memory")


def check_tutorials_device_is_the_cpu():
    assert triton.runtime.driver.active.get_active_torch_device() == torch.zeros(1).device


def check_autotune_resets_and_restores():
    x, y, o = torch.ones(N), torch.ones(N), torch.ones(N)
    kernels.tuned[lambda meta: (triton.cdiv(N, meta["BLOCK"]),)](x, y, o, N)
    assert len(launches) == 4 and not o.any(), "reset_to_zero has zeroed it, and nothing ran"


def check_cuda_is_mapped():
    device = torch.device("cuda")
    made = [torch.ones(4, device="cuda"), torch.empty((2, 2), device=device), torch.ones(4).to("cuda:0"),
            torch.ones(4).cuda(), torch.tensor([1.0], device=device), torch.arange(4, device="cuda").to(device),
            torch.nn.Linear(2, 2).cuda().weight, torch.nn.Linear(2, 2).to(device).weight,
            torch.randn(3, device="cuda", dtype=torch.float16), torch.empty_like(torch.ones(2), device="cuda")]  # fmt: skip
    assert all(tensor.device.type == "cpu" and tensor.is_cuda for tensor in made)
    with torch.device("cuda"):
        assert torch.ones(3).device.type == "cpu"
    torch.set_default_device("cuda")
    assert torch.ones(3).device.type == "cpu"
    torch.set_default_device("cpu")


def check_waiting_and_asking_work():
    assert torch.cuda.is_available() and torch.cuda.device_count() == 1 and torch.cuda.current_device() == 0
    torch.cuda.synchronize()
    torch.cuda.manual_seed_all(3)
    torch.manual_seed(3)
    torch.cuda.empty_cache()
    assert torch.cuda.get_device_capability() == (8, 0)
    assert torch.cuda.get_device_properties(0).multi_processor_count == 108
    with torch.cuda.stream(torch.cuda.Stream()), torch.cuda.device(0):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        kernels.copy[(1,)](torch.zeros(16, device="cuda"), torch.zeros(16, device="cuda"), BLOCK=16)
        end.record()
    end.synchronize()
    assert begin.elapsed_time(end) == 6.0, "5,000 instructions and a launch"


def check_do_bench():
    x = torch.zeros(N, device="cuda")
    assert triton.testing.do_bench(lambda: kernels.copy[(4,)](x, x, BLOCK=1024), quantiles=[0.5, 0.2]) == [6.0, 6.0]


def check_everything_is_put_back():
    """Runs after everything was restored."""
    assert not torch.cuda.is_available() and torch.cuda.Event.__module__.startswith("torch")
    assert not torch.ones(1).is_cuda
    try:
        torch.ones(1, device="cuda")
    except Exception as error:
        assert "cuda" in str(error).lower() or "nvidia" in str(error).lower()
    else:
        raise AssertionError("made a tensor on a device that is not there")


def check_softmax_on_the_machine():
    """The whole way, after everything was put back: code that says cuda, run on the simulator."""
    import prlx

    with prlx.enable(device="simulator", map_cuda=True) as seen:
        x = torch.randn(16, 781, device="cuda")
        o = torch.empty_like(x)
        kernels.softmax[(16,)](o, x, o.stride(0), x.stride(0), 781, BLOCK=1024)
        torch.cuda.synchronize()
        torch.testing.assert_close(o, torch.softmax(x, 1))
        h = torch.randn(64, 32, device="cuda", dtype=torch.bfloat16)
        c = torch.empty(64, 64, device="cuda", dtype=torch.bfloat16)
        w = torch.randn(32, 64, device="cuda", dtype=torch.bfloat16)
        kernels.matmul[(1, 1)](h, w, c, 64, 64, 32, 32, 64, 64, BM=64, BN=64, BK=32)
        torch.testing.assert_close(c, h @ w)
    assert seen.launches == 2 and not seen.findings, seen.findings
    assert not torch.cuda.is_available()


def check_tables_of_pointers_lead_to_tensors():
    import prlx

    rows = [torch.full((64,), float(i)) for i in range(3)]
    table, o = torch.tensor([row.data_ptr() for row in rows]), torch.zeros(3, 64)
    result = prlx.simulate(kernels.gathered, (3,), table, o, BLOCK=64)
    assert result.passed and (o == torch.arange(3)[:, None]).all(), result.findings
    short = torch.zeros(10)
    table[1] = short.data_ptr()
    found = prlx.simulate(kernels.gathered, (3,), table, o, BLOCK=64).findings
    assert {finding.check for finding in found} == {"out-of-bounds"}, found


def main():
    warnings.simplefilter("ignore")
    surfaces, results = Surfaces(simulator.KEY), {}
    driver, _ = simulator.driver(run)
    surfaces.install(driver)
    unmap = cuda.install(driver.get_device_interface())
    for name, check in [item for item in globals().items() if item[0].startswith("check_")]:
        if name == "check_everything_is_put_back":
            surfaces.restore()
            unmap()
        launches.clear()
        try:
            check()
            results[name] = None
        except BaseException:
            results[name] = traceback.format_exc()
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
