package kernels

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/format"
	"github.com/prlx-go/prlx/core/trace/chrometrace"
	"github.com/prlx-go/prlx/core/trace/xspace"
)

// fromBytes reads a trace that is in memory.
func fromBytes(name string, b []byte, opt Options) (*Trace, error) {
	ctx := context.Background()
	if format.Of(b[:min(len(b), format.HeadBytes)]) == format.XSpace {
		src, err := file.FromBytes(name, b)
		if err != nil {
			return nil, err
		}
		found, err := xspace.Work(ctx, src, opt.work(), nil)
		if err != nil {
			return nil, err
		}
		return (&gather{found}).finish(ctx, "xspace", "")
	}
	in, err := stream(name, b)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	found, err := chrometrace.Work(ctx, in, name, opt.work(), nil)
	if err != nil {
		return nil, err
	}
	return (&gather{found}).finish(ctx, "chrome", "")
}

// stream is a file of some bytes, as it is read from a disk.
func stream(name string, b []byte) (*file.Stream, error) {
	dir, err := os.MkdirTemp("", "kernels")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		return nil, err
	}
	return file.OpenStream(context.Background(), path)
}

// recording makes the events of a run of which everything is known: each step launches its kernels, on two streams, one graph among them.
type recording struct {
	events []string
	steps  int
}

const (
	perStep  = 12 // kernels of a step that are launched one by one
	perGraph = 5
)

func record(rank, steps int) *recording {
	r := &recording{steps: steps}
	shift := rank * 100_000_000
	add := func(format string, args ...any) { r.events = append(r.events, fmt.Sprintf(format, args...)) }
	add(`{"ph":"M","name":"process_labels","pid":%d,"tid":0,"args":{"labels":"GPU 0"}}`, shift)
	add(`{"ph":"M","name":"process_name","pid":%d,"tid":0,"args":{"name":"python"}}`, shift+4321)
	corr, host, device := 100, 1000.0, 5000.0
	for step := range steps {
		begin := host
		for k := range perStep + 1 {
			corr += 2
			call := "cudaLaunchKernel"
			if k == perStep {
				call = "cudaGraphLaunch"
			}
			add(`{"ph":"X","cat":"cuda_runtime","name":"%s","pid":%d,"tid":77,"ts":%.3f,"dur":2,"args":{"External id":%d,"correlation":%d}}`, call, shift+4321, host+1, corr, corr)
			add(`{"ph":"s","id":%d,"cat":"ac2g","name":"ac2g","pid":%d,"tid":77,"ts":%.3f}`, corr, shift+4321, host+1)
			host += 5
			kernels := 1
			if k == perStep {
				kernels = perGraph
			}
			for g := range kernels {
				stream, name := 7, fmt.Sprintf("void gemm<%d, \\\"x\\\">(float*)", k)
				if k%4 == 3 {
					stream, name = 20, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
				} else if kernels > 1 {
					name = fmt.Sprintf("graphed_%d", g)
				}
				add(`{"ph": "X", "cat": "kernel", "name": "%s", "pid": %d, "tid": %d, "ts": %.3f, "dur": 3.125, "args": {"queued": 0, "device": 0, "stream": %d, "correlation": %d, "grid": [1, {"a": "}"}, 1]}}`,
					name, shift, stream, device, stream, corr)
				device += 4.25
			}
		}
		add(`{"ph":"X","cat":"user_annotation","name":"ProfilerStep#%d","pid":%d,"tid":77,"ts":%.3f,"dur":%.3f}`, 10+step, shift+4321, begin, host-begin)
		add(`{"ph":"X","cat":"cpu_op","name":"aten::mm {lambda \\ \"}","pid":%d,"tid":77,"ts":%.3f,"dur":3,"args":{"Input Dims":[[1,2],[3]]}}`, shift+4321, begin)
		add(`{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD","pid":%d,"tid":7,"ts":%.3f,"dur":1,"args":{"correlation":%d}}`, shift, device, corr+1)
	}
	return r
}

