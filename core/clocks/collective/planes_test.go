package collective

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/event"
	"github.com/prlx-go/prlx/core/trace/xspace"
)

// The builders below write protobuf by hand: a message is its fields, one after the other.

func msg(num protowire.Number, parts ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), slices.Concat(parts...))
}

func str(num protowire.Number, s string) []byte { return msg(num, []byte(s)) }

func num(n protowire.Number, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType), uint64(v))
}

// tables gives numbers to names, as the metadata of a plane does.
type tables struct{ events, stats []string }

func index(list *[]string, name string) int64 {
	at := slices.Index(*list, name)
	if at < 0 {
		at = len(*list)
		*list = append(*list, name)
	}
	return int64(at + 1)
}

// span is an event of a test: a name, its time in ns, and stats whose string values are references.
type testEvent struct {
	name       string
	start, end int64
	stats      map[string]any
}

func testPlane(name string, lines map[string][]testEvent, extra ...[]byte) []byte {
	var t tables
	var body []byte
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		fields := str(2, line)
		for _, e := range lines[line] {
			ev := slices.Concat(num(1, index(&t.events, e.name)), num(2, e.start*1000), num(3, (e.end-e.start)*1000))
			for _, k := range slices.Sorted(maps.Keys(e.stats)) {
				st := num(1, index(&t.stats, k))
				switch v := e.stats[k].(type) {
				case string:
					st = append(st, num(7, index(&t.stats, v))...)
				case int:
					st = append(st, num(4, int64(v))...)
				}
				ev = append(ev, msg(4, st)...)
			}
			fields = append(fields, msg(4, ev)...)
		}
		body = append(body, msg(3, fields)...)
	}
	for i, n := range t.events {
		body = append(body, msg(4, num(1, int64(i+1)), msg(2, num(1, int64(i+1)), str(2, n)))...)
	}
	for i, n := range t.stats {
		body = append(body, msg(5, num(1, int64(i+1)), msg(2, num(1, int64(i+1)), str(2, n)))...)
	}
	return msg(1, str(2, name), body, slices.Concat(extra...))
}

// instr is an HLO instruction: name, opcode and raw fields.
func instr(id int64, name, opcode string, fields ...[]byte) []byte {
	return msg(2, str(1, name), str(2, opcode), num(35, id), slices.Concat(fields...))
}

func program(name string, id int64, devices []int64, instructions ...[]byte) []byte {
	assignment := slices.Concat(num(1, 1), num(2, int64(len(devices))))
	for _, d := range devices {
		assignment = append(assignment, msg(3, num(1, d))...)
	}
	proto := msg(1, str(1, name), num(5, id), msg(15, assignment), msg(3, slices.Concat(instructions...)))
	return msg(4, num(1, id), msg(2, num(1, id), str(2, fmt.Sprintf("%s(%d)", name, id)), msg(5, num(1, 1), msg(6, proto))))
}

func metadataPlane(programs ...[]byte) []byte {
	return msg(1, str(2, "/host:metadata"), slices.Concat(programs...), msg(5, num(1, 1), msg(2, num(1, 1), str(2, "Hlo Proto"))))
}

