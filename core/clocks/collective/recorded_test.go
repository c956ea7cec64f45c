package collective

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/testing/filetest"
	"github.com/prlx-go/prlx/core/trace/chrometrace"
	"github.com/prlx-go/prlx/core/trace/event"
	"github.com/prlx-go/prlx/core/trace/source"
)

// chromePart extracts the collectives of a Chrome trace as node n.
func chromePart(t testing.TB, src *file.Source, n int32) *Part {
	t.Helper()
	ctx := context.Background()
	trace, err := chrometrace.Scan(ctx, src, chrometrace.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := fromRecorded(ctx, src, trace, Options{Node: n})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func chromeFile(t testing.TB, rel string, n int32) *Part {
	t.Helper()
	src, err := file.Open(context.Background(), filetest.Data(t, rel))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	return chromePart(t, src, n)
}

func chromeText(t testing.TB, text string, n int32) *Part {
	t.Helper()
	src, err := file.FromBytes("trace.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return chromePart(t, src, n)
}

// dlrm reads the eight ranks of the DLRM job, in order of rank.
func dlrm(t testing.TB) []*Part {
	t.Helper()
	f, err := os.Open(filetest.Data(t, "kineto/facebookresearch+param__dlrm_kineto.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	parts := make([]*Part, 8)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		_, rest, ok := strings.Cut(h.Name, "/worker")
		if h.Typeflag != tar.TypeReg || !ok {
			continue
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		n := int32(rest[0] - '0')
		parts[n] = chromeText(t, string(b), n)
	}
	return parts
}

func TestEightRanksOfDLRMAreMatchedAndPossible(t *testing.T) {
	parts := dlrm(t)
	for n, p := range parts {
		if p == nil || p.Ranks[int32(n)] != n {
			t.Fatalf("rank %d: %+v", n, p)
		}
	}
	m := mustMatch(t, parts...)
	v := mustCheck(t, m, nil, 5)
	if v.ByKind[event.AllReduce].Groups != 3 || v.ByKind[event.AllToAll].Groups != 5 || v.Groups != 8 || m.UnmatchedCount() != 0 {
		t.Errorf("%+v unmatched %v; want 3 all-reduce and 5 all-to-all of 8 ranks each", v.ByKind, m.Unmatched)
	}
	for _, g := range m.Groups {
		if len(g.Members) != 8 || g.How != byOrder {
			t.Errorf("%s: %d members by %d", m.Part.Ops[g.Op].Key, len(g.Members), g.How)
		}
	}
	if v.Violated != 0 || v.Guessed != 0 {
		t.Errorf("%d violated, %d guessed, worst %+v: all ranks ran on one host", v.Violated, v.Guessed, v.Worst)
	}
	if len(m.Assumptions) != 1 || !strings.Contains(m.Assumptions[0], "taken as a member") {
		t.Errorf("assumptions %q: traces of 2023 do not say who is in a group, and the result must say so", m.Assumptions)
	}
	t.Logf("%+v smallest gap %d ns, median %d; assumptions %q", v.Counts, v.MinGapNS, v.MedianNS, m.Assumptions)

	shifted := mustCheck(t, m, func(s *event.Span, ns int64) (int64, int64) { return ns + int64(s.Node)*100_000_000, 0 }, 1)
	if shifted.Violated != 8 {
		t.Errorf("clocks 100 ms apart: %d of 8 violated", shifted.Violated)
	}
}

func TestKernelsWithMetadataAreWhatTheMetadataSays(t *testing.T) {
	p := chromeFile(t, "kineto/facebookresearch+HolisticTraceAnalysis__nccl_data.json.gz", 0)
	count := map[event.Kind]int{}
	for _, s := range p.Spans {
		op := &p.Ops[s.Op]
		count[op.Kind]++
		if op.Guess || !op.Ranked || fmt.Sprint(op.Groups) != "[[0 1]]" || !strings.HasPrefix(op.Key, "group 0 (default_pg)/") || s.Size == 0 {
			t.Errorf("%+v size %d", *op, s.Size)
		}
	}
	if count[event.AllReduce] != 15 || count[event.Broadcast] != 6 || len(p.Spans) != 21 {
		t.Errorf("got %v, want 15 all-reduce and 6 broadcast", count)
	}
	// The partner is in no trace; with a copy of it as the other rank, all are matched, and nobody knows the broadcasts' root.
	if m := mustMatch(t, p); m.UnmatchedCount() != 21 || len(m.Groups) != 0 {
		t.Errorf("alone: %d groups, unmatched %v", len(m.Groups), m.Unmatched)
	}
	q := chromeFile(t, "kineto/facebookresearch+HolisticTraceAnalysis__nccl_data.json.gz", 1)
	q.Ranks[1] = 1
	v := mustCheck(t, mustMatch(t, p, q), nil, 5)
	if v.Groups != 21 || v.Consistent != 15 || v.Undecidable != 6 {
		t.Errorf("with its twin: %+v", v.Counts)
	}
}

// kernelJSON is a NCCL kernel with the args that PyTorch writes.
func kernelJSON(ts, dur int, args string) string {
	return fmt.Sprintf(`{"ph":"X","cat":"kernel","name":"ncclDevKernel_x(args)","pid":0,"tid":7,"ts":%d,"dur":%d,"args":{"device":0,%s}}`, ts, dur, args)
}

func rankJSON(rank int, events ...string) string {
	return fmt.Sprintf(`{"distributedInfo":{"backend":"nccl","rank":%d,"world_size":4,"pg_config":[{"pg_name":"9","pg_size":2,"ranks":[1,3]}]},"traceEvents":[%s]}`,
		rank, strings.Join(events, ","))
}

func TestProcessGroupsSequenceNumbersSizesAndPeers(t *testing.T) {
	group := func(name, ranks, collective, more string) string {
		return fmt.Sprintf(`"Collective name":%q,"Process Group Name":%q,"Process Group Ranks":%q%s`, collective, name, ranks, more)
	}
	for _, c := range []struct {
		name                string
		ranks               map[int][]string
		groups, unmatched   int
		violated, undecided int
	}{
		{"sub-groups are apart", map[int][]string{
			0: {kernelJSON(0, 10, group("a", "[0, 1]", "allreduce", ""))}, 1: {kernelJSON(5, 10, group("a", "[0, 1]", "allreduce", ""))},
			2: {kernelJSON(100, 10, group("b", "[2, 3]", "allreduce", ""))}, 3: {kernelJSON(105, 10, group("b", "[2, 3]", "allreduce", ""))},
		}, 2, 0, 0, 0},
		{"group list of the trace where ranks are shortened", map[int][]string{
			1: {kernelJSON(0, 10, group("9", "[1, ...]", "_allgather_base", ""))}, 3: {kernelJSON(50, 10, group("9", "[1, ...]", "allgather_into_tensor_coalesced", ""))},
		}, 1, 0, 1, 0},
		{"sequence numbers find the missing one", map[int][]string{
			0: {kernelJSON(0, 10, group("a", "[0, 1]", "allreduce", `,"Seq":1`)), kernelJSON(20, 10, group("a", "[0, 1]", "allreduce", `,"Seq":2`))},
			1: {kernelJSON(22, 10, group("a", "[0, 1]", "allreduce", `,"Seq":2`))},
		}, 1, 1, 0, 0},
		{"ids tell groups of one name apart whose ranks are shortened", map[int][]string{
			0: {kernelJSON(0, 10, group("c", "[0, ...]", "allreduce", `,"Group size":2,"Seq":1,"Comms Id":18446744073709551615`))}, 1: {kernelJSON(5, 10, group("c", "[0, ...]", "allreduce", `,"Group size":2,"Seq":1,"Comms Id":18446744073709551615`))},
			2: {kernelJSON(100, 10, group("c", "[2, ...]", "allreduce", `,"Group size":2,"Seq":1,"Comms Id":7`))}, 3: {kernelJSON(105, 10, group("c", "[2, ...]", "allreduce", `,"Group size":2,"Seq":1,"Comms Id":7`))},
		}, 2, 0, 0, 0},
		{"ids find the missing one", map[int][]string{
			0: {kernelJSON(0, 10, group("a", "[0, 1]", "allreduce", `,"Comms Id":17000000000000000001`)), kernelJSON(20, 10, group("a", "[0, 1]", "allreduce", `,"Comms Id":"42"`))},
			1: {kernelJSON(22, 10, group("a", "[0, 1]", "allreduce", `,"Comms Id":42`))},
		}, 1, 1, 0, 0},
		{"a send and its receive have ids of their own", map[int][]string{
			0: {kernelJSON(0, 10, group("a", "[0, 1, 2, 3]", "send", `,"Dst Rank":1,"Comms Id":5`))}, 1: {kernelJSON(5, 10, group("a", "[0, 1, 2, 3]", "recv", `,"Src Rank":0,"Comms Id":6`))},
		}, 1, 0, 0, 0},
		{"without them nothing is guessed", map[int][]string{
			0: {kernelJSON(0, 10, group("a", "[0, 1]", "allreduce", "")), kernelJSON(20, 10, group("a", "[0, 1]", "allreduce", ""))},
			1: {kernelJSON(22, 10, group("a", "[0, 1]", "allreduce", ""))},
		}, 0, 3, 0, 0},
		{"sizes that differ say that the order is lost", map[int][]string{
			0: {kernelJSON(0, 10, group("a", "[0, 1]", "allreduce", `,"In msg nelems":5`)), kernelJSON(20, 10, group("a", "[0, 1]", "allreduce", `,"In msg nelems":6`))},
			1: {kernelJSON(0, 10, group("a", "[0, 1]", "allreduce", `,"In msg nelems":5`)), kernelJSON(20, 10, group("a", "[0, 1]", "allreduce", `,"In msg nelems":7`))},
		}, 0, 4, 0, 0},
		{"a receive that ended before its send began", map[int][]string{
			0: {kernelJSON(50, 10, group("a", "[0, 1, 2, 3]", "send", `,"Dst Rank":1`))}, 1: {kernelJSON(0, 10, group("a", "[0, 1, 2, 3]", "recv", `,"Src Rank":0`))},
		}, 1, 0, 1, 0},
		{"a send that ended before its receive began", map[int][]string{
			0: {kernelJSON(0, 10, group("a", "[0, 1, 2, 3]", "send", `,"Dst Rank":1`))}, 1: {kernelJSON(50, 10, group("a", "[0, 1, 2, 3]", "recv", `,"Src Rank":0`))},
		}, 1, 0, 0, 0},
		{"an all-to-all with empty parts has no rule", map[int][]string{
			0: {kernelJSON(0, 10, group("a", "[0, 1]", "alltoall_base", `,"In split size":"[0, 3]"`))},
			1: {kernelJSON(50, 10, group("a", "[0, 1]", "alltoall_base", `,"In split size":"[3, 0]"`))},
		}, 1, 0, 0, 1},
		{"a group of one", map[int][]string{0: {kernelJSON(0, 10, group("a", "[0]", "allreduce", `,"Group size":1`))}}, 0, 0, 0, 0},
	} {
		var parts []*Part
		var ranks []int
		for r := range c.ranks {
			ranks = append(ranks, r)
		}
		slices.Sort(ranks)
		for i, r := range ranks {
			parts = append(parts, chromeText(t, rankJSON(r, c.ranks[r]...), int32(i)))
		}
		m := mustMatch(t, parts...)
		v := mustCheck(t, m, nil, 5)
		if v.Groups != c.groups || m.UnmatchedCount() != c.unmatched || v.Violated != c.violated || v.Undecidable != c.undecided {
			t.Errorf("%s: %+v, unmatched %v; want %d groups, %d unmatched, %d violated, %d undecidable", c.name, v.Counts, m.Unmatched, c.groups,
				c.unmatched, c.violated, c.undecided)
		}
	}
}

// TestNumbersAreTrustedWhereDevicesCountTheSame: a counter that a process shares among its communicators pairs what does not belong together.
func TestNumbersAreTrustedWhereDevicesCountTheSame(t *testing.T) {
	kernels := func(numbers []int, name func(k int) string, elements func(k int) int) (list []string) {
		for k, n := range numbers {
			list = append(list, kernelJSON(20*k, 10, fmt.Sprintf(`"Collective name":"%s","Process Group Name":"a","Process Group Ranks":"[0, 1]","Group size":2,"In msg nelems":%d,"Seq":%d`, name(k), elements(k), n)))
		}
		return list
	}
	count := func(from, by, n int) (out []int) {
		for k := range n {
			out = append(out, from+by*k)
		}
		return out
	}
	reduce := func(int) string { return "allreduce" }
	same := func(int) int { return 64 }
	for _, tc := range []struct {
		name   string
		a, b   []string
		groups int
		reason string
	}{
		{"counted on", kernels(count(5, 1, 12), reduce, same), kernels(count(5, 1, 12), reduce, same), 12, ""},
		{"other windows", kernels(count(5, 1, 12), reduce, same), kernels(count(9, 1, 12), reduce, same), 8, reasonAlone},
		{"some lost", kernels([]int{1, 2, 3, 5, 6, 7, 9, 10, 11, 13}, reduce, same), kernels(count(1, 1, 13), reduce, same), 10, reasonAlone},
		{"a shared counter", kernels(count(4, 3, 12), reduce, same), kernels(count(4, 3, 12), reduce, same), 0, reasonGaps},
		{"few numbers, far apart", kernels(count(4, 30, 4), reduce, same), kernels(count(4, 30, 4), reduce, same), 4, ""},
		{"other operations", kernels(count(1, 1, 4), reduce, same), kernels(count(1, 1, 4), func(k int) string { return []string{"allreduce", "broadcast"}[k%2] }, same), 0, reasonNamesake},
		{"other sizes", kernels(count(1, 1, 4), reduce, same), kernels(count(1, 1, 4), reduce, func(k int) int { return 64 + k/3 }), 3, reasonUnequal},
		{
			"several of one number", kernels([]int{1, 1, 2, 2}, func(k int) string { return []string{"allreduce", "broadcast"}[k%2] }, same),
			kernels([]int{1, 1, 2, 2}, func(k int) string { return []string{"broadcast", "allreduce"}[k%2] }, same), 4, "",
		},
	} {
		m := mustMatch(t, chromeText(t, rankJSON(0, tc.a...), 0), chromeText(t, rankJSON(1, tc.b...), 1))
		reasons := map[string]bool{}
		for _, u := range m.Unmatched {
			reasons[u.Reason] = true
		}
		if len(m.Groups) != tc.groups || len(reasons) > 1 || tc.reason != "" && !reasons[tc.reason] || tc.reason == "" && len(reasons) > 0 {
			t.Errorf("%s: %d groups, want %d; unmatched %+v, want %q", tc.name, len(m.Groups), tc.groups, m.Unmatched, tc.reason)
		}
	}
}

// TestThinnedOutTracesAreNotMatchedByOrder reads two ranks from which events were removed at random: the k-th all-reduce of one
// is not the k-th of the other, as the sizes show, and then nothing else on that stream can be told either.
func TestThinnedOutTracesAreNotMatchedByOrder(t *testing.T) {
	m := mustMatch(t, chromeFile(t, "kineto/facebookresearch+HolisticTraceAnalysis__sampled_rank-0.json.gz", 0),
		chromeFile(t, "kineto/facebookresearch+HolisticTraceAnalysis__sampled_rank-1.json.gz", 1))
	v := mustCheck(t, m, nil, 5)
	if v.ByKind[event.AllReduce].Groups+v.ByKind[event.AllToAll].Groups != 0 || v.Violated != 0 {
		t.Errorf("%+v, worst %+v", v.ByKind, v.Worst)
	}
	if v.ByKind[event.AllGather].Consistent != 2 || m.UnmatchedCount() != 16 {
		t.Errorf("%+v, unmatched %v; want the 2 all-gather of the other stream and 16 executions unmatched", v.ByKind, m.Unmatched)
	}
}

func TestDevicesThatDisagreeAboutTheOrderAreNotMatched(t *testing.T) {
	args := func(name string) string {
		return fmt.Sprintf(`"Collective name":%q,"Process Group Name":"a","Process Group Ranks":"[0, 1]"`, name)
	}
	swapped := mustMatch(t, chromeText(t, rankJSON(0, kernelJSON(0, 5, args("allreduce")), kernelJSON(10, 5, args("allgather"))), 0),
		chromeText(t, rankJSON(1, kernelJSON(0, 5, args("allgather")), kernelJSON(10, 5, args("allreduce"))), 1))
	if len(swapped.Groups) != 0 || swapped.UnmatchedCount() != 4 || swapped.Unmatched[0].Reason != reasonChain {
		t.Errorf("%d groups, unmatched %v", len(swapped.Groups), swapped.Unmatched)
	}
}

func TestElementsOfAShape(t *testing.T) {
	for text, want := range map[string]int64{
		"[[19618307]]": 19618307, "[[2, 3]]": 6, "[[]]": 0, "": 0, "[[2],[3]]": 0, "[[[2, 3]]]": 0,
		"[[-1]]": 0, "[[4611686018427387904, 2]]": 0, "[3]": 0, "[[": 0,
	} {
		if got := elements(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}

func TestChromeTracesWithoutCollectivesAndWithoutPrograms(t *testing.T) {
	for _, rel := range []string{
		"AMD-AGI+TraceLens__torch_compile_triton__trace.json.gz", "pytorch+kineto__gpu_metrics_input.json",
		"facebookresearch+HolisticTraceAnalysis__distributed_info_not_found.json.gz",
	} {
		p := chromeFile(t, "kineto/"+rel, 0)
		m := mustMatch(t, p)
		v := mustCheck(t, m, nil, 5)
		if len(p.Spans) != 0 || v.Groups != 0 || m.UnmatchedCount() != 0 || len(p.Warnings) != 0 {
			t.Errorf("%s: %d executions, %+v, %v", rel, len(p.Spans), v.Counts, p.Warnings)
		}
	}
	// JAX's own JSON names operations but carries no program: what psum_invariant.7 is stays unknown, and the document says so.
	p := chromeFile(t, "jax_skew/p2/node0.trace.json.gz", 0)
	if len(p.Spans) != 0 || p.Unknown < 240 || len(p.Warnings) != 1 {
		t.Errorf("JAX JSON: %d executions, %d unknown, warnings %q", len(p.Spans), p.Unknown, p.Warnings)
	}
}

func TestNamesOfPyTorchsVersionsAreOne(t *testing.T) {
	for name, want := range map[string]event.Kind{
		"allreduce": event.AllReduce, "allreduce_coalesced": event.AllReduce, "nccl:all_reduce": event.AllReduce, "_allgather_base": event.AllGather,
		"nccl:_all_gather_base": event.AllGather, "all_gather_into_tensor": event.AllGather, "allgather_into_tensor_coalesced": event.AllGather,
		"_reduce_scatter_base": event.ReduceScatter, "reduce_scatter_tensor_coalesced": event.ReduceScatter, "alltoall_base": event.AllToAll,
		"all_to_allv": event.AllToAll, "all_to_all_single": event.AllToAll, "nccl:all_to_all": event.AllToAll, "broadcast": event.Broadcast,
		"_broadcast_oop": event.Broadcast, "reduce": event.Reduce, "_reduce_oop": event.Reduce, "send": event.SendRecv, "recv": event.SendRecv,
		"barrier": event.Barrier, "gather": event.Gather, "scatter": event.Scatter, "wait": event.Unknown, "": event.Unknown, "base": event.Unknown,
	} {
		if got := kindOfCollective(collectiveName(name)); got != want {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
	}
}

// fromRecorded is FromRecordedNodes of a trace of one node.
func fromRecorded(ctx context.Context, src *file.Source, trace source.Recorded, opt Options) (*Part, error) {
	parts, err := FromRecordedNodes(ctx, src, trace, nil, []Options{opt})
	if err != nil {
		return nil, err
	}
	return parts[0], nil
}
