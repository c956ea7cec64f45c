"""The kernels that the checks of this folder launch. Triton reads their source, so they stand in a file."""

import triton
import triton.language as tl


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


@triton.jit
def softmax(o, x, so, sx, n, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + r * sx + c, mask=c < n, other=-float("inf"))
    v = v - tl.max(v, axis=0)
    e = tl.exp(v)
    tl.store(o + r * so + c, e / tl.sum(e, axis=0), mask=c < n)


@triton.jit
def matmul(a, b, c, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        ka = rk + k * BK
        x = tl.load(a + rm[:, None] * sam + ka[None, :], mask=(rm[:, None] < M) & (ka[None, :] < K), other=0.0)
        y = tl.load(b + ka[:, None] * sbk + rn[None, :], mask=(ka[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc)
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    tl.store(c + rm[:, None] * scm + rn[None, :], acc.to(c.dtype.element_ty), mask=mask)


@triton.jit
def unmasked(x, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(o + i, v + 1)  # the bug: no mask


@triton.jit
def gathered(table, o, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(o + tl.program_id(0) * BLOCK + i, tl.load(row + i))


@triton.jit
def indexed(x, indices, o, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + tl.load(indices + i)))


@triton.jit
def wide_number(o, n):
    tl.store(o, tl.cast(n, tl.int64).to(tl.float64, bitcast=True))


@triton.jit
def forever(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    for _ in range(n):
        v = v * 0.5 + 1
    tl.store(x + i, v)


@triton.jit
def later(x, n, BLOCK: tl.constexpr):
    """The first block ends at once, the second takes n rounds."""
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    for _ in range(n * tl.program_id(0)):
        v = v * 0.5 + 1
    tl.store(x + BLOCK * tl.program_id(0) + i, v)


@triton.jit
def printing(x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.device_print("value", tl.load(x + i))


@triton.jit
def racing(o, BLOCK: tl.constexpr):
    tl.store(o + tl.arange(0, BLOCK), tl.program_id(0))


@triton.jit
def describing(x, o, M, BM: tl.constexpr, BN: tl.constexpr):
    d = tl.make_tensor_descriptor(x, [M, BN], [BN, 1], [BM, BN])
    v = d.load([tl.program_id(0) * BM, 0])
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    tl.store(o + r[:, None] * BN + tl.arange(0, BN)[None, :], v, mask=r[:, None] < M)


@triton.jit
def accumulated(x, z, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.atomic_add(z + i, tl.load(x + i), mask=i < n)


@triton.jit
def seeded(o, seed, BLOCK: tl.constexpr):
    tl.store(o + tl.arange(0, BLOCK), seed)


@triton.jit
def checked_add(a, b):
    total = a.to(tl.int64) + b.to(tl.int64)
    tl.device_assert((total >= -(2**31)) & (total <= 2**31 - 1), "the sum overflows")
    return a + b


@triton.jit
def scanning(x, z, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(z + i, tl.associative_scan(tl.load(x + i), 0, checked_add))


@triton.jit
def summing(x, z, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    v = tl.load(x + i[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(z + i, tl.reduce(v, 1, checked_add))


@triton.jit
def cumulating(x, z, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(z + i, tl.cumsum(tl.load(x + i), 0))


@triton.jit
def truncating(x, o, n, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(o + i, (v * 5 + n).to(tl.int32).to(tl.int64) * 3 + v.to(tl.int32).to(tl.int64))
