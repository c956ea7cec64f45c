"""Checks of the driver alone: what Triton hands to a launch, with a list in the simulator's place.

Run as a program: one JSON object on stdout says of each check what went wrong, or null.
"""

import json
import sys
import traceback
import warnings
from pathlib import Path

import kernels
import ml_dtypes
import numpy as np
import triton

from prlx.hooks import simulator
from prlx.hooks.target import target
from prlx.hooks.triton import Surfaces

N = 4096
launches = []


def run(launch):
    launches.append(launch)
    return len(launch.function.text)  # some cost that does not vary


def arrays(count=3, kind=np.float32):
    return [np.zeros(N, kind) for _ in range(count)]


def last():
    return launches[-1]


def declared(text):
    """How many parameters the entry point of a PTX text has."""
    head = text[text.index(b".entry") :]
    return head[: head.index(b")")].count(b".param")


def check_a_launch_is_complete():
    x, y, o = arrays()
    kernels.add[lambda meta: (triton.cdiv(N, meta["BLOCK"]),)](x, y, o, N, BLOCK=1024)
    launch = last()
    assert launch.grid == (4, 1, 1) and launch.block == (128, 1, 1) and launch.cluster == 1
    assert launch.function.name == "add" and b".target sm_80" in launch.function.text
    assert [p.name for p in launch.parameters] == ["x", "y", "o", "n", "global_scratch", "profile_scratch"]
    assert launch.parameters[0].value == x.ctypes.data and launch.parameters[0].storage.size == x.nbytes
    assert launch.parameters[3].bits == N
    assert len(launch.parameters) == declared(launch.function.text)


def check_autotune_takes_the_cheapest():
    x, y, o = arrays()
    kernels.tuned[lambda meta: (triton.cdiv(N, meta["BLOCK"]),)](x, y, o, N)
    assert len(launches) == 4, "each of three configurations once, then the winner"
    assert min(launches[:3], key=lambda launch: len(launch.function.text)).function is last().function


def check_autotune_with_warmup_and_rep():
    x, y, o = arrays()
    kernels.tuned_by_time[(16,)](x, y, o, N)
    assert 10 < len(launches) < 200


def check_do_bench_repeats_and_ends():
    x, y, o = arrays()
    times = {triton.testing.do_bench(lambda: kernels.add[(4,)](x, y, o, N, BLOCK=1024)) for _ in range(2)}
    assert len(times) == 1 and times.pop() > 0
    assert len(launches) < 400


def check_heuristics():
    x, o = arrays(2)
    kernels.heuristic[(4,)](x, o, 4096, BLOCK=1024)
    kernels.heuristic[(4,)](x, o, 4000, BLOCK=1024)
    assert [launch.function.text.count(b"setp") > 0 for launch in launches] == [False, True]


def check_warmup_compiles_and_launches_nothing():
    x, y, o = arrays()
    compiled = kernels.add.warmup(x, y, o, N, BLOCK=512, grid=(1,))
    mock = triton.runtime.jit.MockTensor
    again = kernels.add.warmup(mock("float32"), mock("float32"), mock("float32"), N, BLOCK=512, grid=(1,))
    assert compiled is again and not launches
    compiled[(3, 1, 1)](*map(simulator_array, (x, y, o)), N, 512)
    assert last().grid == (3, 1, 1) and compiled.n_regs > 0
    assert compiled.asm["cubin"].decode() == compiled.asm["ptx"]


def check_arguments_of_every_shape():
    x, o = arrays(2)
    b = np.zeros(64, ml_dtypes.bfloat16)
    kernels.arguments[(1,)]((x, o), (3, 2**40), b, 1, 5, 2.5, True, None, BLOCK=64)
    got = [(p.name, p.type) for p in last().parameters[:-2]]
    assert got[:3] == [("t.0", "*fp32"), ("t.1", "*fp32"), ("s.0", "i32")], got
    assert ("p", "*bf16") in got and ("f", "fp32") in got and len(got) == declared(last().function.text) - 2
    assert {p.name: p.bits for p in last().parameters}["s.1"] == 2**40
    assert {p.name: p.bits for p in last().parameters}["f"] == 0x40200000