func (r *recording) list() string { return "[" + strings.Join(r.events, ",\n") + "]" }

func (r *recording) object() string {
	return `{"schemaVersion": 1, "distributedInfo": {"rank": 3, "world_size": 8}, "deviceProperties": [{"name": "]}\""}], "traceEvents": ` + r.list() +
		`, "traceName": "x", "baseTimeNanoseconds": 1700000000000000000}`
}

func squeeze(t testing.TB, how, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	if how == "gzip" {
		w := gzip.NewWriter(&b)
		w.Write([]byte(text))
		w.Close()
		return b.Bytes()
	}
	w, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	w.Write([]byte(text))
	w.Close()
	return b.Bytes()
}

func TestShapesOfChromeTraces(t *testing.T) {
	const steps = 4
	all := steps * (perStep + perGraph)
	r := record(0, steps)
	stringIDs := strings.NewReplacer(`"tid": 7,`, `"tid": "stream 7",`, `"tid": 20,`, `"tid": "stream 20",`, `"pid": 0,`, `"pid": "0",`).Replace(r.object())
	capital := strings.NewReplacer(`"kernel"`, `"Kernel"`, `"cuda_runtime"`, `"Runtime"`, `"user_annotation"`, `"Operator"`).Replace(r.object())
	var halves []string
	for _, e := range r.events {
		if strings.Contains(e, `"cat": "kernel"`) {
			var k struct {
				TS   float64         `json:"ts"`
				Dur  float64         `json:"dur"`
				TID  json.RawMessage `json:"tid"`
				Name string
			}
			if err := json.Unmarshal([]byte(e), &k); err != nil {
				t.Fatal(err)
			}
			halves = append(halves, fmt.Sprintf(`{"ph":"E","pid":0,"tid":%s,"ts":%.3f}`, k.TID, k.TS+k.Dur))
			e = strings.Replace(strings.Replace(e, `"ph": "X"`, `"ph": "B"`, 1), `"dur": 3.125, `, "", 1)
		}
		halves = append(halves, e)
	}
	text := r.object()
	kernelAt := strings.LastIndex(text, `{"ph": "X", "cat": "kernel"`)
	for name, c := range map[string]struct {
		text    string
		kernels int
		steps   int
		sum     string // of Losses that is not zero
	}{
		"object":             {text, all, steps, ""},
		"bare array":         {r.list(), all, steps, ""},
		"byte order mark":    {"\xef\xbb\xbf" + text, all, steps, ""},
		"gzip":               {string(squeeze(t, "gzip", text)), all, steps, ""},
		"zstd":               {string(squeeze(t, "zstd", text)), all, steps, ""},
		"string ids":         {stringIDs, all, steps, ""},
		"2021":               {capital, all, steps, ""},
		"begins and ends":    {"[" + strings.Join(halves, ",") + "]", all, steps, ""},
		"pretty":             {strings.ReplaceAll(text, ", ", ",\r\n\t   "), all, steps, ""},
		"control characters": {strings.ReplaceAll(text, "graphed", "gra\n\x01\tphed"), all, steps, ""},
		"args first":         {strings.ReplaceAll(text, `{"ph": "X", "cat": "kernel"`, `{"args": {"correlation": 0}, "x": [1, {}], "ph": "X", "cat": "kernel"`), all, steps, ""},
		"NaN and Infinity":   {strings.Replace(strings.Replace(text, `"dur": 3.125, "args"`, `"dur": NaN, "args"`, 1), `"grid": [1,`, `"grid": [-Infinity,`, 1), all - 1, steps, "unusable 1"},
		"no strict JSON":     {strings.Replace(text, `"grid": [1,`, `"grid": [ncclFloat32, 0x1f,`, 3), all, steps, ""},
		"concatenated":       {text + "\n" + strings.ReplaceAll(text, "170000000", "170000001"), 2 * all, 2 * steps, "documents 1"},
		"twice the same":     {text + text, all, steps, "documents 1 duplicates 68"},
		"arrays":             {r.list() + r.list()[:1] + "]", all, steps, "documents 1"},
		"cut in the list":    {text[:kernelAt], all - 1, steps - 1, "truncated"},
		"cut in an event":    {text[:kernelAt+100], all - 1, steps - 1, "truncated"},
		"cut behind":         {text[:strings.Index(text, `"traceName"`)], all, steps, "truncated"},
		"cut in gzip":        {string(squeeze(t, "gzip", text)[:len(squeeze(t, "gzip", text))-20]), -1, -1, "truncated"},
		"cut and goes on":    {text[:kernelAt-2] + text, 2*all - 1, -1, "documents 1 duplicates 67 truncated"},
		"a damaged event":    {text[:kernelAt] + `{"ph": "X" "cat": kernel, {{}` + "\n,\n" + text[kernelAt:], all, steps, "skipped 1"},
		"trailing comma":     {strings.Replace(text, `}], "traceName"`, `},{},null,], "traceName"`, 1), all, steps, ""},
		"unclosed array":     {strings.TrimSuffix(r.list(), "]"), all, steps, ""},
		"garbage behind":     {text + "\n~~~ 12 ~~~", all, steps, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tr, err := fromBytes("t.json", []byte(c.text), Options{})
			if err != nil {
				t.Fatal(err)
			}
			kernels, found := tr.Kernels(), 0
			if name == "cut and goes on" {
				kernels += int(tr.Losses.Duplicates)
			}
			for _, m := range tr.Marks {
				if m.Kind == ProfilerStep && m.Place == Launched {
					found++
					if name == "object" && m.Kernels != perStep+perGraph {
						t.Errorf("%s has %d kernels, want %d", m.Text, m.Kernels, perStep+perGraph)
					}
				}
			}
			if name == "twice the same" {
				found /= 2
			}
			if kernels != c.kernels && c.kernels >= 0 || found != c.steps && c.steps >= 0 && name != "args first" {
				t.Errorf("%d kernels and %d steps, want %d and %d", kernels, found, c.kernels, c.steps)
			}
			if got := lossText(&tr.Losses); got != c.sum {
				t.Errorf("losses are %q, want %q", got, c.sum)
			}
		})
	}
}

