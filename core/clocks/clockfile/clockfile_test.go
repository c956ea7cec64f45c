package clockfile_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/testing/filetest"
	"github.com/prlx-go/prlx/core/trace/clock"
)

func parse(name string, b []byte) (*clockfile.File, error) {
	src, err := file.FromBytes(name, b)
	if err != nil {
		return nil, err
	}
	return clockfile.Read(context.Background(), src)
}

func fixture(t testing.TB, name string) *clockfile.File {
	t.Helper()
	src, err := file.Open(context.Background(), filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	f, err := clockfile.Read(context.Background(), src)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return f
}

func diff(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// snapshotProto encodes a SnapshotPairs message.
func snapshotProto(period uint64, pairs ...clockfile.SnapshotPair) []byte {
	var b []byte
	for _, p := range pairs {
		var m []byte
		m = protowire.AppendTag(m, 1, protowire.VarintType)
		m = protowire.AppendVarint(m, uint64(p.SysNS))
		m = protowire.AppendTag(m, 2, protowire.VarintType)
		m = protowire.AppendVarint(m, uint64(p.TracerNS))
		b = protowire.AppendTag(b, 1, protowire.BytesType)
		b = protowire.AppendBytes(b, m)
	}
	if period != 0 {
		b = protowire.AppendTag(b, 2, protowire.VarintType)
		b = protowire.AppendVarint(b, period)
	}
	return b
}

func TestSnapshotPairsInEverySpelling(t *testing.T) {
	absolute := []clockfile.SnapshotPair{{SysNS: 1760000000000000000, TracerNS: 3000000000}, {SysNS: 1760000004000000000, TracerNS: 7000080000}, {SysNS: 1760000008000000000, TracerNS: 11000160000}}
	diff(t, "absolute", absolute, fixture(t, "snapshots_absolute.jsonl").Snapshots.Pairs)
	diff(t, "rocm_ts_ns", absolute[:2], fixture(t, "snapshots_rocm.jsonl").Snapshots.Pairs)
	doc := fixture(t, "snapshots_document.json").Snapshots
	diff(t, "JSON form of the message", &clockfile.Snapshots{Pairs: absolute[:2], SamplingPeriodNS: 4e9}, doc)
	f, err := parse("s.pb", snapshotProto(4e9, absolute...))
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "protobuf", &clockfile.Snapshots{Pairs: absolute, SamplingPeriodNS: 4e9}, f.Snapshots)
	one, err := parse("one.json", []byte(`[{"sys_clock_ns":1760000000000000000,"tracer_clock_ns":3000000000}]`))
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "array", absolute[:1], one.Snapshots.Pairs)
}

// sampledProto is a SnapshotPairs message as prlx writes it, with what the files of others do not have.
func sampledProto() []byte {
	integer := func(b []byte, field protowire.Number, v uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
	}
	bytes := func(b []byte, field protowire.Number, v []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
	}
	b := bytes(nil, 1, integer(integer(integer(nil, 1, 1760000000000000000), 2, 3e9), 16, 40))
	b = bytes(integer(b, 2, 4e9), 16, []byte("CLOCK_MONOTONIC_RAW"))
	for field, v := range []uint64{2, 1, 0, 0, 3, 2400000000} {
		b = integer(b, protowire.Number(17+field), v)
	}
	state := integer(integer(integer(integer(nil, 1, 1760000000000000000), 2, 1), 3, 250000), 4, 9000)
	return bytes(b, 23, bytes(integer(state, 5, protowire.EncodeZigZag(-1234)), 6, []byte("adjtimex")))
}

