package format

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/testing/filetest"
)

// field is one field of a message: an integer, text, or a message.
func field(num protowire.Number, v any) []byte {
	switch v := v.(type) {
	case int:
		return protowire.AppendVarint(protowire.AppendTag(nil, num, protowire.VarintType), uint64(v))
	case string:
		return protowire.AppendString(protowire.AppendTag(nil, num, protowire.BytesType), v)
	default:
		return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), v.([]byte))
	}
}

// message joins fields.
func message(fields ...[]byte) []byte {
	out := []byte{}
	for _, f := range fields {
		out = append(out, f...)
	}
	return out
}

// padded writes a message as protozero does, which Perfetto's own library and PyTorch use: lengths in four bytes.
func padded(num protowire.Number, m []byte) []byte {
	n := len(m)
	return append(append(protowire.AppendTag(nil, num, protowire.BytesType), byte(n)|0x80, byte(n>>7)|0x80, byte(n>>14)|0x80, byte(n>>21)), m...)
}

// TestListsOfMessagesAreDistinguished: XSpace, Perfetto's Trace and SnapshotPairs are all a list of messages in field 1.
func TestListsOfMessagesAreDistinguished(t *testing.T) {
	event := message(field(8, 1760000000000000000), field(11, message(field(9, 1), field(11, 5), field(23, "kernel"))), field(10, 7))
	line := message(field(1, 3), field(2, "stream"), field(4, message(field(1, 1), field(2, 5), field(3, 6))))
	plane := message(field(2, "/device:GPU:0"), field(3, line))
	pair := message(field(1, 1760000000000000000), field(2, 98765432100))
	long := strings.Repeat("x", 100_000)
	for name, c := range map[string]struct {
		bytes []byte
		want  Kind
	}{
		"track events":               {message(field(1, event), field(1, event)), Perfetto},
		"protozero":                  {message(padded(1, event), padded(1, event)), Perfetto},
		"descriptor first":           {message(field(1, message(field(60, message(field(1, 1), field(2, "GPU 0"))))), field(1, event)), Perfetto},
		"descriptor alone":           {field(1, message(field(60, message(field(1, 1), field(2, "GPU 0"))))), Perfetto},
		"process tree":               {field(1, message(field(2, message(field(1, message(field(1, 3))))), field(8, 5))), Perfetto},
		"clocks and a user id":       {field(1, message(field(6, message(field(1, message(field(1, 6))))), field(3, 0), field(10, 1))), Perfetto},
		"ftrace":                     {field(1, message(field(1, message(field(1, 2))), field(3, 0))), Perfetto},
		"compressed packets":         {field(1, field(50, []byte("x\x9c..."))), Perfetto},
		"a packet longer than seen":  {message(field(1, message(field(8, 5), field(12, long))))[:200], Perfetto},
		"time alone":                 {field(1, field(8, 5)), Perfetto},
		"a plane":                    {field(1, plane), XSpace},
		"a plane with id and stats":  {field(1, message(field(1, 4), field(2, "Task Environment"), field(6, field(1, 1)))), XSpace},
		"a nameless plane first":     {message(field(1, field(3, line)), field(1, plane)), XSpace},
		"host names first":           {message(field(4, "host0"), field(1, plane)), XSpace},
		"a plane longer than seen":   {message(field(1, message(field(2, "/host:CPU"), field(3, long))))[:300], XSpace},
		"fields of later versions":   {field(1, message(field(2, "/host:CPU"), field(7, 1), field(30, "new"))), XSpace},
		"nameless planes":            {field(1, message(field(1, 4), field(3, line))), XSpace},
		"pairs":                      {message(field(1, pair), field(1, pair)), PairsMessage},
		"pairs and a period":         {message(field(2, 4000000), field(1, pair)), PairsMessage},
		"pairs of clocks at zero":    {message(field(1, field(1, 5)), field(1, pair), field(1, pair)), Binary},
		"one that is cut":            {message(field(1, event))[:6], Perfetto},
		"one cut in its length":      {message(padded(1, event))[:3], Binary},
		"groups":                     {[]byte{0x0b, 0x0c}, Binary},
		"a length beyond everything": {[]byte("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), Binary},
		"zeros":                      {make([]byte, 1000), Binary},
	} {
		if got := Of(c.bytes); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestTextsAndMagicNumbersAreDistinguished goes through what is told by keys and first bytes.
func TestTextsAndMagicNumbersAreDistinguished(t *testing.T) {
	for text, want := range map[string]Kind{
		"": Empty, " \n": Text, "hello": Text, "\xef\xbb\xbf{\"traceEvents\": []}": Chrome, `{"traceEvents": []}`: Chrome,
		`[{"ph":"X","pid":1}]`: Chrome, `{"schemaVersion": 1, "deviceProperties": [`: Chrome, `{"a": 1}`: JSON,
		`{"rocprofiler-sdk-tool": [`: RocprofJSON, `{"schema": "prlx.combine/1", "nodes": [{"offset_ns": 1}]}`: Document,
		`{"meta":true,"schema":"prlx.probes/1","node_id":1}`: ClockText,
		`{"meta":true,"schema":"prlx.rounds/1","nodes":[]}`:  ClockText, `{"sys_clock_ns":1,"tracer_clock_ns":2}`: ClockText,
		`{"window_start_ns":1,"window_end_ns":2,"edges":[]}`: ClockText, `{"src":0,"dst":1,"t1":1,"t2":2,"t3":3,"t4":4}`: ClockText,
		`[{"src":0,"dst":1,"t1":1,"t4":4}]`: ClockText, "[nodes]\nnode1 = { offset_ns = 5 }\n": ClockText, "[nodes.node1]\noffset = 1": ClockText,
		"Kind,Agent_Id,Queue_Id,Kernel_Name,Start_Timestamp,End_Timestamp\n": RocprofCSV, "Index,KernelName,gpu-id,BeginNs,EndNs\n": RocprofCSV,
		"SQLite format 3\x00....CREATE TABLE rocpd_kernel": Rocpd, "SQLite format 3\x00....CUPTI_ACTIVITY_KIND_KERNEL": Nsight, "SQLite format 3\x00": SQLite,
		"\x7fELF\x02": ELF, "PK\x03\x04": ZIP, "\x1f\x8b\x08": Gzip, "\x89PRLX2\n\x1a": Recording, "\x00\x00\x00\x00XLRP\x01": Recording,
		strings.Repeat("a", 257) + "ustar": Tar,
	} {
		if got := Of([]byte(text)); got != want {
			t.Errorf("%.40q: %q, want %q", text, got, want)
		}
	}
}

// TestRealFilesAreWhatTheyAre: recordings of many producers, and the Perfetto track that prlx writes itself.
func TestRealFilesAreWhatTheyAre(t *testing.T) {
	for pattern, want := range map[string]Kind{
		"xplane/*.xplane.pb": XSpace, "jax_skew/*/*.xplane.pb": XSpace, "jax_skew/*/*.trace.json.gz": Chrome, "kineto/*.json.gz": Chrome,
		"jax_skew/*/probes_*.jsonl": ClockText, "other/*.sqlite": Nsight, "other/*.json.gz": RocprofJSON, "kineto/*.tar.gz": Tar,
	} {
		for _, path := range filetest.Glob(t, pattern) {
			if got := ofFile(t, path); got != want {
				t.Errorf("%s: %q, want %q", path, got, want)
			}
		}
	}
	if got := ofFile(t, "../report/kernelreport/testdata/diverged.pftrace"); got != Perfetto {
		t.Errorf("our own track: %q", got)
	}
}

func ofFile(t *testing.T, path string) Kind {
	t.Helper()
	head, _, err := file.Head(t.Context(), path, HeadBytes)
	if err != nil {
		t.Fatal(err)
	}
	return Of(head)
}

// TestEveryKindHasWords: a refusal without a name or without advice helps nobody.
func TestEveryKindHasWords(t *testing.T) {
	for _, k := range []Kind{
		XSpace, Chrome, Recording, PairsMessage, ClockText, Document, Empty, Perfetto, Nsight, Rocpd, SQLite, RocprofCSV, RocprofJSON, ELF,
		ZIP, Tar, Gzip, JSON, Text, Binary,
	} {
		if e := k.Refuse("f", "something"); k.String() == "" || e.Hint == "" || !strings.Contains(e.Error(), k.String()) {
			t.Errorf("%s: %v", string(k), e)
		}
	}
}

// FuzzOf: any bytes have one kind, and the kind has a name.
func FuzzOf(f *testing.F) {
	for _, seed := range []string{"\x0a\x04\x08\x05\x10\x06", "\x0a\x06\x12\x04/dev", "\x0a\x02\x40\x05", "{\"traceEvents\":", "\x12\x02hi"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if k := Of(b); k.String() == "" {
			t.Errorf("%q", k)
		}
	})
}
