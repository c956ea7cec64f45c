package lane

import (
	"math"
	"math/rand/v2"
	"testing"
)

// BenchmarkWarp measures one warp instruction of the frequent kinds.
func BenchmarkWarp(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"add.s32", "add.s32 %r0, %r1, %r2;"},
		{"mul.lo.s32", "mul.lo.s32 %r0, %r1, %r2;"},
		{"mul.hi.u32", "mul.hi.u32 %r0, %r1, %r2;"},
		{"xor.b32", "xor.b32 %r0, %r1, %r2;"},
		{"shl.b32", "shl.b32 %r0, %r1, 3;"},
		{"mov.b32", "mov.b32 %r0, %r1;"},
		{"prmt.b32", "prmt.b32 %r0, %r1, %r2, 0x3340;"},
		{"selp.b32", "selp.b32 %r0, %r1, %r2, %p1;"},
		{"setp.lt.s32", "setp.lt.s32 %p0, %r1, %r2;"},
		{"setp.gt.f32", "setp.gt.f32 %p0, %f1, %f2;"},
		{"add.s64", "add.s64 %d0, %d1, %d2;"},
		{"cvt.u64.u32", "cvt.u64.u32 %d0, %r1;"},
		{"add.f32", "add.f32 %f0, %f1, %f2;"},
		{"add.ftz.f32", "add.ftz.f32 %f0, %f1, %f2;"},
		{"max.f32", "max.f32 %f0, %f1, %f2;"},
		{"fma.rn.f32", "fma.rn.f32 %f0, %f1, %f2, %f3;"},
		{"fma.rn.ftz.f32", "fma.rn.ftz.f32 %f0, %f1, %f2, %f3;"},
		{"div.full.f32", "div.full.f32 %f0, %f1, %f2;"},
		{"ex2.approx.ftz.f32", "ex2.approx.ftz.f32 %f0, %f1;"},
		{"cvt.rn.f16x2.f32", "cvt.rn.f16x2.f32 %r0, %f1, %f2;"},
		{"cvt.f32.f16", "cvt.f32.f16 %f0, %h1;"},
		{"cvt.rn.f16.f32", "cvt.rn.f16.f32 %h0, %f1;"},
		{"fma.rn.f16x2", "fma.rn.f16x2 %r0, %r1, %r2, %r3;"},
		{"shfl.sync.bfly.b32", "shfl.sync.bfly.b32 %r0, %r1, 16, 31, -1;"},
		{"redux.sync.add.s32", "redux.sync.add.s32 %r0, %r1, -1;"},
	} {
		b.Run(c.name, func(b *testing.B) {
			v := newBench(b, c.text)
			rng := rand.New(rand.NewPCG(1, 2))
			for _, r := range v.in {
				for l := range Lanes {
					if r.bank == R32 && v.regs.R32[r.at][l] == 0 {
						v.regs.R32[r.at][l] = math.Float32bits(rng.Float32())
					}
				}
			}
			for b.Loop() {
				if err := v.run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkMMA measures one matrix product of a warp.
func BenchmarkMMA(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"m16n8k16.f32.f16", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, {%r8,%r9}, {%r10,%r11,%r12,%r13};"},
		{"m16n8k16.f32.bf16", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, {%r8,%r9}, {%r10,%r11,%r12,%r13};"},
		{"m16n8k8.f32.tf32", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, {%r8,%r9}, {%r10,%r11,%r12,%r13};"},
		{"m16n8k32.s8", "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32 {%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, {%r8,%r9}, {%r10,%r11,%r12,%r13};"},
		{"m8n8k4.f64", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d0,%d1}, {%d2}, {%d3}, {%d4,%d5};"},
	} {
		b.Run(c.name, func(b *testing.B) {
			v := newBench(b, c.text)
			rng := rand.New(rand.NewPCG(1, 2))
			for _, r := range v.in {
				for l := range Lanes {
					v.put(r, l, uint64(half(math.Float32bits(rng.Float32()-0.5))<<16|half(math.Float32bits(rng.Float32()-0.5))))
				}
			}
			for b.Loop() {
				if err := v.run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
