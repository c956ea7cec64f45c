package kernels

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/prlx-go/prlx/core/testing/filetest"
)

// spoken is an event as the file has it.
type spoken struct {
	Ph, Cat, Name string
	PID           json.RawMessage
	TID           json.RawMessage
	TS, Dur       float64
	Args          struct {
		Correlation int64           `json:"correlation"`
		Sequence    int64           `json:"Sequence number"`
		Forward     int64           `json:"Fwd thread id"`
		External    json.RawMessage `json:"External id"`
	}
}

func (e *spoken) around(at float64) bool { return e.TS <= at && at < e.TS+e.Dur }

// modulesOf finds the modules of every kernel of a trace differently from the reader: all ranges of a thread are looked at for every call.
func modulesOf(t *testing.T, path string) map[launchedName][]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Base   int64             `json:"baseTimeNanoseconds"`
		Events []json.RawMessage `json:"traceEvents"`
	}
	if err := json.NewDecoder(z).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	var kernels []spoken
	calls := map[int64]spoken{}
	modules, operators := map[string][]spoken{}, map[string][]spoken{}
	for _, raw := range doc.Events {
		var e spoken
		if json.Unmarshal(raw, &e) != nil || e.Ph != "X" {
			continue
		}
		thread := string(e.PID) + "/" + string(e.TID)
		switch {
		case e.Cat == "kernel":
			kernels = append(kernels, e)
		case e.Cat == "cuda_runtime" || e.Cat == "cuda_driver" || e.Cat == "hip_runtime":
			if e.Args.Correlation != 0 {
				calls[e.Args.Correlation] = e
			}
		case strings.HasPrefix(e.Name, modulePrefix):
			modules[thread] = append(modules[thread], e)
		case e.Cat == "cpu_op":
			operators[thread] = append(operators[thread], e)
		}
	}
	inside := func(thread string, at float64) []string {
		var found []spoken
		for _, m := range modules[thread] {
			if m.around(at) {
				found = append(found, m)
			}
		}
		slices.SortStableFunc(found, func(a, b spoken) int {
			return cmp.Or(cmp.Compare(a.TS, b.TS), cmp.Compare(b.Dur, a.Dur))
		})
		var out []string
		for _, m := range found {
			out = append(out, className(m.Name))
		}
		return out
	}
	forward := map[int64]spoken{}
	threadOf := map[int64]string{}
	for thread, list := range operators {
		for _, o := range list {
			if old, seen := forward[o.Args.Sequence]; o.Args.Sequence > 0 && o.Args.Forward == 0 && (!seen || o.TS > old.TS) {
				forward[o.Args.Sequence], threadOf[o.Args.Sequence] = o, thread
			}
		}
	}
	out := map[launchedName][]string{}
	for _, k := range kernels {
		c, ok := calls[k.Args.Correlation]
		if !ok {
			continue
		}
		thread := string(c.PID) + "/" + string(c.TID)
		path := inside(thread, c.TS)
		var inner *spoken
		for i := range operators[thread] {
			if o := &operators[thread][i]; o.around(c.TS) && o.Args.Forward != 0 && o.Args.Sequence > 0 && (inner == nil || o.Dur < inner.Dur) {
				inner = o
			}
		}
		if inner != nil {
			if o, ok := forward[inner.Args.Sequence]; ok {
				path = inside(threadOf[inner.Args.Sequence], o.TS)
			}
		}
		if len(path) > 0 {
			out[launchedName{doc.Base + int64(k.TS*1000+0.5), k.Name}] = path
		}
	}
	return out
}

type launchedName struct {
	start int64
	name  string
}

// TestModulesAreThoseOfTheLaunches compares what kernels of public traces belong to with the modules around their launches, found differently.
func TestModulesAreThoseOfTheLaunches(t *testing.T) {
	files := filetest.Glob(t, "kineto/*.json.gz")
	compared := 0
	for _, path := range files {
		name := filepath.Base(path)
		if !slices.ContainsFunc([]string{"eager_trace", "Qwen1.5", "timesformer", "resnet_act", "sglang_Qwen3-8B_prefill", "xdit_flux"}, func(s string) bool { return strings.Contains(name, s) }) {
			continue
		}
		if testing.Short() && strings.Contains(name, "xdit") {
			continue
		}
		truth := modulesOf(t, path)
		trace, err := Read(nil, path, Options{Owners: true})
		if err != nil {
			t.Fatal(err)
		}
		right, wrong, missing, kernels := 0, 0, 0, 0
		for i := range trace.Sequences {
			s := &trace.Sequences[i]
			for k := range s.Len() {
				kernels++
				want := truthAt(truth, s.StartNS[k], trace.Names[s.Name[k]])
				if want == nil {
					continue
				}
				var got []string
				for _, p := range trace.Owners[s.Owner[k]].Path {
					got = append(got, p.Name)
				}
				switch {
				case endsWith(got, want):
					right++
				case len(got) == 0:
					missing++
				default:
					if wrong++; wrong < 3 {
						t.Logf("%s: %s: got %v, want %v", name, trace.Names[s.Name[k]], got, want)
					}
				}
			}
		}
		all := right + wrong + missing
		t.Logf("%s: %d kernels, %d in modules: %d right, %d wrong, %d without", name, kernels, all, right, wrong, missing)
		if all == 0 || right*100 < all*95 {
			t.Errorf("%s: %d of %d right", name, right, all)
		}
		compared++
	}
	if compared < 7 {
		t.Errorf("%d traces were compared", compared)
	}
}

// truthAt looks a kernel up; microseconds as floats are a nanosecond off at times.
func truthAt(truth map[launchedName][]string, start int64, name string) []string {
	for _, off := range []int64{0, 1, -1} {
		if path, ok := truth[launchedName{start + off, name}]; ok {
			return path
		}
	}
	return nil
}

// endsWith reports whether a path has all modules in order; named ranges stand between them.
func endsWith(got, want []string) bool {
	n := 0
	for _, p := range got {
		if n < len(want) && p == want[n] {
			n++
		}
	}
	return n == len(want)
}
