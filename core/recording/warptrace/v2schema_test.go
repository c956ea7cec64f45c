package warptrace

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/google/go-cmp/cmp"

	"github.com/prlx-go/prlx/core/recording/site"
)

var (
	v2MessageLine = regexp.MustCompile(`^message (\w+) \{$`)
	v2FieldLine   = regexp.MustCompile(`^(repeated )?(\w+) (\w+) = (\d+);$`)
	v2Scalars     = map[string]descriptorpb.FieldDescriptorProto_Type{
		"int64": descriptorpb.FieldDescriptorProto_TYPE_INT64, "uint64": descriptorpb.FieldDescriptorProto_TYPE_UINT64,
		"uint32": descriptorpb.FieldDescriptorProto_TYPE_UINT32, "fixed64": descriptorpb.FieldDescriptorProto_TYPE_FIXED64,
		"fixed32": descriptorpb.FieldDescriptorProto_TYPE_FIXED32,
		"bool":    descriptorpb.FieldDescriptorProto_TYPE_BOOL, "string": descriptorpb.FieldDescriptorProto_TYPE_STRING,
		"bytes": descriptorpb.FieldDescriptorProto_TYPE_BYTES,
	}
)

// v2Schema reads docs/formats/prlx-v2.proto: enough of the language for that file.
func v2Schema(t *testing.T) protoreflect.FileDescriptor {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "formats", "prlx-v2.proto"))
	if err != nil {
		t.Fatal(err)
	}
	f := &descriptorpb.FileDescriptorProto{Name: proto.String("prlx-v2.proto"), Package: proto.String("prlx.recording.v2"), Syntax: proto.String("proto3")}
	for n, line := range strings.Split(string(text), "\n") {
		line, _, _ = strings.Cut(line, "//")
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line == "}" || strings.HasPrefix(line, "syntax ") || strings.HasPrefix(line, "package "):
		case v2MessageLine.MatchString(line):
			f.MessageType = append(f.MessageType, &descriptorpb.DescriptorProto{Name: proto.String(v2MessageLine.FindStringSubmatch(line)[1])})
		case v2FieldLine.MatchString(line):
			g := v2FieldLine.FindStringSubmatch(line)
			number, _ := strconv.Atoi(g[4])
			fd := &descriptorpb.FieldDescriptorProto{Name: proto.String(g[3]), Number: proto.Int32(int32(number)), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
			if g[1] != "" {
				fd.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
			}
			if s, ok := v2Scalars[g[2]]; ok {
				fd.Type = s.Enum()
			} else {
				fd.Type, fd.TypeName = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), proto.String(".prlx.recording.v2."+g[2])
			}
			m := f.MessageType[len(f.MessageType)-1]
			m.Field = append(m.Field, fd)
		default:
			t.Fatalf("prlx-v2.proto:%d: cannot read %q", n+1, line)
		}
	}
	fd, err := protodesc.NewFile(f, nil)
	if err != nil {
		t.Fatalf("docs/formats/prlx-v2.proto is not a valid schema: %v", err)
	}
	return fd
}

