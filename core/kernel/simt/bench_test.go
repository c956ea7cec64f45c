package simt

import (
	"context"
	"testing"

	"github.com/prlx-go/prlx/core/job"
)

// loopBody is arithmetic in a loop: what a scalar kernel does most.
const loopBody = `	mov.u32 %r1, 0;
	mov.u32 %r2, %r31;
AGAIN:
	mad.lo.s32 %r2, %r2, 5, %r31;
	xor.b32 %r3, %r2, %r1;
	shr.u32 %r4, %r3, 3;
	add.s32 %r5, %r4, %r3;
	and.b32 %r6, %r5, 1023;
	sub.s32 %r7, %r6, %r4;
	add.s32 %r2, %r7, %r2;
	add.s32 %r1, %r1, 1;
	setp.lt.s32 %p1, %r1, 1000;
	@%p1 bra AGAIN;
`

// BenchmarkArithmetic reports warp instructions a second of a loop without memory, on one worker.
func BenchmarkArithmetic(b *testing.B) {
	benchmark(b, entry(loopBody+addressOfThread+"\tst.global.u32 [%rd3], %r2;"), testLaunch(16, 256, make([]byte, 4*256), 0))
}

// benchmark runs a launch on one worker, with counts and checks as users have them.
func benchmark(b *testing.B, text string, l *Launch) {
	b.Helper()
	p := mustLoad(b, text)
	j := job.New(context.Background(), job.Options{Workers: 1})
	var instructions uint64
	for b.Loop() {
		r, err := p.Run(j, l)
		if err != nil {
			b.Fatal(err)
		}
		instructions += r.Instructions
	}
	b.ReportMetric(float64(instructions)/b.Elapsed().Seconds()/1e6, "Mwarp-inst/s")
}

// copyBody moves 16 bytes a thread through shared memory in a loop: loads, stores, barriers.
const copyBody = `	.shared .align 16 .b8 tile[4096];
	mul.wide.u32 %rd2, %r31, 16;
	add.s64 %rd3, %rd1, %rd2;
	mov.u32 %r1, tile;
	shl.b32 %r2, %r31, 4;
	add.s32 %r3, %r1, %r2;
	xor.b32 %r4, %r3, 512;
	mov.u32 %r5, 0;
AGAIN:
	ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd3];
	st.shared.v4.b32 [%r3], {%r10, %r11, %r12, %r13};
	bar.sync 0;
	ld.shared.v4.b32 {%r14, %r15, %r16, %r17}, [%r4];
	st.global.v4.b32 [%rd3], {%r14, %r15, %r16, %r17};
	bar.sync 0;
	add.s32 %r5, %r5, 1;
	setp.lt.s32 %p1, %r5, 100;
	@%p1 bra AGAIN;
`

// BenchmarkCopy reports warp instructions a second of a loop of vector accesses and barriers, on one worker.
func BenchmarkCopy(b *testing.B) {
	benchmark(b, entry(copyBody), testLaunch(16, 256, make([]byte, 16*256), 0))
}