func lossText(l *Losses) string {
	var out []string
	for _, x := range []struct {
		name string
		n    int64
	}{{"unusable", l.Unusable}, {"unpaired", l.Unpaired}, {"documents", l.Documents}, {"duplicates", l.Duplicates}, {"skipped", l.Skipped}, {"lost", l.LostMarks + l.LostLaunches}} {
		if x.n != 0 {
			out = append(out, fmt.Sprint(x.name, " ", x.n))
		}
	}
	if l.Truncated {
		out = append(out, "truncated")
	}
	return strings.Join(out, " ")
}

func TestTheOrderOfEventsDoesNotMatter(t *testing.T) {
	var events []string
	for rank := range 3 {
		events = append(events, record(rank, 5).events...)
	}
	var want *Trace
	random := rand.New(rand.NewPCG(1, 2))
	for range 12 {
		tr, err := fromBytes("t.json", []byte(`{"traceEvents": [`+strings.Join(events, ",")+"]}"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = tr
		}
		if !reflect.DeepEqual(tr, want) {
			t.Fatalf("another order gives another trace:\n%s%s", describeTrace(tr), describeTrace(want))
		}
		random.Shuffle(len(events), func(i, k int) { events[i], events[k] = events[k], events[i] })
	}
	if len(want.Sequences) != 3 || want.Sequences[2].Rank != 2 || want.Sequences[1].Len() != 5*(perStep+perGraph) {
		t.Errorf("ranks are not told apart: %s", describeTrace(want))
	}
}

func TestWhatASequenceHolds(t *testing.T) {
	r := record(0, 3)
	tr, err := fromBytes("t.json", []byte(r.object()), Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &tr.Sequences[0]
	if s.Rank != 3 || s.Device != "GPU 0" || s.Len() != 3*(perStep+perGraph) || s.StartNS[0] != 1700000000000000000+5_000_000 || s.DurNS(0) != 3125 {
		t.Errorf("got rank %d %s, %d kernels, first at %d for %d ns", s.Rank, s.Device, s.Len(), s.StartNS[0], s.DurNS(0))
	}
	if fmt.Sprint(s.Streams) != "[{7 42 0 false} {20 9 9 true}]" {
		t.Errorf("streams are %v", s.Streams)
	}
	graphed := 0
	for i, g := range s.Graph {
		if strings.HasPrefix(tr.Names[s.Name[i]], "graphed") != (g != 0) {
			t.Errorf("%s is of graph launch %d", tr.Names[s.Name[i]], g)
		}
		if g != 0 && int(g) != graphed/perGraph+1 {
			t.Errorf("kernel %d is of graph launch %d, want %d", i, g, graphed/perGraph+1)
		}
		if g != 0 {
			graphed++
		}
		if i > 0 && s.StartNS[i] < s.StartNS[i-1] {
			t.Errorf("kernel %d starts before the one in front of it", i)
		}
	}
	if graphed != 3*perGraph || tr.Losses.Copies != 3 {
		t.Errorf("%d kernels of graphs, %d copies", graphed, tr.Losses.Copies)
	}
	with, err := fromBytes("t.json", []byte(r.object()), Options{Copies: true})
	if err != nil || with.Kernels() != s.Len()+3 {
		t.Errorf("with copies: %v", err)
	}
	if _, err := fromBytes("t.json", []byte(r.object()), Options{MaxKernels: 10}); !fault.Is(err, fault.Limit) {
		t.Errorf("more kernels than allowed: %v", err)
	}
}

func TestADurationOfSecondsIsKept(t *testing.T) {
	tr, err := fromBytes("t.json", []byte(`[{"ph":"X","cat":"kernel","name":"a","pid":0,"tid":1,"ts":5,"dur":7000000},{"ph":"X","cat":"kernel","name":"b","pid":0,"tid":1,"ts":-1.5,"dur":0.0004}]`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s := &tr.Sequences[0]; s.DurNS(1) != 7_000_000_000 || s.EndNS(1) != 7_000_005_000 || s.StartNS[0] != -1500 || s.DurNS(0) != 0 {
		t.Errorf("got %d ns from %d, %d from %d", s.DurNS(1), s.StartNS[1], s.DurNS(0), s.StartNS[0])
	}
}

// JAX's own trace.json has no categories: planes are processes, lines are threads.
func TestTracesOfJAX(t *testing.T) {
	text := `{"traceEvents":[
		{"ph":"M","pid":3,"name":"process_name","args":{"name":"/device:TPU:0 (host)"}},{"ph":"M","pid":701,"name":"process_name","args":{"name":"/host:CPU"}},
		{"ph":"M","pid":3,"tid":1,"name":"thread_name","args":{"name":"XLA Modules"}},{"ph":"M","pid":3,"tid":2,"name":"thread_name","args":{"name":"XLA Ops"}},
		{"ph":"M","pid":3,"tid":3,"name":"thread_name","args":{"name":"Framework Ops"}},
		{"ph":"X","pid":3,"tid":1,"ts":10,"dur":10,"name":"jit_f(1)"},{"ph":"X","pid":3,"tid":2,"ts":11,"dur":2,"name":"fusion.1"},{"ph":"X","pid":3,"tid":2,"ts":14,"dur":2,"name":"fusion.2"},
		{"ph":"X","pid":3,"tid":3,"ts":11,"dur":2,"name":"jit(f)/add"},{"ph":"X","pid":701,"tid":9,"ts":1,"dur":50,"name":"PjitFunction(f)"},{}]}`
	tr, err := fromBytes("t.json", []byte(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(tr.Sequences) != 1 || tr.Sequences[0].Device != "TPU 0" || tr.Kernels() != 2 || len(tr.Marks) != 1 || tr.Marks[0].Kind != XLAModule || tr.Marks[0].Kernels != 2 {
		t.Errorf("got %s", describeTrace(tr))
	}
	host := strings.ReplaceAll(text, "/device:TPU:0 (host)", "/host:metadata")
	if tr, err = fromBytes("t.json", []byte(host), Options{}); err != nil || tr.Kernels() != 0 {
		t.Errorf("a trace of hosts: %v, %v", tr, err)
	}
}

func TestFilesThatAreNotTracesAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		say  string
	}{
		"empty":          {"", "is empty"},
		"blank":          {" \n\t", "only white space"},
		"text":           {"hello", "not Chrome trace JSON"},
		"another object": {`{"nodes": [{"ph": "X"}]}`, "no traceEvents"},
		"cut":            {`{"schemaVersion": 1, "devi`, "ends before"},
		"no key":         {`{1: 2, "traceEvents": []}`, "wrong JSON"},
		"tar":            {strings.Repeat("a", 257) + "ustar" + strings.Repeat("\x00", 300), ""},
		"sqlite":         {"SQLite format 3\x00......", ""},
	} {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Read(nil, path, Options{})
		if f := fault.Of(err); f == nil || f.Kind != fault.Format || !strings.Contains(f.Error(), c.say) || c.say == "" && f.Hint == "" {
			t.Errorf("%s: got %v, want %q", name, err, c.say)
		}
	}
	tr, err := fromBytes("t.json", []byte(`{"traceEvents": []}`), Options{})
	if err != nil || tr.Kernels() != 0 || len(tr.Warnings) != 1 {
		t.Errorf("no events: %v, %v", tr, err)
	}
}

func FuzzRead(f *testing.F) {
	r := record(0, 1)
	f.Add([]byte(r.object()))
	f.Add([]byte(r.list()[:500]))
	f.Add([]byte(r.object() + r.list()))
	f.Add([]byte(`[{"ph":"B","cat":"kernel","name":"a","pid":0,"tid":1,"ts":5},{"ph":"E","pid":0,"tid":1,"ts":6.5}]`))
	f.Add([]byte(`[{"ph":"X","name":"x","pid":"p","tid":"","ts":9e15,"dur":1e99},{"traceEvents":[{"ph":"X","cat":"kernel"`))
	f.Add([]byte(`{"baseTimeNanoseconds":"9223372036854775807","traceEvents":[{"ph":"X","cat":"kernel","ts":1,"dur":1}]}{"traceEvents":[{"ph":"X","cat":"kernel","ts":-9000000000000,"dur":1}]}`))
	f.Add([]byte("\x0a\x16\x08\x01\x12\x0d/device:GPU:0\x1a\x03\x08\x01\x18"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		tr, err := fromBytes("t", b, Options{Copies: len(b)%2 == 0})
		if err != nil {
			if e := fault.Of(err); e.Kind == fault.Internal {
				t.Fatal(err)
			}
			return
		}
		for i := range tr.Sequences {
			s := &tr.Sequences[i]
			n := 0
			for _, st := range s.Streams {
				n += st.Kernels
			}
			if n != s.Len() || len(s.StartNS) != n || len(s.Stream) != n || s.Graph != nil && len(s.Graph) != n {
				t.Fatalf("columns of %d, %d, %d kernels, streams of %d", s.Len(), len(s.StartNS), len(s.Stream), n)
			}
			for k := 1; k < n; k++ {
				if s.StartNS[k] < s.StartNS[k-1] || s.DurNS(k) < 0 {
					t.Fatalf("kernel %d is out of order, or of negative length", k)
				}
			}
		}
		for _, m := range tr.Marks {
			if m.Sequence >= len(tr.Sequences) || m.EndNS < m.StartNS {
				t.Fatalf("mark %+v", m)
			}
		}
	})
}
