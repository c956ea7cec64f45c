"""Microkernels in PTX for an sm_80, one for each behaviour of the simulator that a GPU can confirm.

Most apply one instruction to three arrays of numbers, odd ones among them: zeros of both signs, infinities, NaN, denormals, the
least and the greatest. Others exchange values between the lanes of a warp or the threads of a block, divide a warp, or multiply
small matrices. Each writes one word, or two, for each thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

THREADS = 512  # in blocks of BLOCK
BLOCK = 128

Kind = Literal["b32", "b64", "f32", "f64", "f16x2"]

_HEAD = """.version 7.0
.target sm_80
.address_size 64
.visible .entry {name}(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 out)
{{
.reg .pred p, q;
.reg .b16 h<4>;
.reg .b32 t, n, x, y, z, r, s, u<16>;
.reg .f32 f<20>;
.reg .b64 A, B, C, O, i, X, Y, Z, R;
.shared .align 16 .b8 tile[1024];
ld.param.u64 A, [a]; ld.param.u64 B, [b]; ld.param.u64 C, [c]; ld.param.u64 O, [out];
mov.u32 t, %ctaid.x; mov.u32 n, %ntid.x; mov.u32 u0, %tid.x; mad.lo.u32 t, t, n, u0;
mul.wide.u32 i, t, {bytes}; add.u64 A, A, i; add.u64 B, B, i; add.u64 C, C, i; add.u64 O, O, i;
"""
_NARROW = "ld.global.b32 x, [A]; ld.global.b32 y, [B]; ld.global.b32 z, [C]; mov.b32 r, 0;\n"
_WIDE = "ld.global.b64 X, [A]; ld.global.b64 Y, [B]; ld.global.b64 Z, [C]; mov.b64 R, 0;\n"


@dataclass(frozen=True)
class Microkernel:
    """A kernel and how near to the simulator's a GPU's result must be.

    Attributes
    ----------
    name
        What it shows, such as ``div.rn.f32``.
    kind
        What the words of its arrays are: bits, or numbers among which odd ones are.
    body
        Its instructions, from the registers x, y and z to r; capital letters where words have 64 bits.
    ulps
        0: the bits are the same. Else how many units in the last place an approximate result may differ by.
    """

    name: str
    kind: Kind
    body: str
    ulps: float = 0

    @property
    def bytes(self) -> int:
        """Of a word."""
        return 8 if self.kind in ("b64", "f64") else 4

    @property
    def entry(self) -> str:
        """Its name in the PTX."""
        return "k_" + "".join(letter if letter.isalnum() else "_" for letter in self.name)

    @property
    def text(self) -> str:
        """The PTX."""
        load, store = (_WIDE, "st.global.b64 [O], R;") if self.bytes == 8 else (_NARROW, "st.global.b32 [O], r;")
        return f"{_HEAD.format(name=self.entry, bytes=self.bytes)}{load}{self.body}\n{store}\nret;\n}}\n"


def _plain() -> Iterator[Microkernel]:
    """One instruction on words."""
    for op in (
        "add.s32", "sub.s32", "mul.lo.s32", "mul.hi.s32", "mul.hi.u32", "min.s32", "max.u32", "and.b32", "or.b32",
        "xor.b32", "add.sat.s32",
    ):  # fmt: skip
        yield Microkernel(op, "b32", f"{op} r, x, y;")
    for op in ("mad.lo.s32", "mad.hi.u32", "sad.s32", "prmt.b32", "bfe.s32", "bfe.u32"):
        yield Microkernel(op, "b32", f"{op} r, x, y, z;")
    for op in (
        "popc.b32",
        "clz.b32",
        "brev.b32",
        "not.b32",
        "abs.s32",
        "neg.s32",
        "bfind.u32",
        "bfind.s32",
        "cnot.b32",
    ):
        yield Microkernel(op, "b32", f"{op} r, x;")
    for op in ("shl.b32", "shr.u32", "shr.s32"):
        yield Microkernel(op, "b32", f"and.b32 y, y, 63; {op} r, x, y;")
    for op in ("div.s32", "div.u32", "rem.s32", "rem.u32"):
        yield Microkernel(op, "b32", f"or.b32 y, y, 1; {op} r, x, y;")
    for mode in ("l.wrap", "r.wrap", "l.clamp", "r.clamp"):
        yield Microkernel(f"shf.{mode}.b32", "b32", f"shf.{mode}.b32 r, x, y, z;")
    yield Microkernel("lop3.b32", "b32", "lop3.b32 r, x, y, z, 0xe8;")
    yield Microkernel("bfi.b32", "b32", "bfi.b32 r, x, y, z, 11;")
    yield Microkernel("addc.cc", "b32", "add.cc.u32 r, x, y; addc.u32 r, z, 0;")
    for op in ("add.s64", "mul.lo.s64", "mul.hi.u64", "min.s64", "xor.b64"):
        yield Microkernel(op, "b64", f"{op} R, X, Y;")
    yield Microkernel("div.s64", "b64", "or.b64 Y, Y, 1; div.s64 R, X, Y;")
    yield Microkernel("popc.b64", "b64", "popc.b64 r, X; cvt.u64.u32 R, r;")


def _floats() -> Iterator[Microkernel]:
    """One instruction on floats; what is approximate says how far a GPU may be from the true value, ours added."""
    for rounding in ("rn", "rz", "rm", "rp"):
        for op in ("add", "mul", "div"):
            yield Microkernel(f"{op}.{rounding}.f32", "f32", f"{op}.{rounding}.f32 r, x, y;")
        yield Microkernel(f"fma.{rounding}.f32", "f32", f"fma.{rounding}.f32 r, x, y, z;")
        yield Microkernel(f"sqrt.{rounding}.f32", "f32", f"abs.f32 x, x; sqrt.{rounding}.f32 r, x;")
        yield Microkernel(f"rcp.{rounding}.f32", "f32", f"rcp.{rounding}.f32 r, x;")
    for op in ("add.rn.ftz", "mul.rn.ftz", "add.rn.sat", "min", "max", "min.NaN", "max.NaN", "min.ftz", "copysign"):
        yield Microkernel(f"{op}.f32", "f32", f"{op}.f32 r, x, y;")
    yield Microkernel("fma.rn.ftz.f32", "f32", "fma.rn.ftz.f32 r, x, y, z;")
    for op in ("abs", "neg", "abs.ftz"):
        yield Microkernel(f"{op}.f32", "f32", f"{op}.f32 r, x;")
    for op in ("add.rn", "mul.rn", "div.rn", "min", "max"):
        yield Microkernel(f"{op}.f64", "f64", f"{op}.f64 R, X, Y;")
    yield Microkernel("fma.rn.f64", "f64", "fma.rn.f64 R, X, Y, Z;")
    yield Microkernel("sqrt.rn.f64", "f64", "abs.f64 X, X; sqrt.rn.f64 R, X;")
    for op in ("add.rn.f16x2", "mul.rn.f16x2", "min.f16x2", "max.NaN.f16x2", "sub.rn.f16x2"):
        yield Microkernel(op, "f16x2", f"{op} r, x, y;")
    for op in ("fma.rn.f16x2", "fma.rn.bf16x2", "fma.rn.relu.f16x2"):
        yield Microkernel(op, "f16x2", f"{op} r, x, y, z;")
    for op, ulps in (
        ("rcp.approx.f32", 2), ("rsqrt.approx.f32", 6), ("ex2.approx.f32", 6), ("ex2.approx.ftz.f32", 6),
        ("sqrt.approx.f32", 6),
    ):  # fmt: skip
        yield Microkernel(op, "f32", f"abs.f32 x, x; {op} r, x;" if "sqrt" in op else f"{op} r, x;", ulps)
    yield Microkernel("div.full.f32", "f32", "div.full.f32 r, x, y;", 4)
    yield Microkernel("div.approx.f32", "f32", "div.approx.f32 r, x, y;", 4)


def _conversions() -> Iterator[Microkernel]:
    """One conversion."""
    for target in ("s32", "u32", "s16", "u8"):
        for rounding in ("rni", "rzi", "rmi", "rpi"):
            narrow = "" if target.endswith("32") else "cvt.u32.u16 r, h0;"
            place = "r" if not narrow else "h0"
            yield Microkernel(
                f"cvt.{rounding}.{target}.f32", "f32", f"cvt.{rounding}.{target}.f32 {place}, x; {narrow}"
            )
    for source in ("s32", "u32"):
        for rounding in ("rn", "rz", "rm", "rp"):
            yield Microkernel(f"cvt.{rounding}.f32.{source}", "b32", f"cvt.{rounding}.f32.{source} r, x;")
    yield Microkernel("cvt.rn.f16.f32", "f32", "cvt.rn.f16.f32 h0, x; cvt.u32.u16 r, h0;")
    yield Microkernel("cvt.rz.f16.f32", "f32", "cvt.rz.f16.f32 h0, x; cvt.u32.u16 r, h0;")
    yield Microkernel("cvt.rn.bf16.f32", "f32", "cvt.rn.bf16.f32 h0, x; cvt.u32.u16 r, h0;")
    yield Microkernel("cvt.rn.f16x2.f32", "f32", "cvt.rn.f16x2.f32 r, x, y;")
    yield Microkernel("cvt.rn.bf16x2.f32", "f32", "cvt.rn.bf16x2.f32 r, x, y;")
    yield Microkernel("cvt.rna.tf32.f32", "f32", "cvt.rna.tf32.f32 r, x;")
    yield Microkernel("cvt.f32.f16", "f16x2", "mov.b32 {h0, h1}, x; cvt.f32.f16 r, h0;")
    yield Microkernel("cvt.rn.f32.f64", "f64", "cvt.rn.f32.f64 r, X; cvt.u64.u32 R, r;")
    yield Microkernel("cvt.sat.s8.s32", "b32", "cvt.sat.s8.s32 r, x;")
    yield Microkernel("cvt.rn.sat.f32.f32", "f32", "cvt.sat.f32.f32 r, x;")
    for test in ("lt", "le", "eq", "ne", "ltu", "equ", "num", "nan"):
        yield Microkernel(f"setp.{test}.f32", "f32", f"setp.{test}.f32 p, x, y; selp.b32 r, z, 7, p;")
    for test in ("lt.s32", "lo.u32", "ge.s32", "hs.u32"):
        yield Microkernel(f"setp.{test}", "b32", f"setp.{test} p, x, y; selp.b32 r, x, z, p;")


def _together() -> Iterator[Microkernel]:
    """Lanes and threads that exchange values, and warps that divide."""
    for way in ("idx", "up", "down", "bfly"):
        last = "0" if way == "up" else "31"
        yield Microkernel(
            f"shfl.sync.{way}",
            "b32",
            f"and.b32 y, u0, 7; shfl.sync.{way}.b32 r|p, x, y, {last}, -1; @!p xor.b32 r, r, 1;",
        )
    mixed = (  # true in one warp of four, false in another, and where x is less than y in the others
        "shr.u32 u1, t, 5; and.b32 u1, u1, 3; setp.lt.s32 p, x, y; setp.eq.or.b32 p, u1, 1, p; setp.ne.and.b32 p, u1, 2, p;"
    )
    for kind in ("all.pred", "any.pred", "uni.pred"):
        yield Microkernel(f"vote.sync.{kind}", "b32", f"{mixed} vote.sync.{kind} q, p, -1; selp.b32 r, 1, 2, q;")
    yield Microkernel("vote.sync.ballot", "b32", "setp.lt.s32 p, x, y; vote.sync.ballot.b32 r, p, -1;")
    yield Microkernel("match.any.sync", "b32", "and.b32 x, x, 3; match.any.sync.b32 r, x, -1;")
    yield Microkernel("match.all.sync", "b32", "shr.u32 x, x, 31; match.all.sync.b32 r|p, x, -1; @p xor.b32 r, r, 5;")
    for op in ("add.s32", "min.s32", "max.u32", "and.b32", "or.b32", "xor.b32"):
        yield Microkernel(f"redux.sync.{op}", "b32", f"shr.u32 u1, t, 5; or.b32 x, x, u1; redux.sync.{op} r, x, -1;")
    yield Microkernel(
        "shared memory", "b32",
        "mov.u32 s, tile; shl.b32 u1, u0, 2; add.u32 u1, u1, s; st.shared.b32 [u1], x; bar.sync 0;\n"
        "xor.b32 u2, u0, 37; shl.b32 u2, u2, 2; add.u32 u2, u2, s; ld.shared.b32 r, [u2];",
    )  # fmt: skip
    yield Microkernel(
        "atom.shared.add", "b32",
        "mov.u32 s, tile; shl.b32 u1, u0, 2; add.u32 u1, u1, s; st.shared.b32 [u1], 0; bar.sync 0;\n"
        "and.b32 u2, x, 28; add.u32 u2, u2, s; atom.shared.add.u32 u3, [u2], y; bar.sync 0; ld.shared.b32 r, [u1];",
    )  # fmt: skip
    yield Microkernel(
        "nested branches", "b32",
        "setp.lt.s32 p, x, 0; @p bra L1; setp.lt.s32 p, y, 0; @p bra L2; add.s32 r, x, y; bra L3;\n"
        "L2: sub.s32 r, x, y; bra L3; L1: mul.lo.s32 r, x, 3; L3: shfl.sync.bfly.b32 u1, r, 1, 31, -1; add.s32 r, r, u1;",
    )  # fmt: skip
    yield Microkernel(
        "a loop of different lengths", "b32",
        "and.b32 u1, x, 31; L1: add.s32 r, r, y; xor.b32 y, y, r; setp.eq.s32 p, u1, 0; sub.s32 u1, u1, 1; @!p bra L1;\n"
        "vote.sync.ballot.b32 u2, p, -1; xor.b32 r, r, u2;",
    )  # fmt: skip


def _products() -> Iterator[Microkernel]:
    """Products of small matrices by a warp: integers exactly, floats of few bits so that every order of sums is exact, too."""
    yield Microkernel(
        "mma.m16n8k32.s8", "b32",
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {u1, u2, u3, u4}, {x, y, z, x}, {y, z}, {x, y, z, x};\n"
        "xor.b32 r, u1, u2; xor.b32 r, r, u3; xor.b32 r, r, u4;",
    )  # fmt: skip
    small = "and.b32 x, x, 0x00030003; and.b32 y, y, 0x00030003; "  # 0 to 3 in each half, made 1 to 1 3/4 below
    half = small + "".join(
        f"shl.b32 {r}, {r}, 8; or.b32 {r}, {r}, 0x3c003c00; " for r in ("x", "y")
    )  # fmt: skip
    yield Microkernel(
        "mma.m16n8k16.f16", "b32",
        half + "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {f1, f2, f3, f4}, {x, y, y, x}, {y, x}, "
        "{0f3F800000, 0f40000000, 0f40400000, 0f00000000};\n"
        "mov.b32 r, f1; mov.b32 u2, f2; mov.b32 u3, f3; mov.b32 u4, f4; xor.b32 r, r, u2; xor.b32 r, r, u3; xor.b32 r, r, u4;",
    )  # fmt: skip


def microkernels() -> tuple[Microkernel, ...]:
    """All of them, in a fixed order."""
    return (*_plain(), *_floats(), *_conversions(), *_together(), *_products())