func TestMetaLinesOfASamplerAreRead(t *testing.T) {
	lines := fixture(t, "snapshots_sampled.jsonl")
	message, err := parse("snapshot_pairs.pb", sampledProto())
	if err != nil {
		t.Fatal(err)
	}
	rank := 7
	want := clockfile.Snapshots{
		Pairs:            []clockfile.SnapshotPair{{SysNS: 1760000000000000000, TracerNS: 3000000000, BracketNS: 40}, {SysNS: 1760000004000000000, TracerNS: 7000080000, BracketNS: 38}},
		SamplingPeriodNS: 4e9, TracerClock: "CLOCK_MONOTONIC_RAW", Host: "node7", Rank: &rank,
		System:   []clockfile.SystemClock{{SysNS: 1760000000000000000, Synchronized: true, MaxErrorNS: 250000, EstErrorNS: 9000, DriftPPB: -1234, Source: "adjtimex"}},
		Counters: clockfile.SnapshotCounters{Stated: true, Taken: 2, Missed: 1, Failed: 3},
	}
	diff(t, "lines", &want, lines.Snapshots)
	want.Pairs, want.Host, want.Rank = want.Pairs[:1], "", nil
	diff(t, "message", &want, message.Snapshots)
	said := []string{"the sampler says: 1 instants of the cadence went by without a reading", "the sampler says: 3 readings gave no pair"}
	diff(t, "warnings of lines", said, lines.Warnings)
	diff(t, "warnings of the message", said, message.Warnings)
}

