"""The kernels that the checks of this folder launch. Triton reads their source, so they stand in a file."""

import triton.language as tl

import triton


@triton.jit
def add(x, y, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(o + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@triton.jit
def copy(x, o, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i))


@triton.jit
def arguments(t, s, p, q, n, f, flag, none, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(t[0] + i) * f + n + s[1]
    if flag:
        v += 1
    if none is not None:
        v += 2
    tl.store(t[1] + i, v + tl.load(p + i).to(tl.float32) + q)


@triton.jit
def described(d, o, BM: tl.constexpr, BN: tl.constexpr):
    v = d.load([tl.program_id(0) * BM, 0])
    tl.store(o + tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :], v)


@triton.jit
def transposed_product(x, o, B: tl.constexpr):
    r = tl.arange(0, B)
    p = r[:, None] * B + r[None, :]
    tl.store(o + p, tl.trans(tl.dot(tl.load(x + p), tl.load(x + p))))


@triton.jit
def asserting(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.device_assert(v < n, "too large")
    tl.device_print("v", v)
    tl.store(x + i, v + 1)


@triton.heuristics({"EVEN": lambda a: a["n"] % a["BLOCK"] == 0})
@triton.jit
def heuristic(x, o, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(o + i, tl.load(x + i))
    else:
        tl.store(o + i, tl.load(x + i, mask=i < n), mask=i < n)


def _tuned(**options):
    @triton.autotune(**options)
    @triton.jit
    def tuned(x, y, o, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(o + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)

    return tuned


_CONFIGS = [triton.Config({"BLOCK": b}, num_warps=w) for b, w in ((256, 4), (512, 8), (1024, 4))]
tuned = _tuned(configs=_CONFIGS, key=["n"], reset_to_zero=["o"], restore_value=["x"])
tuned_by_time = _tuned(configs=_CONFIGS[:2], key=["n"], warmup=1, rep=1)
