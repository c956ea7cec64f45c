package api

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/testing/filetest"
	"github.com/prlx-go/prlx/core/testing/xspacetest"
)

// operation asks one operation for a file: alone, or beside another one of the same kind where the operation wants two.
type operation struct {
	op      string
	request func(path, again, out string) string
}

func quoted(s string) string { b, _ := json.Marshal(s); return string(b) }

var operationsOfFiles = []operation{
	{"inspect", func(p, _, _ string) string { return `{"paths":[` + quoted(p) + `]}` }},
	{"combine", func(p, q, out string) string {
		return `{"inputs":[` + quoted(p) + `,` + quoted(q) + `],"output":` + quoted(out+".json") + `}`
	}},
	{"align", func(p, _, out string) string {
		return `{"trace":` + quoted(p) + `,"output":` + quoted(out+".json") + `}`
	}},
	{"validate", func(p, q, _ string) string { return `{"inputs":[` + quoted(p) + `,` + quoted(q) + `]}` }},
	{"timeline", func(p, _, _ string) string { return `{"path":` + quoted(p) + `}` }},
	{"cycles", func(p, _, _ string) string { return `{"paths":[` + quoted(p) + `]}` }},
	{"diff", func(p, q, _ string) string { return `{"a":[` + quoted(p) + `],"b":[` + quoted(q) + `]}` }},
	{"kernel_trace", func(p, _, _ string) string { return `{"path":` + quoted(p) + `}` }},
	{"solve", func(p, _, _ string) string { return `{"files":[` + quoted(p) + `]}` }},
}

// example is a file of one format.
type example struct {
	bytes []byte
	taken string // the operations that read it
	words string // by which the others refuse it, "|" between alternatives; "" where nobody can know what it is
}

func named(said, words string) bool {
	return slices.ContainsFunc(strings.Split(words, "|"), func(w string) bool { return strings.Contains(said, w) })
}

const (
	traceOps     = "inspect combine align validate timeline"
	recordingOps = "inspect diff kernel_trace"
)