func spaceOf(t testing.TB, node int32, planes ...[]byte) *Part {
	t.Helper()
	ctx := context.Background()
	src, err := file.FromBytes("test.xplane.pb", slices.Concat(planes...))
	if err != nil {
		t.Fatal(err)
	}
	space, err := xspace.Scan(ctx, src, xspace.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := FromCompiled(ctx, src, space, Options{Node: node, StartNS: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	sameInJSON(t, src, space, p, Options{Node: node, StartNS: 1_000_000})
	return p
}

// global marks ids as participants: a channel and use_global_device_ids.
func global() []byte { return slices.Concat(num(26, 1), num(71, 1)) }

// summary lists the executions of a part.
func summary(p *Part) string {
	var b strings.Builder
	for _, s := range p.Spans {
		op := &p.Ops[s.Op]
		fmt.Fprintf(&b, "%s %v dev %d %d..%d guess %v\n", op.Key, op.Kind, s.Device, s.StartNS-1_000_000, s.EndNS-1_000_000, op.Guess)
	}
	return b.String()
}

func TestKernelsOfAGPUCountOnceAndByTheirProgram(t *testing.T) {
	prog := program("jit_step", 3, []int64{0, 1},
		instr(1, "all-reduce-start.1", "all-reduce-start", global()), instr(2, "all-reduce-done.1", "all-reduce-done", num(36, 1)),
		instr(3, "loop_reduce_fusion", "fusion"))
	stats := func(op string) map[string]any {
		return map[string]any{"hlo_op": op, "hlo_module": "jit_step", "program_id": 3}
	}
	p := spaceOf(t, 0, metadataPlane(prog), testPlane("/device:GPU:1", map[string][]testEvent{
		"Stream #20(Compute,Collective)": {
			{"ncclDevKernel_AllReduce_Sum_f32_RING_LL", 10, 50, stats("all-reduce-start.1")},
			{"loop_reduce_fusion", 50, 60, stats("loop_reduce_fusion")},
			{"ncclDevKernel_AllReduce_Sum_f32_RING_LL", 70, 90, stats("all-reduce-start.1")},
		},
		"XLA Ops":     {{"all-reduce-start.1", 10, 50, stats("all-reduce-start.1")}},
		"XLA Modules": {{"jit_step", 10, 90, nil}},
	}))
	want := "jit_step/all-reduce-start.1 all-reduce dev 1 10..50 guess false\njit_step/all-reduce-start.1 all-reduce dev 1 70..90 guess false\n"
	if got := summary(p); got != want || len(p.Warnings) != 0 || p.Unknown != 0 {
		t.Errorf("got\n%swant\n%swarnings %q, unknown %d", got, want, p.Warnings, p.Unknown)
	}
}

func TestKernelsWithoutAProgramAreJudgedByTheirNameAndFlagged(t *testing.T) {
	plane := func(shift int64) []byte {
		return testPlane("/device:GPU:0", map[string][]testEvent{"Stream #9": {
			{"ncclDevKernel_AllGather_RING_LL", 10 + shift, 50 + shift, nil},
			{"reduce_scatter_fusion", 50 + shift, 60 + shift, nil},
			{"ncclDevKernel_SendRecv", 60 + shift, 70 + shift, nil},
		}})
	}
	m := mustMatch(t, spaceOf(t, 0, plane(0)), spaceOf(t, 1, plane(100)))
	v := mustCheck(t, m, nil, 5)
	if v.Groups != 2 || v.Guessed != 2 || v.ByKind[event.AllGather].Violated != 1 || v.ByKind[event.SendRecv].Undecidable != 1 || len(m.Assumptions) != 1 {
		t.Errorf("%+v guessed %d assumptions %q", v.ByKind, v.Guessed, m.Assumptions)
	}
}

func TestStartAndDoneAreOneCollective(t *testing.T) {
	prog := program("jit_step", 5, []int64{0, 1},
		instr(1, "all-gather-start", "all-gather-start", global()), instr(2, "all-gather-done", "all-gather-done", num(36, 1)))
	ops := func(events ...testEvent) []byte {
		for i := range events {
			events[i].stats = map[string]any{"hlo_module": "jit_step"}
		}
		return testPlane("/device:TPU:0", map[string][]testEvent{"XLA Ops": events, "Async XLA Ops": {{"all-gather-start", 0, 99, nil}}})
	}
	p := spaceOf(t, 0, metadataPlane(prog), ops(testEvent{name: "%all-gather-start = (f32[8]) all-gather-start(f32[4] %x)", start: 10, end: 12},
		testEvent{name: "%all-gather-done = f32[8] all-gather-done(...)", start: 40, end: 41},
		testEvent{name: "%all-gather-start = (f32[8]) all-gather-start(f32[4] %x)", start: 60, end: 61},
		testEvent{name: "%all-gather-done = f32[8] all-gather-done(...)", start: 90, end: 92}))
	want := "jit_step/all-gather-start all-gather dev 0 10..41 guess false\njit_step/all-gather-start all-gather dev 0 60..92 guess false\n"
	if got := summary(p); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	cut := spaceOf(t, 0, metadataPlane(prog), ops(testEvent{name: "%all-gather-start", start: 10, end: 12}))
	if len(cut.Spans) != 0 || len(cut.Warnings) != 1 {
		t.Errorf("a start without its done: %s, warnings %q", summary(cut), cut.Warnings)
	}
}

func TestSendsAndReceivesArePairedByProgram(t *testing.T) {
	attribute := msg(68, msg(1, str(1, "_xla_send_recv_source_target_pairs"), str(2, "{{0,1}}")))
	prog := program("jit_pipe", 1, []int64{0, 1},
		instr(1, "send", "send", num(26, 4), attribute), instr(2, "send-done", "send-done", num(26, 4), num(36, 1)),
		instr(3, "recv", "recv", num(26, 4), attribute), instr(4, "recv-done", "recv-done", num(26, 4), num(36, 3)))
	node := func(n int32, name string, start, end int64) *Part {
		stats := func(op string) map[string]any {
			return map[string]any{"hlo_op": op, "hlo_module": "jit_pipe", "run_id": 7, "device_ordinal": int(n)}
		}
		return spaceOf(t, n, metadataPlane(prog), testPlane("/host:CPU", map[string][]testEvent{"pool": {
			{name, start, start + 1, stats(name)}, {name + "-done", end - 1, end, stats(name + "-done")},
		}}))
	}
	for _, c := range []struct {
		name       string
		recvEnd    int64
		want       Judgement
		wantGroups int
	}{{"received after it was sent", 60, Consistent, 1}, {"received before it was sent", 40, Violated, 1}} {
		m := mustMatch(t, node(0, "send", 50, 90), node(1, "recv", 10, c.recvEnd))
		v := mustCheck(t, m, nil, 5)
		if v.Groups != c.wantGroups || (v.Violated == 1) != (c.want == Violated) || (v.Consistent == 1) != (c.want == Consistent) {
			t.Errorf("%s: %+v unmatched %v", c.name, v.Counts, m.Unmatched)
		}
	}
}

func TestProgramsOfOneNameAreToldApartOrNotUsed(t *testing.T) {
	sub := func(groups ...[]int64) []byte {
		var list []byte
		for _, g := range groups {
			var ids []byte
			for _, id := range g {
				ids = append(ids, num(1, id)...)
			}
			list = append(list, msg(1, ids)...)
		}
		return msg(87, list)
	}
	two := metadataPlane(
		program("jit_f", 1, []int64{0, 1}, instr(1, "x.1", "all-reduce", global(), sub([]int64{0, 1}))),
		program("jit_f", 2, []int64{0, 1}, instr(1, "x.1", "all-gather", global(), sub([]int64{0, 1})), instr(2, "y.1", "all-to-all", global())))
	host := func(stats map[string]any, name string) []byte {
		stats["hlo_module"], stats["hlo_op"] = "jit_f", name
		return testPlane("/host:CPU", map[string][]testEvent{"pool": {{name, 0, 5, stats}}})
	}
	for _, c := range []struct {
		name    string
		plane   []byte
		want    string
		unknown int64
	}{
		{"by id", host(map[string]any{"program_id": 2}, "x.1"), "jit_f/x.1 all-gather dev 0 0..5 guess false\n", 0},
		{"by the other id", host(map[string]any{"program_id": 1}, "x.1"), "jit_f/x.1 all-reduce dev 0 0..5 guess false\n", 0},
		{"only one has it", host(map[string]any{}, "y.1"), "jit_f/y.1 all-to-all dev 0 0..5 guess false\n", 0},
		{"both have it", host(map[string]any{}, "x.1"), "", 1},
	} {
		if p := spaceOf(t, 0, two, c.plane); summary(p) != c.want || p.Unknown != c.unknown || int64(len(p.Warnings)) != c.unknown {
			t.Errorf("%s: got %q, %d unknown, warnings %q; want %q", c.name, summary(p), p.Unknown, p.Warnings, c.want)
		}
	}
	// A function called like an operation is none, and neither is the twin event that marks an operation's end.
	p := spaceOf(t, 0, two, testPlane("/host:CPU", map[string][]testEvent{"python": {{"x.1", 0, 5, nil}, {"end: x.1", 5, 6, nil}, {"all-reduce", 0, 9, nil}}}))
	if len(p.Spans) != 0 {
		t.Errorf("python functions: %s", summary(p))
	}
}

func TestDamagedProgramsAreReportedAndOthersStillRead(t *testing.T) {
	good := program("jit_g", 1, []int64{0, 1}, instr(1, "g.1", "all-reduce", global()))
	bad := msg(4, num(1, 9), msg(2, num(1, 9), str(2, "jit_bad(9)"), msg(5, num(1, 1), msg(6, []byte{0x0a, 0x7f, 1, 2}))))
	p := spaceOf(t, 0, metadataPlane(bad, good), testPlane("/host:CPU", map[string][]testEvent{"pool": {
		{"g.1", 0, 5, map[string]any{"hlo_op": "g.1", "hlo_module": "jit_g", "run_id": 1}},
	}}))
	if len(p.Spans) != 1 || len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "jit_bad") {
		t.Errorf("%s warnings %q", summary(p), p.Warnings)
	}
}
