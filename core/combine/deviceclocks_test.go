package combine

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/testing/filetest"
)

// gpuTrace is a trace of one process with one device, whose clock is off and drifts. Only what was recorded is written.
type gpuTrace struct {
	seed      uint64
	steps     int
	offsetNS  int64   // of the device's clock at the first step
	driftPPM  float64 // how much faster it runs
	waitEvery int     // steps between two calls that wait for the device; 0: none
	copyEvery int     // likewise, of copies to memory that the device cannot reach
	rank      int
	roundNS   int64 // to which the recorder cuts begins and durations; 0: 1
}

const gpuStart = int64(1_760_000_000_000_000_000)

// device is what the device's clock shows at an instant of the host's.
func (g *gpuTrace) device(ns int64) int64 {
	return ns + g.offsetNS + int64(g.driftPPM*1e-6*float64(ns-gpuStart))
}

// text writes the trace, and returns the true starts of what the device did, by name.
func (g *gpuTrace) text() ([]byte, map[string]int64) {
	r := rand.New(rand.NewPCG(g.seed, 3))
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"schemaVersion":1,"distributedInfo":{"rank":%d},"baseTimeNanoseconds":%d,"traceEvents":[`+"\n", g.rank, gpuStart)
	fmt.Fprintf(&b, `{"ph":"M","name":"process_name","pid":4711,"tid":0,"args":{"name":"python"}},{"ph":"M","name":"process_labels","pid":0,"tid":0,"args":{"labels":"GPU 0"}}`)
	truth := map[string]int64{}
	number := 0
	cut := func(ns int64) string {
		step := max(1, g.roundNS)
		return strconv.FormatFloat(float64(ns/step*step)/1e3, 'f', 3, 64)
	}
	event := func(cat, name string, pid, tid int, from, to int64, number int) {
		fmt.Fprintf(&b, ",\n"+`{"ph":"X","cat":"%s","name":"%s","pid":%d,"tid":%d,"ts":%s,"dur":%s,"args":{"correlation":%d}}`, cat, name, pid, tid, cut(from-gpuStart), cut(to-from), number)
	}
	now, free := gpuStart, gpuStart // the host's next call, and when the device has nothing left to do
	work := func(cat, call, name string, long int64) (done int64) {
		number++
		from := now
		now += 3_000 + r.Int64N(3_000)
		begin := max(free, from+2_500+int64(r.ExpFloat64()*2_000))
		free = begin + long
		if cat == "gpu_memcpy" { // the call returns when its work is done
			now = max(now, free+2_000+int64(r.ExpFloat64()*4_000))
		}
		event("cuda_runtime", call, 4711, 4711, from, now, number)
		name = fmt.Sprintf("%s %d", name, number)
		truth[name] = begin
		event(cat, name, 0, 7, g.device(begin), g.device(free), number)
		return free
	}
	for step := range g.steps {
		for range 12 {
			work("kernel", "cudaLaunchKernel", "k", 4_000+r.Int64N(60_000))
			now += r.Int64N(20_000)
		}
		if g.copyEvery > 0 && step%g.copyEvery == 0 {
			work("gpu_memcpy", "cudaMemcpyAsync", "Memcpy DtoH (Device -> Pageable)", 3_000)
		}
		if g.waitEvery > 0 && step%g.waitEvery == 0 {
			number++
			from := now
			now = max(now+2_000, free+3_000+int64(r.ExpFloat64()*5_000))
			event("cuda_runtime", "cudaDeviceSynchronize", 4711, 4711, from, now, number)
		}
		now = max(now, free) + 500_000
	}
	b.WriteString("\n]}\n")
	return b.Bytes(), truth
}

// check compares the device's events of an output with their true starts, on the host's clock moved by shift.
func (g *gpuTrace) check(t *testing.T, path string, zeroNS int64, truth map[string]int64, shift int64) (worst, largest int64) {
	t.Helper()
	seen := 0
	for _, e := range readChrome(t, path).Events {
		name, _ := e["name"].(string)
		want, ok := truth[name]
		if !ok || e["ph"] != "X" {
			continue
		}
		seen++
		us, err := strconv.ParseFloat(fmt.Sprint(e["ts"]), 64)
		if err != nil {
			t.Fatal(err)
		}
		bound, err := strconv.ParseInt(fmt.Sprint(e["args"].(map[string]any)[boundStatName]), 10, 64)
		if err != nil {
			t.Fatalf("%v", e)
		}
		off := zeroNS + int64(us*1e3+0.5) - want - shift
		if max(off, -off) > bound+2+g.roundNS {
			t.Fatalf("%s is off by %d ns, its bound is %d ns", name, off, bound)
		}
		worst, largest = max(worst, off, -off), max(largest, bound)
	}
	if seen != len(truth) {
		t.Fatalf("%d of %d events of the device", seen, len(truth))
	}
	return worst, largest
}

// TestDeviceClocksThatDriftAreCorrected: the truth of every event of the device lies inside the bound that it states, and no kernel is left before
// its launch.
func TestDeviceClocksThatDriftAreCorrected(t *testing.T) {
	var errs, bounds []int64
	seeds := uint64(24)
	if testing.Short() {
		seeds = 8
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 9))
		g := &gpuTrace{seed: seed, steps: 400, offsetNS: r.Int64N(600_000) - 300_000, driftPPM: r.Float64()*200 - 100, waitEvery: 1 + r.IntN(20), copyEvery: r.IntN(8)}
		if seed%4 == 3 {
			g.roundNS = 1000
		}
		text, truth := g.text()
		dir := t.TempDir()
		in, out := put(t, dir, "rank0.json", text), filepath.Join(dir, "out.json")
		doc := combined(t, 1, Request{Inputs: []Input{{Path: in}}, Output: out, DeviceClocks: deviceClocksCorrect, BoundStat: true})
		if len(doc.Nodes[0].DeviceClocks) != 1 {
			t.Fatalf("seed %d: %+v", seed, doc.Nodes[0])
		}
		d := doc.Nodes[0].DeviceClocks[0]
		if d.GPU != 0 || d.Work != len(truth) || d.Launches != len(truth) || d.Waits == 0 || !d.Moved || d.Before.None() || !d.After.None() || d.OffsetNS == nil {
			t.Fatalf("seed %d: %+v", seed, d)
		}
		at := *d.OffsetNS - (g.device(d.AtNS-*d.OffsetNS) - (d.AtNS - *d.OffsetNS))
		if max(at, -at) > d.BoundNS.Max+2 {
			t.Errorf("seed %d: the clock is off by %d ns from what the document says, whose bound is %d", seed, at, d.BoundNS.Max)
		}
		worst, largest := g.check(t, out, doc.ZeroNS, truth, 0)
		errs, bounds = append(errs, worst), append(bounds, largest)
	}
	slices.Sort(errs)
	slices.Sort(bounds)
	t.Logf("largest error of an event: median %d ns, worst %d; largest bound: median %d ns, worst %d", errs[len(errs)/2], errs[len(errs)-1], bounds[len(bounds)/2], bounds[len(bounds)-1])
	if errs[len(errs)-1] > 60_000 {
		t.Errorf("an event is off by %d ns", errs[len(errs)-1])
	}
}

// TestDeviceClocksAreCheckedWithoutMovingAnything, and by default nothing is looked at.
func TestDeviceClocksAreCheckedWithoutMovingAnything(t *testing.T) {
	g := &gpuTrace{seed: 1, steps: 50, offsetNS: -200_000, waitEvery: 3}
	text, _ := g.text()
	dir := t.TempDir()
	in := put(t, dir, "rank0.json", text)
	for _, ask := range []string{deviceClocksTrust, deviceClocksCheck} {
		out := filepath.Join(t.TempDir(), "out.json")
		doc := combined(t, 1, Request{Inputs: []Input{{Path: in}}, Output: out, DeviceClocks: ask})
		if !bytes.Equal(plainBytes(t, out), text) {
			t.Errorf("%s: the output is not the input", ask)
		}
		devices := doc.Nodes[0].DeviceClocks
		if (len(devices) == 1) != (ask == deviceClocksCheck) {
			t.Fatalf("%s: %+v", ask, devices)
		}
		if ask == deviceClocksCheck {
			d := devices[0]
			if d.Before.BeforeLaunch == 0 || d.After != d.Before || d.Moved || d.OffsetNS == nil || max(*d.OffsetNS+200_000, -200_000-*d.OffsetNS) > d.BoundNS.Max {
				t.Errorf("%+v", d)
			}
			if !slices.ContainsFunc(doc.Nodes[0].Warnings, func(w string) bool { return strings.Contains(w, "begin before the call that launched them") }) {
				t.Errorf("warnings %q", doc.Nodes[0].Warnings)
			}
		}
	}
}

// TestTimesCutToMicrosecondsPutNothingInAnImpossibleOrder: what is cut off is smaller than a microsecond.
func TestTimesCutToMicrosecondsPutNothingInAnImpossibleOrder(t *testing.T) {
	for seed := range uint64(20) {
		g := &gpuTrace{seed: seed, steps: 100, waitEvery: 1, copyEvery: 1, roundNS: 1000}
		text, _ := g.text()
		dir := t.TempDir()
		doc := combined(t, 1, Request{Inputs: []Input{{Path: put(t, dir, "rank0.json", text)}}, Output: filepath.Join(dir, "out.json"), DeviceClocks: deviceClocksCorrect})
		if d := doc.Nodes[0].DeviceClocks[0]; !d.Before.None() || d.Moved || d.BoundNS == nil || *d.OffsetNS != 0 {
			t.Fatalf("seed %d: %+v", seed, d)
		}
	}
}

// TestAClockThatStaysAsRecordedIsBoundedByWhatIsPossible: not by how far off the middle of that can be.
func TestAClockThatStaysAsRecordedIsBoundedByWhatIsPossible(t *testing.T) {
	g := &gpuTrace{seed: 4, steps: 400, offsetNS: 2950, waitEvery: 1} // waits return 3 us late or later
	text, truth := g.text()
	dir := t.TempDir()
	out := filepath.Join(dir, "out.json")
	doc := combined(t, 1, Request{Inputs: []Input{{Path: put(t, dir, "rank0.json", text)}}, Output: out, DeviceClocks: deviceClocksCorrect, BoundStat: true})
	if d := doc.Nodes[0].DeviceClocks[0]; d.Moved || !d.Before.None() || *d.OffsetNS != 0 {
		t.Fatalf("%+v", d)
	}
	if _, largest := g.check(t, out, doc.ZeroNS, truth, 0); largest < 4500 { // launches take 2.5 us or more, so it may be 5.4 us ahead
		t.Errorf("the largest bound is %d ns", largest)
	}
}

// TestADeviceClockThatNoWaitBoundsMovesAsLittleAsTheOrderAsks.
func TestADeviceClockThatNoWaitBoundsMovesAsLittleAsTheOrderAsks(t *testing.T) {
	for offset, moved := range map[int64]bool{-200_000: true, 0: false} {
		g := &gpuTrace{seed: 2, steps: 50, offsetNS: offset}
		text, truth := g.text()
		dir := t.TempDir()
		out := filepath.Join(dir, "out.json")
		doc := combined(t, 1, Request{Inputs: []Input{{Path: put(t, dir, "rank0.json", text)}}, Output: out, DeviceClocks: deviceClocksCorrect})
		d := doc.Nodes[0].DeviceClocks[0]
		if d.Moved != moved || d.BoundNS != nil || d.OffsetNS != nil || !d.After.None() || d.Before.None() != !moved || !strings.Contains(d.Said, "no call that waits") {
			t.Errorf("offset %d: %+v", offset, d)
		}
		for _, e := range readChrome(t, out).Events {
			if want, ok := truth[fmt.Sprint(e["name"])]; ok {
				us, _ := strconv.ParseFloat(fmt.Sprint(e["ts"]), 64)
				if off := doc.ZeroNS + int64(us*1e3+0.5) - want; off > 1 || off < -10_000 { // the least delay of a launch is 2.5 us, and few are that fast
					t.Fatalf("offset %d: %v is off by %d ns", offset, e["name"], off)
				}
			}
		}
	}
}

// TestDevicesOfSeveralNodes: device clocks are put on their host's, and go with that to the reference's.
func TestDevicesOfSeveralNodes(t *testing.T) {
	dir := t.TempDir()
	var inputs []Input
	var traces []*gpuTrace
	var truths []map[string]int64
	for rank := range 2 {
		g := &gpuTrace{seed: uint64(rank), steps: 200, offsetNS: -150_000 * int64(rank), driftPPM: 20, waitEvery: 4, rank: rank}
		text, truth := g.text()
		inputs = append(inputs, Input{Path: put(t, dir, fmt.Sprintf("rank%d.json", rank), bytes.ReplaceAll(text, []byte(`"k `), []byte(fmt.Sprintf(`"r%d k `, rank))))})
		own := map[string]int64{} // names of the ranks differ
		for name, at := range truth {
			own[strings.Replace(name, "k ", fmt.Sprintf("r%d k ", rank), 1)] = at
		}
		traces, truths = append(traces, g), append(truths, own)
	}
	declared := put(t, dir, "d.json", []byte(`{"nodes": {"rank0": {"offset_ns": 0, "bound_ns": 0}, "rank1": {"offset_ns": 5000000, "bound_ns": 100}}}`))
	out := filepath.Join(dir, "out.json")
	doc := combined(t, 2, Request{Inputs: inputs, Output: out, Declared: declared, DeviceClocks: deviceClocksCorrect, BoundStat: true})
	for rank, g := range traces {
		g.check(t, out, doc.ZeroNS, truths[rank], int64(rank)*-5_000_000)
	}
	if doc.Nodes[0].DeviceClocks[0].Moved || !doc.Nodes[1].DeviceClocks[0].Moved {
		t.Errorf("%+v", doc.Nodes)
	}
}

// TestRealDeviceClocks: in no recording that links launches does a kernel begin before its launch, and correcting leaves it so.
func TestRealDeviceClocks(t *testing.T) {
	linked := 0
	for _, path := range filetest.Glob(t, "kineto/*.json*") {
		out := filepath.Join(t.TempDir(), "out.json")
		doc := combined(t, 2, Request{Inputs: []Input{{ID: "a", Path: path}}, Output: out, DeviceClocks: deviceClocksCorrect})
		for _, d := range doc.Nodes[0].DeviceClocks {
			bound := "open"
			if d.BoundNS != nil {
				bound = fmt.Sprint(d.BoundNS.P50)
			}
			t.Logf("%s: %s: %d work, %d launches, %d waits, before %+v, after %+v, moved %v, bound %s: %s", filepath.Base(path), d.Process, d.Work, d.Launches, d.Waits, d.Before, d.After, d.Moved, bound, d.Said)
			if linked += d.Launches; d.After.BeforeLaunch > 0 {
				t.Errorf("%s: %+v", filepath.Base(path), d)
			}
		}
	}
	if linked < 100_000 {
		t.Errorf("%d launches", linked)
	}
}

// TestLaunchesOfRealXSpaces: as many are linked as another reader of the format finds, none begins before its launch, and nothing moves.
func TestLaunchesOfRealXSpaces(t *testing.T) {
	for pattern, want := range map[string]int{"*jax08_attention*": 105, "*conv_minimal_08*": 235, "*conv_minimal_legacy*": 78, "*2cc1243*": 0} {
		path := filetest.Glob(t, "xplane/"+pattern)[0]
		out := filepath.Join(t.TempDir(), "out.xplane.pb")
		doc := combined(t, 1, Request{Inputs: []Input{{ID: "a", Path: path}}, Output: out, DeviceClocks: deviceClocksCorrect})
		launches, work := 0, 0
		for _, d := range doc.Nodes[0].DeviceClocks {
			launches, work = launches+d.Launches, work+d.Work
			if d.Before.BeforeLaunch > 0 || d.Moved || d.Before != d.After {
				t.Errorf("%s: %+v", filepath.Base(path), d)
			}
		}
		if launches != want || work < want {
			t.Errorf("%s: %d launches and %d work, want %d: %+v, %q", filepath.Base(path), launches, work, want, doc.Nodes[0].DeviceClocks, doc.Nodes[0].Warnings)
		}
		nothing := slices.ContainsFunc(doc.Nodes[0].Warnings, func(w string) bool { return strings.Contains(w, "nothing can be said") })
		if nothing != (want == 0) {
			t.Errorf("%s: warnings %q", filepath.Base(path), doc.Nodes[0].Warnings)
		}
	}
}