func examples(t *testing.T) map[string]example {
	t.Helper()
	v1, v2, _ := generated(t)
	read := func(path string) []byte {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var space, rounds bytes.Buffer
	traced := xspacetest.New(xspacetest.Config{Nodes: 2, GPUs: 1, EventsPerGPU: 50, SnapshotNS: 1e6, RoundNS: 4e6, Seed: 7})
	if err := traced.Write(0, &space); err != nil {
		t.Fatal(err)
	}
	if err := traced.RoundOffsets(&rounds); err != nil {
		t.Fatal(err)
	}
	events := `{"ph":"X","cat":"kernel","pid":1,"tid":1,"ts":5.5,"dur":1.25,"name":"a","args":{"stream":7}},{"ph":"X","cat":"kernel","pid":1,"tid":1,"ts":9.5,"dur":1.25,"name":"b","args":{"stream":7}}`
	noise := make([]byte, 4096)
	for i, r := 0, rand.New(rand.NewPCG(1, 2)); i < len(noise); i++ {
		noise[i] = byte(r.Uint32())
	}
	noise[0] = 0xfe
	windows := `{"node_id":0,"window_start_ns":1760000000000000000,"window_end_ns":1760000004000000000,"window_id":0,"round_id":1,"edges":[{"dst":1,"alpha":0.000001,"beta":500,"pairs":200,"lost":0}]}` + "\n"
	stamps := strings.Repeat(`{"src":0,"dst":1,"t1":1760000000000000000,"t2":1760000000000030000,"t3":1760000000000031000,"t4":1760000000000060000}`+"\n", 3)
	clock := "a file of clock readings|holds snapshot|holds probe|holds round|holds declared|holds windows|holds stamps"
	out := map[string]example{
		"xspace":           {space.Bytes(), traceOps + " cycles", "an XSpace trace"},
		"chrome object":    {[]byte(`{"baseTimeNanoseconds": 1700000000000000000, "traceEvents": [` + events + `]}`), traceOps + " cycles", "a Chrome / Kineto JSON trace"},
		"chrome list":      {[]byte(`[` + events + `]`), traceOps + " cycles", "a Chrome / Kineto JSON trace"},
		"kineto":           {[]byte(`{"schemaVersion": 1, "deviceProperties": [{"id": 0}], "traceEvents": [` + events + `]}`), traceOps + " cycles", "a Chrome / Kineto JSON trace"},
		"perfetto":         {perfetto(), traceOps + " cycles", "a Perfetto trace (.pftrace)"},
		"our own track":    {read("../report/kernelreport/testdata/diverged.pftrace"), traceOps + " cycles", "a Perfetto trace (.pftrace)"},
		"recording v1":     {read(v1), recordingOps, "a recording of a kernel (.prlx)"},
		"recording v2":     {read(v2), recordingOps, "a recording of a kernel (.prlx)"},
		"pairs message":    {pairs(), "inspect", "a file of clock snapshots|holds snapshot"},
		"pairs as text":    {[]byte(`{"sys_clock_ns":1760000000000000000,"tracer_clock_ns":5}` + "\n"), "inspect", clock},
		"probe windows":    {[]byte(windows), "inspect solve", clock},
		"raw stamps":       {[]byte(stamps), "inspect solve", clock},
		"round offsets":    {rounds.Bytes(), "inspect", clock},
		"declared":         {[]byte("[nodes]\nnode1 = { offset_ns = 5 }\n"), "inspect", clock},
		"our document":     {[]byte(`{"schema": "prlx.combine/1", "nodes": [{"id": "node0", "offset_ns": 0}]}`), "", "a document that prlx wrote"},
		"damaged nsys":     {database("CUPTI_ACTIVITY_KIND_KERNEL"), "", "an Nsight Systems database|pages of 0 bytes"},
		"rocpd":            {database("rocpd_kernel_dispatch"), "", "a rocpd database|pages of 0 bytes"},
		"sqlite":           {database("people"), "", "a SQLite database"},
		"rocprof csv":      {[]byte("\"Kind\",\"Agent_Id\",\"Kernel_Name\",\"Start_Timestamp\",\"End_Timestamp\"\n\"KERNEL_DISPATCH\",1,\"k\",5,6\n"), traceOps + " cycles", "a table of rocprof"},
		"rocprof json":     {[]byte(`{"rocprofiler-sdk-tool": [{"metadata": {"pid": 1}, "buffer_records": {"kernel_dispatch": [{"start_timestamp": 5, "end_timestamp": 6}]}}]}`), traceOps + " cycles", "a document of rocprofv3"},
		"elf":              {append([]byte("\x7fELF\x02\x01\x01"), noise[:200]...), "", "a program or library"},
		"zip":              {zipped(t, space.Bytes()), "", "a ZIP archive"},
		"compressed twice": {gzipped(t, space.Bytes()), "", "compressed twice"}, // once more below
		"empty":            {nil, "", "empty"},
		"random":           {noise, "", ""},
		"text":             {[]byte("Dear Sir or Madam,\n"), "", ""},
		"other json":       {[]byte(`{"people": [{"name": "Ada"}]}`), "", ""},
		"nameless planes":  {nameless(), "", ""},
	}
	if m := filetest.Glob(t, "other/*.sqlite"); len(m) > 0 {
		out["real nsys"] = example{read(m[0]), traceOps + " cycles", "an Nsight Systems database"}
	}
	return out
}

// perfetto is a small trace of Perfetto: a track, and slices on it.
func perfetto() []byte {
	event := func(fields ...uint64) (b []byte) {
		for i := 0; i < len(fields); i += 2 {
			b = protowire.AppendVarint(protowire.AppendTag(b, protowire.Number(fields[i]), protowire.VarintType), fields[i+1])
		}
		return b
	}
	message := func(b []byte, num protowire.Number, m []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), m)
	}
	track := message(nil, 60, message(event(1, 1), 2, []byte("GPU 0")))
	out := message(nil, 1, track)
	for at := range uint64(100) {
		packet := message(event(8, 1760000000000000000+1000*at), 11, event(9, 1+at%2, 11, 1))
		out = message(out, 1, append(packet, event(10, 7)...))
	}
	return out
}

// pairs is a SnapshotPairs message.
func pairs() (out []byte) {
	for at := range uint64(10) {
		m := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1760000000000000000+1e6*at)
		m = protowire.AppendVarint(protowire.AppendTag(m, 2, protowire.VarintType), 5+1e6*at)
		out = protowire.AppendBytes(protowire.AppendTag(out, 1, protowire.BytesType), m)
	}
	return out
}

// nameless has the shape of an XSpace, and no plane in it has a name.
func nameless() []byte {
	line := protowire.AppendString(protowire.AppendTag(nil, 2, protowire.BytesType), "a line")
	plane := protowire.AppendBytes(protowire.AppendTag(nil, 3, protowire.BytesType), line)
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), plane)
}

func database(table string) []byte {
	b := make([]byte, 4096)
	copy(b, "SQLite format 3\x00")
	copy(b[3000:], "CREATE TABLE "+table+" (id INTEGER)")
	return b
}