// TestTheProtobufReaderAgreesWithTheSchema writes a SnapshotPairs message through a descriptor made of the schema in
// docs/formats/snapshot-pairs.md, with zeros left out as proto3 does.
func TestTheProtobufReaderAgreesWithTheSchema(t *testing.T) {
	u64, opt, rep, msg := descriptorpb.FieldDescriptorProto_TYPE_UINT64.Enum(), descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum(), descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
	field := func(name string, n int32, l *descriptorpb.FieldDescriptorProto_Label, ty *descriptorpb.FieldDescriptorProto_Type, of string) *descriptorpb.FieldDescriptorProto {
		f := &descriptorpb.FieldDescriptorProto{Name: proto.String(name), Number: proto.Int32(n), Label: l, Type: ty}
		if of != "" {
			f.TypeName = proto.String(of)
		}
		return f
	}
	fd, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{Name: proto.String("s.proto"), Package: proto.String("tensorflow.profiler"), Syntax: proto.String("proto3"), MessageType: []*descriptorpb.DescriptorProto{
		{Name: proto.String("SnapshotPair"), Field: []*descriptorpb.FieldDescriptorProto{field("sys_clock_ns", 1, opt, u64, ""), field("tracer_clock_ns", 2, opt, u64, "")}},
		{Name: proto.String("SnapshotPairs"), Field: []*descriptorpb.FieldDescriptorProto{field("pairs", 1, rep, msg, ".tensorflow.profiler.SnapshotPair"), field("sampling_period_ns", 2, opt, u64, "")}},
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pairs := dynamicpb.NewMessage(fd.Messages().ByName("SnapshotPairs"))
	list := pairs.Mutable(pairs.Descriptor().Fields().ByName("pairs")).List()
	want := &clockfile.Snapshots{SamplingPeriodNS: 4e9, Pairs: []clockfile.SnapshotPair{{SysNS: 1760000000000000000, TracerNS: 3e9}, {SysNS: 1760000004000000000}}}
	for _, p := range want.Pairs {
		m := dynamicpb.NewMessage(fd.Messages().ByName("SnapshotPair"))
		m.Set(m.Descriptor().Fields().ByName("sys_clock_ns"), protoreflect.ValueOfUint64(uint64(p.SysNS)))
		m.Set(m.Descriptor().Fields().ByName("tracer_clock_ns"), protoreflect.ValueOfUint64(uint64(p.TracerNS)))
		list.Append(protoreflect.ValueOfMessage(m))
	}
	pairs.Set(pairs.Descriptor().Fields().ByName("sampling_period_ns"), protoreflect.ValueOfUint64(4e9))
	b, err := proto.Marshal(pairs)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parse("s.pb", b)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "through the schema", want, f.Snapshots)
}

func TestSnapshotProtoWhoseLengthsLookLikeText(t *testing.T) {
	// 32 bytes per pair are '\n' and ' ' as tag and length: only the content tells it from text
	small := snapshotProto(0, clockfile.SnapshotPair{SysNS: 1 << 60, TracerNS: 1 << 62})
	f, err := parse("s.pb", small)
	if err != nil || f.Kind != clockfile.KindSnapshots {
		t.Fatalf("got %+v, %v", f, err)
	}
}

func TestRelativeAndAbsoluteSnapshotsAreDistinguishedOrRefused(t *testing.T) {
	const wall, hour = int64(1760000000000000000), int64(3600e9)
	pair := func(s, r int64) clockfile.SnapshotPair { return clockfile.SnapshotPair{SysNS: s, TracerNS: r} }
	for _, tc := range []struct {
		name        string
		pairs       []clockfile.SnapshotPair
		meta        clockfile.NodeMeta
		sys, tracer clockfile.Basis
		first       clock.Pair
		refused     bool
	}{
		{"both absolute, nothing known", []clockfile.SnapshotPair{pair(wall, 5e9)}, clockfile.NodeMeta{}, clockfile.Absolute, clockfile.Absolute, clock.Pair{X: 5e9, Y: wall}, false},
		{"both absolute, host up for a minute", []clockfile.SnapshotPair{pair(wall+1e9, 61e9)}, clockfile.NodeMeta{StartWalltimeNS: wall, StartTracerNS: 60e9}, clockfile.Absolute, clockfile.Absolute, clock.Pair{X: 61e9, Y: wall + 1e9}, false},
		{"both relative, host up for a minute", []clockfile.SnapshotPair{pair(1e9, 1e9)}, clockfile.NodeMeta{StartWalltimeNS: wall, StartTracerNS: 60e9}, clockfile.Relative, clockfile.Relative, clock.Pair{X: 61e9, Y: wall + 1e9}, false},
		{"both relative, host up for 20 days", []clockfile.SnapshotPair{pair(1e9, 1e9)}, clockfile.NodeMeta{StartWalltimeNS: wall, StartTracerNS: 480 * hour}, clockfile.Relative, clockfile.Relative, clock.Pair{X: 480*hour + 1e9, Y: wall + 1e9}, false},
		{"wall absolute, tracer relative", []clockfile.SnapshotPair{pair(wall+4e9, 4e9)}, clockfile.NodeMeta{StartWalltimeNS: wall, StartTracerNS: 7 * hour}, clockfile.Absolute, clockfile.Relative, clock.Pair{X: 7*hour + 4e9, Y: wall + 4e9}, false},
		{"wall relative, tracer absolute", []clockfile.SnapshotPair{pair(4e9, 7*hour+4e9)}, clockfile.NodeMeta{StartWalltimeNS: wall, StartTracerNS: 7 * hour}, clockfile.Relative, clockfile.Absolute, clock.Pair{X: 7*hour + 4e9, Y: wall + 4e9}, false},
		{"relative without the start", []clockfile.SnapshotPair{pair(4e9, 4e9)}, clockfile.NodeMeta{}, "", "", clock.Pair{}, true},
		{"relative without the tracer's start", []clockfile.SnapshotPair{pair(4e9, 4e9+200)}, clockfile.NodeMeta{StartWalltimeNS: wall}, clockfile.Relative, clockfile.Relative, clock.Pair{X: 4e9 + 200, Y: wall + 4e9}, false},
		{"relative, the rates differ", []clockfile.SnapshotPair{pair(100e9, 100e9+50e6)}, clockfile.NodeMeta{StartWalltimeNS: wall}, clockfile.Relative, clockfile.Relative, clock.Pair{X: 100e9 + 50e6, Y: wall + 100e9}, false},
		{"wall relative, tracer absolute, its start unknown", []clockfile.SnapshotPair{pair(4e9, 7*hour+4e9)}, clockfile.NodeMeta{StartWalltimeNS: wall}, clockfile.Relative, clockfile.Absolute, clock.Pair{X: 7*hour + 4e9, Y: wall + 4e9}, false},
		{"neither elapsed nor up, its start unknown", []clockfile.SnapshotPair{pair(4e9, 4.5e9)}, clockfile.NodeMeta{StartWalltimeNS: wall}, "", "", clock.Pair{}, true},
		{"before the start, its start unknown", []clockfile.SnapshotPair{pair(4e9, 1e9)}, clockfile.NodeMeta{StartWalltimeNS: wall}, "", "", clock.Pair{}, true},
		{"another recording's start", []clockfile.SnapshotPair{pair(wall+4e9, 30e9)}, clockfile.NodeMeta{StartWalltimeNS: wall, StartTracerNS: 60e9}, "", "", clock.Pair{}, true},
		{"neither a date nor a duration", []clockfile.SnapshotPair{pair(5e16, 4e9)}, clockfile.NodeMeta{StartWalltimeNS: wall, StartTracerNS: 60e9}, "", "", clock.Pair{}, true},
		{"mixed", []clockfile.SnapshotPair{pair(wall, 4e9), pair(4e9, 8e9)}, clockfile.NodeMeta{StartWalltimeNS: wall, StartTracerNS: 60e9}, "", "", clock.Pair{}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := clockfile.Snapshots{Pairs: tc.pairs}
			pairs, sys, tracer, err := s.Resolve(tc.meta)
			if tc.refused {
				if !fault.Is(err, fault.Incompatible) {
					t.Fatalf("got %v %v %v, %v; want a refusal", pairs, sys, tracer, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if sys != tc.sys || tracer != tc.tracer || pairs[0] != tc.first {
				t.Errorf("got %s, %s, %v; want %s, %s, %v", sys, tracer, pairs[0], tc.sys, tc.tracer, tc.first)
			}
		})
	}
}

func TestProbeWindowsOfOneNode(t *testing.T) {
	f := fixture(t, "probe_windows_node3.jsonl")
	want := &clockfile.Windows{Node: 3, Alpha: clockfile.AlphaDrift, Meta: clockfile.NodeMeta{Node: 3, StartWalltimeNS: 1760000000000000123, StartTracerNS: 987654321}, Rows: []clockfile.Window{
		{Node: 3, WindowID: 0, RoundID: 1, FromNS: 1760000001000000000, ToNS: 1760000005000000000, Edges: []clockfile.Edge{{Dst: 0, Alpha: 2.3e-6, BetaNS: -1234567, Pairs: 512, Lost: 3}, {Dst: 1, Alpha: -1e-5, BetaNS: 42, Pairs: 9}}},
		{Node: 3, WindowID: 1, RoundID: 2, FromNS: 1760000005000000000, ToNS: 1760000009000000000, Edges: []clockfile.Edge{{Dst: 0, Alpha: 2.3e-6, BetaNS: -1234557, Pairs: 500, Lost: 7}}},
	}}
	if d := cmp.Diff(want, f.Windows, cmp.FilterPath(func(p cmp.Path) bool { return strings.HasSuffix(p.String(), "nodeInLine") }, cmp.Ignore())); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestOldProbeWindowsTakeTheNodeFromTheNameAndAlphaAsRatio(t *testing.T) {
	f := fixture(t, "old_windows_node12.jsonl")
	w := f.Windows
	if w.Node != 12 || w.Alpha != clockfile.AlphaRatio || w.Rows[0].RoundID != -1 {
		t.Errorf("node %d, alpha %q, round %d; want 12, ratio, -1", w.Node, w.Alpha, w.Rows[0].RoundID)
	}
	if e := w.Rows[0].Edges[0]; e.Alpha < 2.2e-6 || e.Alpha > 2.4e-6 {
		t.Errorf("alpha %g, want 2.3e-6", e.Alpha)
	}
	if len(f.Warnings) != 2 {
		t.Errorf("warnings %q, want where the node is from and how alpha is written", f.Warnings)
	}
}

func TestRoundOffsetsOfGraphCalc(t *testing.T) {
	f := fixture(t, "round_offsets.jsonl")
	r := f.Rounds
	diff(t, "meta", []clockfile.NodeMeta{{Node: 0, StartWalltimeNS: 1760000000000000000, StartTracerNS: 3e9}, {Node: 1, StartWalltimeNS: 1760000000037000000, StartTracerNS: 5e9}, {Node: 2}}, r.Meta)
	if len(r.Rows) != 6 {
		t.Fatalf("%d rows, want 6", len(r.Rows))
	}
	diff(t, "six digits", clockfile.Round{Line: 3, RoundID: 1, FromNS: 1760000000037000000, ToNS: 1760000004037000000, Node: 1, OffsetNS: 37000200, QuantumNS: 50, DriftPPM: 120.5, ResidualNS: 12.25, BoundNS: -1, Reachable: true, Converged: true}, r.Rows[1])
	usable := 0
	for i := range r.Rows {
		if r.Rows[i].Usable() {
			usable++
		}
	}
	if usable != 4 {
		t.Errorf("%d usable rows, want 4: one is unreachable, one not converged", usable)
	}
}

func TestLegacyRoundOffsets(t *testing.T) {
	f := fixture(t, "round_offsets_legacy.jsonl")
	diff(t, "meta line of one node", []clockfile.NodeMeta{{Node: 1, StartWalltimeNS: 1760000000037000000, StartTracerNS: 5e9}}, f.Rounds.Meta)
	if f.Rounds.Alpha != clockfile.AlphaMixed {
		t.Errorf("alpha %q, want mixed", f.Rounds.Alpha)
	}
	for _, row := range f.Rounds.Rows {
		if row.DriftPPM < 120.4 || row.DriftPPM > 120.6 {
			t.Errorf("line %d: drift %g ppm, want 120.5 from either convention", row.Line, row.DriftPPM)
		}
	}
	if o := f.Rounds.Rows[0].OffsetNS; o != 37000701 {
		t.Errorf("offset %d, want 37000700.5 rounded to 37000701", o)
	}
}

func TestDeclaredOffsetsInTOMLAndJSONAreTheSame(t *testing.T) {
	want := &clockfile.Declared{Reference: 0, Nodes: []clockfile.DeclaredNode{
		{Node: -1, Name: "tw003", OffsetNS: -5200000, BoundNS: -1},
		{Node: 0, Name: "node0", BoundNS: 0},
		{Node: 1, Name: "node1", OffsetNS: 37000000, DriftPPM: 120, BoundNS: 200, AtNS: 1795226081526501402},
	}}
	diff(t, "TOML", want, fixture(t, "declared.toml").Declared)
	got := fixture(t, "declared.json").Declared
	want.Nodes[2].Name = "1"
	diff(t, "JSON", want, got)
}

func TestTOMLMayBeginWithATable(t *testing.T) {
	for _, text := range []string{"[nodes.node1]\noffset_ns = 5\n", "\ufeff\n  [ nodes.node1 ]\noffset_ns = 5", "[nodes.'node1']\noffset_ns = 5"} {
		f, err := parse("d.toml", []byte(text))
		if err != nil || len(f.Declared.Nodes) != 1 || f.Declared.Nodes[0].OffsetNS != 5 {
			t.Errorf("%q: %+v, %v", text, f, err)
		}
	}
}

func TestDeclaredOffsetsRefuseWhatTheyDoNotKnow(t *testing.T) {
	for name, text := range map[string]string{
		"misspelt key":         "[nodes.node1]\noffset_ns = 1\ndrift = 3.0",
		"unknown top key":      "refrence = 0\n[nodes.node1]\noffset_ns = 1",
		"no nodes":             "nodes = []",
		"no offset":            "[nodes.node1]\ndrift_ppm = 3.0\nat_ns = 1",
		"drift without at_ns":  "[nodes.node1]\noffset_ns = 1\ndrift_ppm = 3.0",
		"fraction of a ns":     "[nodes.node1]\noffset_ns = 1.5",
		"negative bound":       "[nodes.node1]\noffset_ns = 1\nbound_ns = -1",
		"twice":                "[nodes.node1]\noffset_ns = 1\n[nodes.1]\noffset_ns = 2",
		"twice in JSON":        `{"nodes":{"a":{"offset_ns":1},"a":{"offset_ns":2}}}`,
		"no node":              "[nodes]",
		"drift of a stopwatch": "[nodes.node1]\noffset_ns = 1\ndrift_ppm = 1e9\nat_ns = 1",
		"not a table":          "[nodes]\nnode1 = 3",
	} {
		if _, err := parse("d.toml", []byte(text)); !fault.Is(err, fault.Format) {
			t.Errorf("%s: got %v, want a format error", name, err)
		}
	}
}

func TestRawStampsWithDamagedLines(t *testing.T) {
	f := fixture(t, "stamps.jsonl")
	diff(t, "first", clockfile.Stamp{Src: 0, Dst: 1, Seq: 5, T1: 1795226072810465409, T2: 1795226072851512607, T3: 1795226072851515978, T4: 1795226072814839533}, f.Stamps[0])
	if len(f.Stamps) != 3 || f.Skipped != 1 || !f.CutLastLine {
		t.Errorf("%d stamps, %d skipped, cut %v; want 3, 1, true", len(f.Stamps), f.Skipped, f.CutLastLine)
	}
	diff(t, "line numbers", []int{4}, f.SkippedLines)
	if len(f.Warnings) != 2 {
		t.Errorf("warnings %q", f.Warnings)
	}
}

func TestRecordedStampsAreReadWhole(t *testing.T) {
	src, err := file.Open(context.Background(), filetest.Data(t, "jax_skew/p4/probes_node2.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	f, err := clockfile.Read(context.Background(), src)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Stamps) != 1561 || f.Skipped != 0 || f.CutLastLine || len(f.Warnings) != 0 {
		t.Errorf("%d stamps, %d skipped, warnings %q; want 1561, 0, none", len(f.Stamps), f.Skipped, f.Warnings)
	}
}

func TestFilesThatAreNotClockFilesAreRefused(t *testing.T) {
	stamp := `{"src":0,"dst":1,"seq":5,"t1":1,"t2":2,"t3":3,"t4":4}` + "\n"
	for _, tc := range []struct {
		name, text string
		kind       fault.Kind
	}{
		{"empty", "", fault.Format},
		{"white space", " \n\n", fault.Format},
		{"prose", "this is not a clock file\n", fault.Format},
		{"other TOML", "[tool.prlx]\nx = 1\n", fault.Format},
		{"other JSON lines", strings.Repeat(`{"a":1}`+"\n", 5), fault.Format},
		{"chrome trace", `{"traceEvents":[{"ph":"X","ts":1}]}`, fault.Format},
		{"two kinds", stamp + `{"sys_ns":1,"tracer_ns":2}` + "\n", fault.Format},
		{"mostly garbage", stamp + strings.Repeat("x\n", 5), fault.Format},
		{"binary", "\x00\x01\x02\x03", fault.Format},
		{"probe of itself only", `{"src":1,"dst":1,"t1":1,"t2":2,"t3":3,"t4":4}` + "\n", fault.Format},
		{"long line", `{"src":"` + strings.Repeat("a", 9<<20), fault.Limit},
		{"deep", strings.Repeat("[", 1_000_000), fault.Format},
		{"deep TOML", "a = " + strings.Repeat("[", 1_000_000), fault.Format},
		{"deep object", `{"nodes":` + strings.Repeat(`{"a":`, 100_000), fault.Format},
		{"newer schema", `{"meta":true,"schema":"prlx.rounds/9","nodes":[]}` + "\n", fault.Format},
		{"instant of six digits", `{"src":0,"dst":1,"t1":1.79523e+18,"t2":2,"t3":3,"t4":4}` + "\n", fault.Format},
		{"windows of nobody", `{"window_start_ns":1,"window_end_ns":2,"edges":[]}` + "\n", fault.Format},
		{"windows of two nodes", `{"node_id":1,"window_start_ns":1,"window_end_ns":2,"edges":[]}` + "\n" + `{"node_id":2,"window_start_ns":1,"window_end_ns":2,"edges":[]}` + "\n", fault.Format},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, err := parse("x", []byte(tc.text))
			if !fault.Is(err, tc.kind) {
				t.Fatalf("got %+v, %v; want a %s error", f, err, tc.kind)
			}
			if e := fault.Of(err); tc.kind == fault.Format && e.Hint == "" {
				t.Errorf("%v says nothing about what to do", err)
			}
		})
	}
}

func TestCompressedClockFilesAreReadThrough(t *testing.T) {
	b, err := os.ReadFile("testdata/round_offsets.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write(b)
	w.Close()
	f, err := parse("r.jsonl.gz", z.Bytes())
	if err != nil || f.Kind != clockfile.KindRounds {
		t.Fatalf("got %+v, %v", f, err)
	}
}

// FuzzRead reads anything: an error must be a typed one, and a result must be within its own promises.
func FuzzRead(f *testing.F) {
	names, err := filepath.Glob("testdata/*.*")
	if err != nil || len(names) == 0 {
		f.Fatal("no fixtures", err)
	}
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add(snapshotProto(4e9, clockfile.SnapshotPair{SysNS: 1760000000000000000, TracerNS: 3e9}))
	f.Add(sampledProto())
	f.Add([]byte(`{"meta":true,"schema":"prlx.rounds/1","reference":0,"nodes":[{"node_id":1,"drift_before_ppt":-5,"drift_after_ppt":5,"bound_growth_ppb":3,"bound_wander_ppb":4,"bound_covers_tails":true}]}` + "\n" +
		`{"round_id":0,"midpoint_sys_ns":1760000000000000000,"node_id":1,"offset_ns":-3,"bound_ns":4,"step":true}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := parse("fuzz_node1", b)
		if err != nil {
			if e := fault.Of(err); e.Kind == fault.Internal {
				t.Fatalf("untyped error: %v", err)
			}
			return
		}
		switch c.Kind {
		case clockfile.KindSnapshots:
			c.Snapshots.Resolve(clockfile.NodeMeta{StartWalltimeNS: 1760000000000000000, StartTracerNS: 60e9})
			for _, p := range c.Snapshots.Pairs {
				if p.SysNS < 0 || p.TracerNS < 0 {
					t.Fatalf("negative reading %+v", p)
				}
			}
			for _, s := range c.Snapshots.System {
				if s.SysNS < 0 || s.MaxErrorNS < 0 {
					t.Fatalf("a system clock says %+v", s)
				}
			}
			if n := c.Snapshots.Counters; min(n.Taken, n.Missed, n.Dropped, n.Wide, n.Failed, n.Unstored) < 0 {
				t.Fatalf("negative counters %+v", n)
			}
		case clockfile.KindWindows:
			for _, w := range c.Windows.Rows {
				if w.ToNS < w.FromNS || w.Node != c.Windows.Node {
					t.Fatalf("window %+v of node %d", w, c.Windows.Node)
				}
			}
		case clockfile.KindStamps:
			for _, s := range c.Stamps {
				if s.Src == s.Dst || s.T1 <= 0 || s.T4 <= 0 {
					t.Fatalf("stamp %+v", s)
				}
			}
		case clockfile.KindRounds, clockfile.KindDeclared:
		default:
			t.Fatalf("kind %q", c.Kind)
		}
	})
}
