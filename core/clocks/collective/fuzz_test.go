package collective

import (
	"context"
	"os"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/testing/filetest"
	"github.com/prlx-go/prlx/core/trace/chrometrace"
	"github.com/prlx-go/prlx/core/trace/xspace"
)

// extract reads bytes as a trace of either kind; errors must be typed.
func extract(t testing.TB, b []byte, asJSON bool) *Part {
	t.Helper()
	ctx := context.Background()
	src, err := file.FromBytes("fuzz", b)
	if err != nil {
		return nil
	}
	defer src.Close()
	var p *Part
	if asJSON {
		trace, err := chrometrace.Scan(ctx, src, chrometrace.ScanOptions{})
		if err != nil {
			return nil
		}
		p, err = fromRecorded(ctx, src, trace, Options{Limit: 1000})
		typed(t, err)
	} else {
		space, err := xspace.Scan(ctx, src, xspace.ScanOptions{})
		if err != nil {
			return nil
		}
		p, err = FromCompiled(ctx, src, space, Options{Limit: 1000, StartNS: space.ProfileStartNS})
		typed(t, err)
	}
	return p
}

func typed(t testing.TB, err error) {
	t.Helper()
	if err != nil && fault.Of(err).Kind != fault.Format && fault.Of(err).Kind != fault.Limit {
		t.Fatalf("got %v (%s), want a format or limit error", err, fault.Of(err).Kind)
	}
}

// judgeTwice matches a part with a copy of itself as another node, and judges it.
func judgeTwice(t testing.TB, p *Part) {
	t.Helper()
	if p == nil {
		return
	}
	other := &Part{Ops: p.Ops, Spans: append(p.Spans[:0:0], p.Spans...), DeviceIDs: map[Slot]int64{}, Ranks: map[int32]int{}}
	for i := range other.Spans {
		other.Spans[i].Node = 1
	}
	m := mustMatch(t, p, other)
	v := mustCheck(t, m, nil, 10)
	in := 0
	for _, g := range m.Groups {
		in += len(g.Members)
		if len(g.Members) < 2 {
			t.Fatalf("a group of %d", len(g.Members))
		}
	}
	if total := 2 * len(p.Spans); in+m.UnmatchedCount() > total || v.Groups != len(m.Groups) || v.Groups != v.Violated+v.Consistent+v.Undecidable {
		t.Fatalf("%d executions: %d in %d groups, %d unmatched; judged %+v", total, in, len(m.Groups), m.UnmatchedCount(), v.Counts)
	}
}

func TestCutAndFlippedRecordingsAreErrorsOrResults(t *testing.T) {
	for _, rel := range []string{"jax_skew/p2/node0.xplane.pb", "xplane/openxla+xprof__2cc1243__tpu_inference_2.xplane.pb"} {
		b, err := os.ReadFile(filetest.Data(t, rel))
		if err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			judgeTwice(t, extract(t, b[:len(b)*i/20], false))
		}
		for i := range 60 {
			flipped := append([]byte(nil), b...)
			flipped[(i*7919+13)*104729%len(b)] ^= byte(1 << (i % 8))
			judgeTwice(t, extract(t, flipped, false))
		}
	}
}

func FuzzFromXSpace(f *testing.F) {
	f.Add(metadataPlane(program("jit_step", 3, []int64{0, 1}, instr(1, "all-reduce.1", "all-reduce", global()))))
	f.Add(append(metadataPlane(program("m", 1, []int64{0, 1}, instr(1, "p", "collective-permute", msg(52, num(2, 1))))),
		testPlane("/host:CPU", map[string][]testEvent{"pool": {{"p", 0, 5, map[string]any{"hlo_op": "p", "hlo_module": "m", "run_id": 1}}}})...))
	f.Add(testPlane("/device:GPU:0", map[string][]testEvent{"Stream #9": {{"ncclDevKernel_AllGather_RING_LL", 10, 50, nil}}}))
	f.Fuzz(func(t *testing.T, b []byte) { judgeTwice(t, extract(t, b, false)) })
}

func FuzzFromChrome(f *testing.F) {
	f.Add([]byte(rankJSON(1, kernelJSON(0, 10, `"Collective name":"allreduce","Process Group Ranks":"[1, 3]","Seq":4`))))
	f.Add([]byte(rankJSON(0, kernelJSON(0, 10, `"Collective name":"send","Dst Rank":1`), kernelJSON(5, 1, `"correlation":3`),
		`{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":5,"tid":6,"ts":2,"dur":1,"args":{"correlation":3}}`,
		`{"ph":"X","cat":"user_annotation","name":"nccl:all_to_all","pid":5,"tid":6,"ts":1,"dur":9}`)))
	f.Fuzz(func(t *testing.T, b []byte) { judgeTwice(t, extract(t, b, true)) })
}
