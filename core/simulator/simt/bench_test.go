package simt

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
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

// sumBody adds up a warp by shuffles, in a loop whose branches all lanes take alike, with a guard that leaves some out: all that asks who is
// there, where all are.
const sumBody = `	mov.u32 %r2, %r31;
	and.b32 %r5, %r31, 3;
	setp.eq.u32 %p2, %r5, 0;
	mov.u32 %r1, 0;
AGAIN:
	shfl.sync.bfly.b32 %r3, %r2, 16, 31, -1;
	add.s32 %r2, %r2, %r3;
	shfl.sync.bfly.b32 %r3, %r2, 8, 31, -1;
	add.s32 %r2, %r2, %r3;
	and.b32 %r4, %r1, 7;
	setp.ne.u32 %p3, %r4, 0;
	@%p3 bra NEXT;
	vote.sync.ballot.b32 %r6, %p2, -1;
	bar.sync 0;
NEXT:
	@%p2 xor.b32 %r2, %r2, %r1;
	add.s32 %r1, %r1, 1;
	setp.lt.s32 %p1, %r1, 300;
	@%p1 bra AGAIN;
`

// BenchmarkShuffles reports warp instructions a second of such a loop, on one worker.
func BenchmarkShuffles(b *testing.B) {
	benchmark(b, entry(sumBody+addressOfThread+"\tst.global.u32 [%rd3], %r2;"), testLaunch(16, 256, make([]byte, 4*256), 0))
}

// productSize is the size of the matrices of BenchmarkProduct.
const productSize = 256

// productLaunch is a product of two matrices of fp16 by a kernel of Triton's: 64x64 tiles, 32 at a time.
func productLaunch() *Launch {
	l := &Launch{Kernel: "matmul", Grid: [3]uint32{productSize / 64, productSize / 64, 1}, Block: [3]uint32{128, 1, 1}, SharedBytes: 16384}
	rng := rand.New(rand.NewPCG(1, 2))
	for i, name := range []string{"a", "b", "c"} {
		data := make([]byte, 2*productSize*productSize)
		for at := 0; at < len(data) && name != "c"; at += 2 {
			binary.LittleEndian.PutUint16(data[at:], uint16(0x3000+rng.IntN(0xc00)|rng.IntN(2)<<15)) // 0.125 to 1
		}
		host := 0x7f0000000000 + uint64(i)<<32
		l.Memory = append(l.Memory, memory.Allocation{Name: name, Host: host, Bytes: data})
		l.Params = append(l.Params, Argument{Name: name, Type: "*fp16", Bits: host, Allocation: i})
	}
	for _, name := range []string{"M", "N", "K", "a_stride", "b_stride", "c_stride"} {
		l.Params = append(l.Params, Argument{Name: name, Type: "i32", Bits: productSize, Allocation: -1})
	}
	for _, name := range []string{"global_scratch", "profile_scratch"} {
		l.Params = append(l.Params, Argument{Name: name, Type: "*i8", Allocation: -1})
	}
	return l
}

// BenchmarkProduct reports the time of one mma.sync of a warp in a whole product of matrices, on one worker: with all that loads its
// operands, and the checks.
func BenchmarkProduct(b *testing.B) {
	text, err := os.ReadFile("testdata/bench/matmul.ptx")
	if err != nil {
		b.Fatal(err)
	}
	benchmark(b, string(text), productLaunch())
	const products = productSize * productSize * productSize / (16 * 8 * 16)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/products, "ns/mma")
}

// BenchmarkWorkers runs the product with one and with two workers. Its figure is processor time by wall time, of which two workers reach
// 2 where nothing holds them up; cpu-s is what the work costs, which should not depend on the workers.
func BenchmarkWorkers(b *testing.B) {
	text, err := os.ReadFile("testdata/bench/matmul.ptx")
	if err != nil {
		b.Fatal(err)
	}
	for _, workers := range []int{1, 2} {
		b.Run(strconv.Itoa(workers), func(b *testing.B) {
			p, l := mustLoad(b, string(text)), productLaunch()
			j := job.New(context.Background(), job.Options{Workers: workers})
			before := processorTime(b)
			for b.Loop() {
				if _, err := p.Run(j, l); err != nil {
					b.Fatal(err)
				}
			}
			spent := processorTime(b) - before
			b.ReportMetric(spent.Seconds()/b.Elapsed().Seconds(), "cores")
			b.ReportMetric(spent.Seconds()/float64(b.N)*1e3, "cpu-ms/op")
		})
	}
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
