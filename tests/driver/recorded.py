"""A program that records its own launches on the GPU that it finds, in one of several ways. Prints JSON."""
# ruff: noqa: N803

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import program
import triton
import triton.language as tl
from program import OnDevice, add, checked, cuda

import prlx
from prlx import _arenas

warnings.simplefilter("ignore")


@triton.jit
def steps(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=1)
    done = 0
    while tl.max(value, 0) > 1:
        value = tl.where(value % 2 == 0, value // 2, tl.where(value == 1, 1, 3 * value + 1))
        done += 1
    tl.store(out + at, value * 0 + done, mask=at < n)


@triton.autotune(
    [triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"], do_bench=lambda call, **_: call() or 1.0
)
@triton.jit
def tuned(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


def ints(*values):
    return OnDevice(np.array(values, np.int32))


def say(recording, **more):
    print(
        json.dumps({"launches": recording.launches, "recorded": recording.recorded, "losses": recording.losses, **more})
    )


def plain(folder):
    """One launch with a divergence in it, where SLIP says so."""
    values = [6, 7, 12, 27 if os.environ.get("SLIP") else 6, 3, 1, 2, 9]
    out = ints(*[0] * 8)
    with prlx.enable(device="gpu", output=folder, stores=True) as recording:
        steps[(8,)](ints(*values), out, 8, BLOCK=1)
    say(recording, out=out.numpy().tolist())


def switched(folder):
    """On, off, on, off: which launches are recorded, and whether kernels that are launched while it is off record."""
    clean, out = [], ints(*[0] * 300)
    x = ints(*range(300))
    for i in range(3):
        clean.append(getattr(add[(1,)](x, x, out, 256, BLOCK=256).metadata, "prlx_table", ""))
        tuned[(4,)](x, out, 256)
        with prlx.enable(device="gpu", output=f"{folder}/{i}") as recording:
            for k in range(2):
                held = add[(1,)](x, x, out, 256 - k, BLOCK=256)
                tuned[(4,)](x, out, 256 + i)  # is tuned while it is recorded
        say(recording, clean=bool(clean[-1]), table=bool(held.metadata.prlx_table))
        add[(1,)](x, x, out, 256, BLOCK=256)
        held[(1, 1, 1)](x, x, out, 256, 256)  # somebody kept a kernel that records: nobody gives it an arena any more
        before = out.numpy().tolist()[:256] == [2 * i for i in range(256)]
        print(json.dumps({"right": before}))


def restored(folder):
    """What of Triton and of the environment is something else while it is on, and afterwards."""
    from triton.backends import backends
    from triton.backends.nvidia import driver as nvidia
    from triton.compiler import compiler
    from triton.runtime import _allocation, autotuner, jit

    classes = compiler.ASTSource, compiler.CompiledKernel, autotuner.Autotuner, jit.JITFunction, nvidia.CudaLauncher
    owners = {one.__name__: one for one in classes}
    owners |= {"compiler": backends["nvidia"].compiler, "allocation": _allocation}

    def now():
        found = {f"{name}.{key}": id(value) for name, one in owners.items() for key, value in vars(one).items()}
        return (
            found
            | {f"environ {name}": value for name, value in os.environ.items()}
            | {"caches": type(add.device_caches).__name__}
        )

    out, x = ints(*[0] * 300), ints(*range(300))
    add[(1,)](x, x, out, 256, BLOCK=256)
    before = now()
    with prlx.enable(device="gpu", output=folder) as recording:
        add[(1,)](x, x, out, 256, BLOCK=256)
        during = now()
    after = now()
    changed, left = ([key for key in {**before, **one} if one.get(key) != before.get(key)] for one in (during, after))
    say(recording, changed=sorted(changed), left=sorted(left))


def threads(folder):
    """Eight threads on streams of their own, each with launches that nobody else has."""
    count, each = 8, int(os.environ.get("EACH", "25"))
    right = [0] * count
    with prlx.enable(device="gpu", output=folder, stores=True) as recording:

        def work(number):
            stream = ctypes.c_void_p()
            checked(cuda.cuStreamCreate(ctypes.byref(stream), 1))
            out = ints(*[0] * 64)
            for k in range(each):
                kernel = steps[(number + 1,)](ints(*[number + 2] * 64), out, 64, BLOCK=8) if k % 2 else None
                if kernel is None:
                    add[(1,)](ints(*[number] * 64), ints(*[k] * 64), out, 64, BLOCK=64)
                    right[number] += out.numpy().tolist() == [number + k] * 64
                else:
                    right[number] += len(set(out.numpy().tolist()[: 8 * (number + 1)])) == 1

        workers = [threading.Thread(target=work, args=(i,)) for i in range(count)]
        for one in workers:
            one.start()
        for one in workers:
            one.join()
    say(recording, right=right)


def full(folder):
    """The disk is full after some launches."""
    import resource

    out = ints(*[0] * 64)
    with prlx.enable(device="gpu", output=folder) as recording:
        for k in range(6):
            if k == 3:
                recording._gpu.drain.settle()
                resource.setrlimit(resource.RLIMIT_FSIZE, (64, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
            add[(1,)](ints(*range(64)), ints(*[k] * 64), out, 64, BLOCK=64)
        recording._gpu.drain.settle()
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    say(recording, right=out.numpy().tolist() == [i + 5 for i in range(64)])


def killed(folder):
    """Dies in the middle."""
    out = ints(*[0] * 64)
    recording = prlx.enable(device="gpu", output=folder)
    for k in range(5):
        add[(1,)](ints(*range(64)), ints(*[k] * 64), out, 64, BLOCK=64)
    recording._gpu.drain.settle()
    sys.stdout.flush()
    os.kill(os.getpid(), 9)


def raises(folder):
    """The user's code raises between a launch and the end."""
    out = ints(*[0] * 64)
    try:
        with prlx.enable(device="gpu", output=folder) as recording:
            add[(1,)](ints(*range(64)), ints(*range(64)), out, 64, BLOCK=64)
            raise KeyError("of the user")
    except KeyError:
        say(recording)


def bounds(folder):
    """A launch fails on the device."""
    out = ints(*[0] * 64)
    with prlx.enable(device="gpu", output=folder) as recording:
        add[(1,)](ints(*range(64)), ints(*range(64)), out, 64, BLOCK=64)
        try:
            add[(4,)](ints(*range(64)), ints(*range(64)), out, 250, BLOCK=64)
        except RuntimeError as error:
            said = str(error)
        add[(1,)](ints(*range(64)), ints(*range(64)), out, 64, BLOCK=64)
    say(recording, said=said, right=out.numpy().tolist() == [2 * i for i in range(64)])


def forked(folder):
    """A child launches nothing that its parent records."""
    out = ints(*[0] * 64)
    with prlx.enable(device="gpu", output=folder) as recording:
        add[(1,)](ints(*range(64)), ints(*range(64)), out, 64, BLOCK=64)
        child = os.fork()
        if child == 0:
            with contextlib.suppress(Exception):  # the driver refuses a child
                add[(1,)](ints(*range(64)), ints(*range(64)), out, 64, BLOCK=64)
            os._exit(0)
        os.waitpid(child, 0)
        add[(1,)](ints(*range(64)), ints(*range(64)), out, 64, BLOCK=64)
    say(recording)


def workers(folder):
    """Workers that prepare batches, forked and spawned, as a data loader has them; nothing of theirs is launched."""
    import multiprocessing

    out, sums = ints(*[0] * 64), []
    with prlx.enable(device="gpu", output=folder) as recording:
        for how in ("fork", "spawn"):
            with multiprocessing.get_context(how).Pool(2) as pool:
                for batch in pool.map(sum, [range(k) for k in (3, 5, 9)]):
                    add[(1,)](ints(*range(64)), ints(*[batch] * 64), out, 64, BLOCK=64)
                    sums.append(out.numpy().tolist()[0])
    say(recording, sums=sums)


def graphs(folder):
    """Launches are captured in a graph, while what was launched before is brought home, and the graph is launched."""
    from triton.runtime import driver

    stream, graph, made, mode = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
    checked(cuda.cuStreamCreate(ctypes.byref(stream), 1))
    x, out, fresh, seen = ints(*range(64)), ints(*[0] * 64), ints(*[0] * 64), []
    with prlx.enable(device="gpu", output=folder) as recording:
        begun, drain = threading.Event(), recording._gpu.drain
        bring, drain._bring = drain._bring, lambda arena: (begun.wait(), bring(arena))[1]
        add[(1,)](x, x, ints(*[0] * 64), 64, BLOCK=64)
        of_triton, driver.active.get_current_stream = driver.active.get_current_stream, lambda _device: stream.value
        checked(cuda.cuStreamBeginCapture_v2(stream, int(os.environ.get("CAPTURE", "0"))))
        begun.set()
        add[(1,)](x, out, out, 64, BLOCK=64)
        add[(1,)](x, out, out, 64, BLOCK=64)
        driver.active.get_current_stream = of_triton
        other = threading.Thread(target=lambda: add[(1,)](x, fresh, fresh, 64, BLOCK=64))
        other.start()  # allocates what its launch needs
        other.join()
        drain.settle()
        checked(cuda.cuStreamIsCapturing(stream, ctypes.byref(mode)))
        seen.append(out.numpy().tolist()[63])
        checked(cuda.cuStreamEndCapture(stream, ctypes.byref(graph)))
        checked(cuda.cuGraphInstantiateWithFlags(ctypes.byref(made), graph, ctypes.c_uint64(0)))
        for _ in range(2):
            checked(cuda.cuGraphLaunch(made, stream))
            seen.append(out.numpy().tolist()[63])
        add[(1,)](x, x, out, 64, BLOCK=64)
    checked(cuda.cuGraphExecDestroy(made))
    checked(cuda.cuGraphDestroy(graph))
    say(recording, seen=seen, capturing=mode.value)


def others(folder):
    """Another tool has hooks and an allocator, and a kernel was compiled before."""
    from triton.runtime import _allocation

    seen, out = [], ints(*[0] * 64)
    x = ints(*range(64))
    before = add[(1,)](x, x, out, 64, BLOCK=64)
    triton.knobs.runtime.launch_enter_hook = lambda data: seen.append(data.get()["name"])
    triton.set_allocator(lambda *asked: seen.append(asked))
    kept = _allocation._profile_allocator
    with prlx.enable(device="gpu", output=folder) as recording:
        add[(1,)](x, x, out, 64, BLOCK=64)
        before[(1, 1, 1)](x, x, out, 64, 64)
    say(recording, seen=seen, restored=_allocation._profile_allocator is kept)


def blocks(folder):
    """Two recordings one after the other, inside of one that is enabled."""
    x, out = ints(*range(64)), ints(*[0] * 64)
    with prlx.enable(device="gpu") as all_of_them:
        add[(1,)](x, x, out, 64, BLOCK=64)
        for name in ("a", "b"):
            with prlx.record(f"{folder}/{name}") as recording:
                add[(1,)](x, x, out, 64, BLOCK=64)
            say(recording)
    say(all_of_them)
    with prlx.record(f"{folder}/c.prlx") as recording:
        add[(1,)](x, x, out, 64, BLOCK=64)
    say(recording)


def refused(folder):
    """What cannot be had of a GPU is said before anything is launched."""
    for told in (
        {"nan": True},
        {"capture": "observed"},
        {"loads": True},
        {"outputs": 64},
        {"plan": True},
        {"map_cuda": True},
        {"memory": [1]},
    ):
        try:
            prlx.enable(device="gpu", output=folder, **told)
        except prlx.UsageError as error:
            print(json.dumps(str(error)))
    with prlx.enable(device="auto", output=folder) as recording:  # Triton sees a GPU
        pass
    say(recording)


def variables(folder):
    """Variables change between equal launches: each is recorded as they say when it is launched."""
    x, out = ints(*[27] * 8), ints(*[0] * 8)
    with prlx.enable(device="gpu", output=folder) as recording:
        for told in ({}, {"PRLX_SAMPLE_RATE": "7"}, {"PRLX_HISTORY_DEPTH": "5"}, {"PRLX_ENABLED": "0"}, {}):
            os.environ.update(told)
            steps[(1,)](x, out, 8, BLOCK=8)
            for name in told:
                del os.environ[name]
    say(recording)


def unpatient(folder):
    """No arena comes home in time: the launch is made, and counted."""
    _arenas.PATIENCE_S, x, out = 0.05, ints(*range(64)), ints(*[0] * 64)
    with prlx.enable(device="gpu", output=folder) as recording:
        add[(1,)](x, x, out, 64, BLOCK=64)
        gpu = recording._gpu
        gpu.drain.settle()
        held = [gpu.pool.take(gpu.cuda.context(lambda: 0)) for _ in range(2)]
        add[(1,)](x, x, out, 64, BLOCK=64)
        for one in held:
            gpu.pool.give(one)
    say(recording)


if __name__ == "__main__":
    assert program.add is add
    globals()[sys.argv[1]](str(Path(sys.argv[2]).absolute()))
