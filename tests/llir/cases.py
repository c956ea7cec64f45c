"""What is compiled for the corpus: kernel, types of arguments, constants, options, targets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

NVIDIA = ("sm_80", "sm_90", "sm_100", "sm_120")
AMD = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
ALL = NVIDIA + AMD
TMA = NVIDIA[1:]


@dataclass(frozen=True)
class Case:
    """One kernel with its arguments."""

    kernel: str
    signature: dict[str, str]
    constants: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    targets: tuple[str, ...] = ALL
    gluon: bool = False
    since: str = "3.5"  # the first Triton that compiles it


def pointers(names: str, kind: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), "*" + kind)


def numbers(names: str, kind: str = "i32") -> dict[str, str]:
    return dict.fromkeys(names.split(), kind)


MATMUL = numbers("m n k sa sb sc")
ACC = {"fp32": "tl.float32", "int32": "tl.int32", "fp64": "tl.float64"}
TILES = pointers("a b c", "fp16") | numbers("m n k")
HOST = {"da": "tensordesc<fp16[128, 64]>", "db": "tensordesc<fp16[128, 64]>", "dc": "tensordesc<fp16[128, 128]>"}
TILE = {"M": 128, "N": 128, "K": 64}


def matmul(kind: str, m: int, n: int, k: int, acc: str, targets: tuple[str, ...] = ALL, **options: Any) -> Case:
    made = {
        "fp16": "fp16",
        "bf16": "fp32",
        "fp8e5": "fp32",
        "int8": "int32",
        "fp32": "fp32",
        "i8": "i32",
        "fp64": "fp64",
    }[kind]
    signature = pointers("a b", kind) | pointers("c", made) | MATMUL
    return Case("matmul", signature, {"M": m, "N": n, "K": k, "ACC": ACC[acc]}, options, targets)


def attention(kind: str, m: int, n: int, d: int, *, causal: bool, **options: Any) -> Case:
    signature = pointers("q k v out", kind) | numbers("scale", "fp32") | numbers("length stride")
    return Case("attention", signature, {"M": m, "N": n, "D": d, "CAUSAL": causal}, options)


CASES: dict[str, Case] = {
    "masked_add": Case("masked_add", pointers("x y out", "fp32") | numbers("n"), {"BLOCK": 1024}),
    "masked_add_bf16": Case(
        "masked_add", pointers("x y out", "bf16") | numbers("n", "i64"), {"BLOCK": 2048}, {"num_warps": 8}
    ),
    "softmax": Case(
        "softmax", pointers("x", "fp16") | pointers("out", "bf16") | numbers("stride columns"), {"BLOCK": 2048}
    ),
    "layer_norm": Case(
        "layer_norm",
        pointers("x weight bias out", "fp32") | numbers("stride columns") | numbers("eps", "fp32"),
        {"BLOCK": 512},
    ),
    "matmul": matmul("fp16", 64, 64, 32, "fp32"),
    "matmul_large": matmul("fp16", 128, 128, 64, "fp32", num_warps=4, num_stages=3),
    "matmul_huge": matmul("fp16", 128, 256, 64, "fp32", num_warps=8, num_stages=2),
    "matmul_int8": matmul("i8", 64, 128, 64, "int32"),
    "matmul_tf32": matmul("fp32", 128, 64, 32, "fp32"),
    "matmul_fp64": matmul("fp64", 32, 32, 16, "fp64", (*NVIDIA[:3], "gfx90a", "gfx942")),
    "matmul_pair": matmul("fp16", 128, 128, 32, "fp32", ("sm_90", "sm_100"), num_ctas=2),
    "matmul_fewer_registers": matmul("fp16", 64, 64, 32, "fp32", NVIDIA, maxnreg=128),
    "attention": attention("fp16", 64, 64, 64, causal=True),
    "attention_large": attention("fp16", 128, 64, 128, causal=False, num_warps=4, num_stages=2),
    "counts": Case("counts", pointers("x bins seen", "i32") | numbers("n"), {"BINS": 64, "BLOCK": 512}),
    "scans": Case("scans", pointers("x out", "fp32") | numbers("n"), {"BLOCK": 1024}),
    "sorted_rows": Case("sorted_rows", pointers("x out", "i32") | numbers("stride"), {"ROWS": 4, "BLOCK": 64}),
    "dropout": Case(
        "dropout", pointers("x out", "fp32") | numbers("n") | numbers("p", "fp32") | numbers("seed"), {"BLOCK": 1024}
    ),
    "branches": Case(
        "branches", pointers("x out", "fp32") | pointers("bounds", "i32") | numbers("n"), {}, {"num_warps": 1}
    ),
    "split_locked": Case(
        "split_locked", pointers("x out", "fp32") | pointers("lock", "i32") | numbers("n"), {"BLOCK": 256}
    ),
    "calls": Case("calls", pointers("x out", "fp32") | numbers("limit", "fp32"), {"BLOCK": 1}),
    "two_d": Case("two_d", pointers("x out", "i8") | numbers("rows columns", "i64") | numbers("sr sc"), {"BLOCK": 32}),
    "depends": Case("depends", pointers("x out", "fp32") | numbers("n"), {"BLOCK": 512}, {"launch_pdl": True}, TMA),
    "described": Case("described", TILES, TILE, {"num_warps": 8}, TMA),
    "given": Case("given", HOST | numbers("k"), TILE, {"num_warps": 4}, TMA),
    "specialized": Case("specialized", HOST | numbers("m n k"), TILE, {"num_warps": 8}, ("sm_90", "sm_100")),
    "inner_specialized": Case("inner_specialized", HOST | numbers("k"), TILE, {"num_warps": 4}, ("sm_100",)),
    "gluon_copy": Case("gluon_copy", pointers("x out", "fp32") | numbers("n"), {"BLOCK": 1024}, gluon=True),
    "gluon_turned": Case(
        "gluon_turned", pointers("x out", "fp32") | numbers("rows columns"), {"BLOCK": 64}, gluon=True
    ),
    "gluon_parted": Case(
        "gluon_parted",
        pointers("x out", "fp32") | numbers("limit"),
        {"BLOCK": 256},
        {"num_warps": 4},
        ("sm_90", "sm_100"),
        True,
        "3.9",
    ),
}


def chosen(version: str, every: bool) -> list[tuple[str, str]]:
    """Cases with targets: the newest Triton for all, others in turns so that each sees every target."""
    rows = []
    for number, (name, case) in enumerate(CASES.items()):
        if [int(n) for n in version.split(".")[:2]] < [int(n) for n in case.since.split(".")]:
            continue
        turn = number + sum(int(n) for n in version.split("."))
        targets = (
            case.targets
            if every
            else sorted({case.targets[turn % len(case.targets)], case.targets[(turn * 2 + 1) % len(case.targets)]})
        )
        rows += [(name, target) for target in targets]
    return rows