func zipped(t *testing.T, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("node0.xplane.pb")
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipped(t *testing.T, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestEveryFormatIsReadOrRefusedByItsName: each format, plain and compressed, given to each operation that takes files. Nothing is
// ever taken for something else.
func TestEveryFormatIsReadOrRefusedByItsName(t *testing.T) {
	all := examples(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		e := all[name]
		for _, packed := range []bool{false, true} {
			if name == "compressed twice" && !packed || name == "empty" && packed {
				continue
			}
			dir := t.TempDir()
			b := e.bytes
			if packed {
				b = gzipped(t, b)
			}
			p, q := filepath.Join(dir, "node0.bin"), filepath.Join(dir, "node1.bin")
			save(t, p, b)
			save(t, q, b)
			for _, o := range operationsOfFiles {
				label := fmt.Sprintf("%s of %s, packed %v", o.op, name, packed)
				_, err := operations()[o.op](job.New(t.Context(), job.Options{Workers: 1}), []byte(o.request(p, q, filepath.Join(dir, "out_"+o.op))))
				if slices.Contains(strings.Fields(e.taken), o.op) {
					if err != nil {
						t.Errorf("%s: %v", label, err)
					}
					continue
				}
				f := fault.Of(err)
				if err == nil || f.Kind != fault.Format && f.Kind != fault.Usage && f.Kind != fault.Limit || !named(err.Error(), e.words) {
					t.Errorf("%s: %v, want a refusal that says %q", label, err, e.words)
				}
				if left, _ := filepath.Glob(filepath.Join(dir, "out*")); err != nil && len(left) > 0 && !strings.Contains(e.taken, "combine") {
					t.Errorf("%s: %v was written", label, left)
				}
			}
		}
	}
}

// TestWhatADirectoryHoldsDecidesWhatIsSaidOfIt: traces of one format cannot become those of another, and beside those of another they are named.
func TestWhatADirectoryHoldsDecidesWhatIsSaidOfIt(t *testing.T) {
	dir := t.TempDir()
	for k := range 2 {
		save(t, filepath.Join(dir, fmt.Sprintf("rank%d.pftrace", k)), perfetto())
	}
	combine := operations()["combine"]
	_, err := combine(job.New(t.Context(), job.Options{}), []byte(`{"inputs":[`+quoted(dir)+`],"output":`+quoted(filepath.Join(t.TempDir(), "out.xplane.pb"))+`}`))
	if err == nil || !strings.Contains(err.Error(), "inputs are Perfetto trace") {
		t.Errorf("alone, as an XSpace: %v", err)
	}
	all := examples(t)
	save(t, filepath.Join(dir, "node0.xplane.pb"), all["xspace"].bytes)
	reply, err := combine(job.New(t.Context(), job.Options{}), []byte(`{"inputs":[`+quoted(dir)+`],"output":`+quoted(filepath.Join(t.TempDir(), "run"))+`}`))
	if err != nil || !strings.Contains(string(reply), "2 Perfetto trace files beside the XSpace files are not used") {
		t.Errorf("beside an XSpace: %v, %.600s", err, reply)
	}
}

// TestStrictWantsSomethingThatConfirms: two traces on one clock, without a collective in common: fine, and under strict a partial result.
func TestStrictWantsSomethingThatConfirms(t *testing.T) {
	dir := t.TempDir()
	event := `{"baseTimeNanoseconds": 1700000000000000000, "traceEvents": [{"ph":"X","pid":1,"tid":1,"ts":5.5,"dur":1.25,"name":"a"}]}`
	a, b, declared := filepath.Join(dir, "node0.json"), filepath.Join(dir, "node1.json"), filepath.Join(dir, "d.json")
	save(t, a, []byte(event))
	save(t, b, []byte(event))
	save(t, declared, []byte(`{"nodes": {"node0": {"offset_ns": 0}, "node1": {"offset_ns": 1500, "bound_ns": 20}}}`))
	ask := func(out string, strict bool) ([]byte, error) {
		return operations()["combine"](job.New(t.Context(), job.Options{}), []byte(fmt.Sprintf(`{"inputs":[%s,%s],"declared":%s,"output":%s,"strict":%v}`, quoted(a), quoted(b), quoted(declared), quoted(filepath.Join(dir, out)), strict)))
	}
	reply, err := ask("loose.json", false)
	if err != nil || !strings.Contains(string(reply), `"status":"aligned"`) || !strings.Contains(string(reply), `"passed":null`) || !strings.Contains(string(reply), "no collective could be judged") {
		t.Errorf("%v: %s", err, reply)
	}
	if _, err := ask("strict.json", true); !fault.Is(err, fault.Partial) {
		t.Errorf("strict: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "strict.json")); err != nil {
		t.Errorf("strict: %v", err)
	}
}