// bySchema decodes a message by the schema and compares it with text that the schema reads.
func bySchema(t *testing.T, name string, b []byte, want string) (again []byte) {
	t.Helper()
	d := v2Schema(t).Messages().ByName(protoreflect.Name(name))
	got, expect := dynamicpb.NewMessage(d), dynamicpb.NewMessage(d)
	if err := proto.Unmarshal(b, got); err != nil {
		t.Fatalf("%s: the protobuf library does not read it: %v", name, err)
	}
	if err := prototext.Unmarshal([]byte(want), expect); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if !proto.Equal(got, expect) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, prototext.Format(got), prototext.Format(expect))
	}
	if len(got.GetUnknown()) > 0 {
		t.Errorf("%s: fields that the schema does not have", name)
	}
	again, err := proto.MarshalOptions{Deterministic: true}.Marshal(expect)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func TestV2MessagesAreThoseOfTheSchema(t *testing.T) {
	h := Header{
		Version: 2, Compressed: true, Kernel: "softmax", KernelHash: 77, ModuleHash: "ab", Grid: [3]uint32{4, 0, 1}, Cluster: [3]uint32{2, 1, 1}, Block: [3]uint32{128, 2, 1},
		WaveSize: 64, WarpsPerBlock: 4, WarpSlots: 1 << 40, EventsPerWarp: 9, Arch: "gfx942", ArchNumber: 3, Launch: 8, ArgumentDigest: 5,
		Arguments: []Argument{{Name: "x", Type: "*fp16", Value: "v", Digest: 6, Shape: []uint64{4, 300}, Strides: []int64{-300, 1}, Offset: 2, Aligned: 16, Special: "s", Points: 3, Before: 4}, {}}, Mode: ModeValues, Means: MeansObserved, Keep: KeepWindow,
		SampleRate: 3, TimestampNS: -4, Taken: true, HistoryDepth: 7, SnapshotDepth: 2, Producer: "p",
		Origin: someOrigin(t),
	}
	again := bySchema(t, "Header", encodeV2Header(&h), `kernel: "softmax" kernel_hash: 77 module_hash: "ab" grid: [4, 0, 1] cluster: [2, 1, 1] block: [128, 2, 1]
		wave_size: 64 warps_per_block: 4 warp_slots: 1099511627776 events_per_warp: 9 arch: "gfx942" arch_number: 3 launch: 8 argument_digest: 5
		arguments { name: "x" type: "*fp16" value: "v" digest: 6 shape: [4, 300] strides: [-300, 1] offset: 2 aligned: 16 special: "s" points: 3 before: 4 } arguments {} mode: 3 means: 2 keep: 2 sample_rate: 3 timestamp_ns: -4 taken: true
		history_depth: 7 snapshot_depth: 2 producer: "p" origin { region: "step 3" graph: "0/1" backward: true
		nodes { node: "add_1" op: "aten.add.Tensor" module: "0 (Linear)" file: "/m/model.py" line: 12 function: "forward" code: "x + y" } nodes {} more: 3 }`)
	if got, err := decodeV2Header(again); err != nil || cmp.Diff(&h, got) != "" {
		t.Errorf("%v (-want +got):\n%s", err, cmp.Diff(&h, got))
	}

	sites := []site.Site{
		{
			ID: 5, Key: 1 << 60, Kind: site.Atomic, Chain: []site.Frame{{Function: "f", File: "a.cu", Line: 3, Column: 4}, {}}, Occurrence: 2, Ordinal: 0, Compare: 0,
			Operands: []site.Operand{{Role: "lhs", Type: "i32", Origin: site.FromArith, Name: "n", Site: 9, Where: site.Frame{Line: 1}, Inputs: []site.Operand{{Origin: site.FromLoad}}}},
			Text:     "icmp",
			Shape:    0xfedcba98,
		},
		{Key: 1, Ordinal: -1, Compare: site.NoCompare},
	}
	again = bySchema(t, "Sites", encodeSites(sites), `sites { id: 5 key: 1152921504606846976 kind: 2 chain { function: "f" file: "a.cu" line: 3 column: 4 } chain {}
		occurrence: 2 ordinal_plus_one: 1 compare_plus_one: 1
		operands { role: "lhs" type: "i32" origin: 9 name: "n" site: 9 where { line: 1 } inputs { origin: 4 } } text: "icmp" shape: 4275878552 } sites { key: 1 }`)
	if got, err := newSiteDecoder().sites(again, nil, 2); err != nil || cmp.Diff(sites, got, asRecorded) != "" {
		t.Errorf("%v (-want +got):\n%s", err, cmp.Diff(sites, got, asRecorded))
	}

	totals := v2Totals{warps: 1, events: 2, dropped: 3, dropping: 4, notes: []string{"a", "b"}}
	again = bySchema(t, "End", totals.encode(), `warps: 1 events: 2 dropped: 3 warps_with_drops: 4 notes: "a" notes: "b"`)
	if got, err := decodeTotals(again); err != nil || got.notes[1] != "b" || got.dropping != 4 {
		t.Errorf("got %+v, %v", got, err)
	}
	totals = v2Totals{extras: []v2Block{{offset: 100}, {offset: 228}}}
	again = bySchema(t, "End", totals.encode(), `extra: 100 extra: 128`)
	if got, err := decodeTotals(again); err != nil || !slices.Equal(got.offsets, []uint64{100, 228}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestV2TextsAreThoseOfTheSchema(t *testing.T) {
	texts := Texts{
		Functions: []Text{{File: "/k.py", Function: "k", FirstLine: 3, Text: "def k(): pass"}, {Function: "named", Digest: DigestOfText("abc")}},
		Constants: []Constant{{"BLOCK", "128"}},
	}
	again := bySchema(t, "Texts", encodeTexts(&texts), `functions { file: "/k.py" function: "k" first_line: 3 sha256: "`+octal(DigestOfText("def k(): pass"))+`" text: "def k(): pass" }
		functions { function: "named" sha256: "`+octal(DigestOfText("abc"))+`" } constants { name: "BLOCK" value: "128" }`)
	texts.Functions[0].Digest = DigestOfText(texts.Functions[0].Text)
	if got, err := decodeTexts(again); err != nil || cmp.Diff(&texts, got) != "" {
		t.Errorf("%v (-want +got):\n%s", err, cmp.Diff(&texts, got))
	}
	totals := v2Totals{texts: 300}
	again = bySchema(t, "End", totals.encode(), `texts: 300`)
	if got, err := decodeTotals(again); err != nil || got.texts != 300 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// octal spells bytes as the text form of protobuf does.
func octal(digest [32]byte) string {
	var out string
	for _, b := range digest {
		out += fmt.Sprintf("\\%03o", b)
	}
	return out
}

func TestV2OutputsAreThoseOfTheSchema(t *testing.T) {
	o := Outputs{
		Arrays:   []Array{{ID: 1, Kind: ArrayVariable, Name: "x", Type: "*fp16", ElementBytes: 2, Written: 9, Digest: 7, Began: 8, Values: &ValueSums{1, 2, 3, 4, -5}}},
		Stores:   []StoreTotal{{StoreSum{2, 3, 4, 5}, 6, true, &ValueSums{5, 4, 3, 2, 0}}, {StoreSum{NoSite, NoArray, 1, 0}, 1, false, &ValueSums{}}},
		Findings: []Finding{{"race", 1, "f", "a.py", 3, 4, "st", [3]uint32{1, 0, 2}, 8, 9, 10, 11, "y", -2, "m"}, {Site: NoSite}},
		Held:     []Held{{1, "x", "*i64", 40, 6, 3}, {ID: 2}},
	}
	var spelled string
	for i, flag := range o.Coverage.flags() {
		*flag = true
		spelled += fmt.Sprintf("%s: true ", coverageNames[i])
	}
	for i, n := range o.Coverage.numbers() {
		*n = uint64(i + 1)
		spelled += fmt.Sprintf("%s: %d ", coverageNames[len(o.Coverage.flags())+i], i+1)
	}
	again := bySchema(t, "Outputs", encodeOutputs(&o), `coverage { `+spelled+` }
		arrays { id: 1 kind: 2 name: "x" type: "*fp16" element_bytes: 2 written: 9 digest: 7 began: 8 values { hash: 1 bits: 2 tops: 3 specials: 4 placed_zigzag: 9 } }
		stores { site_plus_one: 3 array_plus_one: 4 count: 4 hash: 5 warps: 6 swaps: true values { hash: 5 bits: 4 tops: 3 specials: 2 } } stores { count: 1 warps: 1 values {} }
		findings { check: "race" site_plus_one: 2 function: "f" file: "a.py" line: 3 column: 4 instruction: "st" block: [1, 0, 2] warp: 8 lane: 9 lanes: 10
		count: 11 array: "y" distance_zigzag: 3 message: "m" } findings {}
		held { id: 1 name: "x" type: "*i64" bytes: 40 digest: 6 addresses: 3 } held { id: 2 }`)
	if got, err := decodeOutputs(again, 3); err != nil || cmp.Diff(&o, got) != "" {
		t.Errorf("%v (-want +got):\n%s", err, cmp.Diff(&o, got))
	}
}

// coverageNames are the fields of Coverage in the schema: flags, then numbers.
var coverageNames = []string{
	"control_flow", "predicates", "store_events", "atomic_events", "load_events", "barrier_events", "rolling", "values", "stores", "arrays", "checks", "races",
	"global_races", "nan", "stopped", "writers", "contents_after", "store_sites", "more_findings", "rows_dropped", "chunks_dropped", "content_budget", "content_bytes", "in_no_sum",
}

func TestV2SitesNestedTooDeepAreRefused(t *testing.T) {
	o := site.Operand{Role: "lhs"}
	for range v2MaxNesting + 1 {
		o = site.Operand{Inputs: []site.Operand{o}}
	}
	b := encodeSites([]site.Site{{Key: 1, Operands: []site.Operand{o}}})
	if _, err := newSiteDecoder().sites(b, nil, 1); err == nil {
		t.Error("operands nested 18 deep are read")
	}
	d := newSiteDecoder()
	d.left = 3
	if _, err := d.sites(encodeSites([]site.Site{{Key: 1, Chain: make([]site.Frame, 4)}}), nil, 1); err != errManyFrames {
		t.Errorf("too many frames: got %v", err)
	}
}