def check_dtypes():
    want = {"int8": "*i8", "uint8": "*u8", "int16": "*i16", "uint16": "*u16", "int32": "*i32", "uint32": "*u32",
            "int64": "*i64", "uint64": "*u64", "float16": "*fp16", "float32": "*fp32", "float64": "*fp64", "bool": "*i1",
            ml_dtypes.bfloat16: "*bf16", ml_dtypes.float8_e5m2: "*fp8e5"}  # fmt: skip
    for kind, spelled in want.items():
        z = np.zeros(64, kind)
        kernels.copy[(1,)](z, z, BLOCK=64)
        assert last().parameters[0].type in (spelled, spelled.replace("*i1", "*u1")), (kind, last().parameters[0])


def check_a_view_may_touch_its_storage():
    x, y, o = arrays()
    kernels.add[(4,)](x[1:], y[::-1], o[:10], N - 1, BLOCK=1024)
    first, second, third = last().parameters[:3]
    assert first.value == x.ctypes.data + 4
    assert [p.storage.size for p in (first, second, third)] == [4 * N] * 3
    assert first.storage.address == x.ctypes.data
    assert b"ld.global.v4" not in last().function.text, "the kernel must not believe an address aligned that is not"


def check_views_of_a_buffer():
    memory = bytearray(1024)
    view = np.frombuffer(memory, np.float32)[16:32]
    fixed = np.frombuffer(bytes(1024), np.float32)
    kernels.copy[(1,)](view, fixed, BLOCK=16)
    one, other = last().parameters[:2]
    assert one.storage.size == 1024 and one.value - one.storage.address == 64 and not one.storage.read_only
    assert other.storage.read_only


def check_launch_hooks():
    x, y, o = arrays()
    seen = []
    hooks = triton.knobs.runtime
    enter, leave = lambda data: seen.append(("enter", data.get()["name"])), lambda data: seen.append("exit")
    hooks.launch_enter_hook.add(enter)
    hooks.launch_exit_hook.add(leave)
    try:
        kernels.add[(4,)](x, y, o, N, BLOCK=1024)
        kernels.add[(0,)](x, y, o, N, BLOCK=1024)
    finally:
        hooks.launch_enter_hook.remove(enter)
        hooks.launch_exit_hook.remove(leave)
    assert seen == [("enter", "add"), "exit"] * 2 and len(launches) == 1


def check_pre_run_hooks():
    x, y, o = arrays()
    seen = []
    kernels.add.add_pre_run_hook(lambda *args, **kwargs: seen.append(len(args)))
    try:
        kernels.add[(4,)](x, y, o, N, BLOCK=1024)
    finally:
        kernels.add.pre_run_hooks.clear()
    assert seen == [4]


class Buffer:
    def __init__(self, size):
        self.memory = np.zeros(size, np.uint8)

    def data_ptr(self):
        return self.memory.ctypes.data


def check_scratch_comes_from_the_users_allocator_or_ours():
    from triton.runtime import _allocation

    compiler = triton.backends.backends["nvidia"].compiler
    stages, hash = compiler.add_stages, compiler.hash

    def add_stages(self, found, *rest):
        stages(self, found, *rest)
        inner = found["llir"]

        def llir(module, metadata):
            text = inner(module, metadata)
            metadata["profile_scratch_size"], metadata["profile_scratch_align"] = 96, 128
            return text

        found["llir"] = llir

    compiler.add_stages, compiler.hash = add_stages, lambda self: hash(self) + "scratch"
    asked = []

    def allocate(size, align, stream):
        asked.append((size, align, stream))
        return Buffer(size)

    x, o = arrays(2)
    try:
        kernels.copy[(3, 2)](x, o, BLOCK=128)
        own = last().parameters[-1]
        _allocation.set_profile_allocator(allocate)
        kernels.copy[(3, 2)](x, o, BLOCK=128)
        given = last().parameters[-1]
    finally:
        _allocation.set_profile_allocator(_allocation.NullAllocator())
        compiler.add_stages, compiler.hash = stages, hash
    assert own.name == "profile_scratch" and own.value % 128 == 0 and own.storage.size == 576
    assert asked == [(576, 128, 0)] and given.value == given.storage.keep.data_ptr()


def check_host_descriptors_are_plain_pointers():
    from triton.tools.tensor_descriptor import TensorDescriptor

    a, o = np.zeros((64, 64), np.float32), np.zeros((64, 64), np.float32)
    kernels.described[(2,)](TensorDescriptor(a, [64, 64], [64, 1], [32, 64]), o, BM=32, BN=64)
    assert len(last().parameters) == declared(last().function.text)
    assert last().parameters[0].type == "*fp32" and last().parameters[0].value == a.ctypes.data
    assert [p.value for p in last().parameters[1:5]] == [64, 64, 64, 1]
    assert b"tensormap" not in last().function.text


def check_too_much_shared_memory():
    try:
        kernels.transposed_product[(1,)](np.zeros((256, 256), np.float32), np.zeros((256, 256), np.float32), B=256)
    except triton.runtime.errors.OutOfResources as error:
        assert "shared memory" in str(error) and str(target()["shared_of_block"]) in str(error)
    else:
        raise AssertionError(f"launched with {last().shared} bytes of shared memory")


def check_clusters_are_refused_by_triton():
    x, y, o = arrays()
    try:
        kernels.add[(4,)](x, y, o, N, BLOCK=1024, num_ctas=2)
    except ValueError as error:
        assert "num_ctas > 1 requires NVIDIA SM90+" in str(error) and not launches, error
    else:
        raise AssertionError("an sm_80 has no clusters")


def check_debug_calls():
    kernels.asserting[(1,)](np.zeros(128, np.int32), 128, BLOCK=128, debug=True)
    assert b"vprintf" in last().function.text and b"__assertfail" in last().function.text


def check_everything_is_put_back():
    """Runs in the state that ``main`` left: the surfaces are restored when this is called."""
    from triton.runtime import driver

    compiler = triton.backends.backends["nvidia"].compiler
    assert driver._active is None
    ours = ("prlx" in getattr(f, "__module__", "") or Path(f.__code__.co_filename).parent.name == "hooks"
            for f in (compiler.add_stages, triton.runtime.jit.JITFunction.run, triton.runtime.autotuner.Autotuner.run,
                      triton.compiler.CompiledKernel._init_handles))  # fmt: skip
    assert not any(ours)
    assert kernels.tuned.cache == {} and "do_bench" not in kernels.tuned.__dict__
    x, y, o = arrays()
    try:
        kernels.add[(4,)](x, y, o, N, BLOCK=1024)
    except Exception as error:
        assert "prlx" not in str(error) and not launches
    else:
        raise AssertionError("launched on a machine without a GPU")


def check_enabled_again_it_works_again():
    surfaces = install()
    try:
        x, y, o = arrays()
        kernels.add[(4,)](x, y, o, N, BLOCK=1024)
        assert len(launches) == 1
    finally:
        surfaces.restore()


def check_caches_are_apart():
    from triton.backends.compiler import GPUTarget

    make = triton.compiler.compiler.make_backend
    clean = make(GPUTarget("cuda", 80, 32)).hash()
    surfaces = install()
    try:
        assert make(GPUTarget("cuda", 80, 32)).hash() != clean
        assert triton.runtime.driver.active.get_current_device() > 1 << 20
    finally:
        surfaces.restore()
    assert make(GPUTarget("cuda", 80, 32)).hash() == clean


def simulator_array(array):
    from prlx.hooks.arrays import as_tensor

    return as_tensor(array)


def install():
    surfaces = Surfaces(simulator.KEY)
    driver, _ = simulator.driver(run)
    surfaces.install(driver)
    return surfaces


AFTERWARDS = ("check_everything_is_put_back", "check_enabled_again_it_works_again", "check_caches_are_apart")


def main():
    warnings.simplefilter("ignore")
    found = {name: check for name, check in globals().items() if name.startswith("check_")}
    if sys.argv[1:] == ["--list"]:
        print("\n".join(found))
        return
    surfaces, results = install(), {}
    for name, check in found.items():
        if name == AFTERWARDS[0]:
            surfaces.restore()
        launches.clear()
        try:
            check()
            results[name] = None
        except BaseException:
            results[name] = traceback.format_exc()
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
