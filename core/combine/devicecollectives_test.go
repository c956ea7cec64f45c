package combine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/aligned"
)

// gpuJob is a job of two ranks with a device each, which all-reduce in every step. The clock of rank 1 is off, and so is each device's from its host's.
type gpuJob struct {
	hosts   [2]func(ns int64) int64 // what a rank's clock shows
	devices [2]func(ns int64) int64
	truth   map[string]int64 // true starts, by the name of the event
}

// texts simulates the job and writes what each rank records.
func (g *gpuJob) texts(seed uint64, steps int) [2][]byte {
	r := rand.New(rand.NewPCG(seed, 5))
	var out [2]bytes.Buffer
	g.truth = map[string]int64{}
	var now, free [2]int64
	number := 0
	stamp := func(ns int64) string { return strconv.FormatFloat(float64(ns)/1e3, 'f', 3, 64) }
	event := func(rank int, device bool, cat, name string, from, to int64, args string) {
		pid, clock := 4711, g.hosts[rank]
		if device {
			pid, clock = 0, g.devices[rank]
		}
		if name != "cudaDeviceSynchronize" {
			name = fmt.Sprintf("%s %d", name, number)
			g.truth[fmt.Sprint(rank, " ", name)] = from
		}
		fmt.Fprintf(&out[rank], ",\n"+`{"ph":"X","cat":"%s","name":"%s","pid":%d,"tid":7,"ts":%s,"dur":%s,"args":{"correlation":%d%s}}`, cat, name, pid,
			stamp(clock(from)-gpuStart), stamp(clock(to)-clock(from)), number, args)
	}
	for rank := range out {
		now[rank], free[rank] = gpuStart+r.Int64N(50_000), gpuStart
		fmt.Fprintf(&out[rank], `{"distributedInfo":{"backend":"nccl","rank":%d,"world_size":2},"baseTimeNanoseconds":%d,"traceEvents":[
{"ph":"M","name":"process_labels","pid":0,"tid":0,"args":{"labels":"GPU 0"}}`, rank, gpuStart)
	}
	launch := func(rank int) (begin int64) {
		number++
		from := now[rank]
		now[rank] += 3_000 + r.Int64N(3_000)
		event(rank, false, "cuda_runtime", "cudaLaunchKernel", from, now[rank], "")
		return max(free[rank], from+2_500+int64(r.ExpFloat64()*2_000))
	}
	for step := range steps {
		var begins [2]int64
		var numbers [2]int
		for rank := range out {
			for range 6 {
				begin := launch(rank)
				free[rank] = begin + 4_000 + r.Int64N(40_000)
				event(rank, true, "kernel", "k", begin, free[rank], "")
			}
			begins[rank] = launch(rank)
			numbers[rank] = number
		}
		end := max(begins[0], begins[1]) + 15_000
		for rank := range out {
			free[rank] = end + r.Int64N(2_000)
			number = numbers[rank]
			event(rank, true, "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", begins[rank], free[rank], fmt.Sprintf(
				`,"Collective name":"allreduce","In msg nelems":1024,"Group size":2,"Process Group Name":"0","Process Group Ranks":"[0, 1]","Seq":%d,"device":0,"stream":7`, step))
			number = numbers[1] + 1 + rank
			from := now[rank]
			now[rank] = max(from+2_000, free[rank]+3_000+int64(r.ExpFloat64()*3_000))
			event(rank, false, "cuda_runtime", "cudaDeviceSynchronize", from, now[rank], "")
			now[rank] += 2_000_000 + r.Int64N(100_000)
		}
		number = numbers[1] + 2
	}
	for rank := range out {
		out[rank].WriteString("\n]}\n")
	}
	return [2][]byte{out[0].Bytes(), out[1].Bytes()}
}

// outside counts the events of an output that are further off than they say, of the host and of devices.
func (g *gpuJob) outside(t *testing.T, path string, zeroNS int64, of map[string]int) (hosts, devices, seen int) {
	t.Helper()
	for _, e := range readChrome(t, path).Events {
		pid := fmt.Sprint(e["pid"])
		want, ok := g.truth[fmt.Sprint(of[pid], " ", e["name"])]
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
		off := zeroNS + int64(us*1e3+0.5) - g.hosts[0](want)
		switch {
		case max(off, -off) <= bound+2:
		case e["cat"] == "kernel":
			devices++
		default:
			hosts++
		}
	}
	return hosts, devices, seen
}

// TestCollectivesOfDevicesWhoseClocksAreOff: kernels of collectives are on the clocks of devices. Corrected, they align the hosts, and the truth of
// every event lies inside its bound. Trusted, they take what the devices are off for what the hosts are.
func TestCollectivesOfDevicesWhoseClocksAreOff(t *testing.T) {
	wrong := 0
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 21))
		g := &gpuJob{}
		for rank := range 2 {
			offset, drift := int64(rank)*(r.Int64N(20_000_000)-10_000_000), float64(rank)*(r.Float64()*100-50)
			own, strays := r.Int64N(600_000)-300_000, r.Float64()*60-30
			at := func(ns int64, offset int64, ppm float64) int64 {
				return ns + offset + int64(ppm*1e-6*float64(ns-gpuStart))
			}
			g.hosts[rank] = func(ns int64) int64 { return at(ns, offset, drift) }
			g.devices[rank] = func(ns int64) int64 { return at(ns, offset+own, drift+strays) }
		}
		texts := g.texts(seed, 300)
		dir := t.TempDir()
		inputs := []Input{{Path: put(t, dir, "rank0.json", texts[0])}, {Path: put(t, dir, "rank1.json", texts[1])}}
		for _, ask := range []string{deviceClocksTrust, deviceClocksCorrect} {
			out := filepath.Join(t.TempDir(), "out.json")
			doc := combined(t, 2, Request{Inputs: inputs, Output: out, Method: methodCollectives, DeviceClocks: ask, BoundStat: true})
			of := map[string]int{} // rank by pid, in the order of the inputs
			for _, e := range readChrome(t, out).Events {
				if pid := fmt.Sprint(e["pid"]); e["ph"] == "X" {
					if _, known := of[pid]; !known {
						of[pid] = len(of) / 2
					}
				}
			}
			hosts, devices, seen := g.outside(t, out, doc.ZeroNS, of)
			if seen != len(g.truth) {
				t.Fatalf("%d of %d events", seen, len(g.truth))
			}
			if ask == deviceClocksTrust {
				if hosts > 0 {
					wrong++
				}
				continue
			}
			if hosts+devices > 0 {
				t.Errorf("seed %d: %d events of hosts and %d of devices are further off than they say; %+v", seed, hosts, devices, doc.Nodes[1].BoundNS)
			}
			for _, n := range doc.Nodes {
				if d := n.DeviceClocks[0]; !d.After.None() {
					t.Errorf("seed %d: %+v", seed, d)
				}
			}
			if doc.Collectives.After.Violated > 0 {
				t.Errorf("seed %d: %+v", seed, doc.Collectives)
			}
			var text struct {
				Mark json.RawMessage `json:"prlxAlignment"`
			}
			if err := json.Unmarshal(plainBytes(t, out), &text); err != nil {
				t.Fatal(err)
			}
			if mark, err := aligned.Read(text.Mark); err != nil || len(mark.Nodes) != 2 || len(mark.Nodes[1].TracerThreads) != 1 || mark.Nodes[1].Tracer == nil {
				t.Errorf("seed %d: the mark does not say which lines are a device's (%v)", seed, err)
			}
			// Read again, the output judges its collectives as it did, each instant with the bound of its own clock.
			again, err := Validate(job.New(t.Context(), job.Options{}), ValidateRequest{Request: Request{Inputs: []Input{{Path: out}}}})
			if err != nil || again.Violated > 0 || again.Groups != doc.Collectives.Groups {
				t.Errorf("seed %d: read again %+v, %v", seed, again, err)
			}
			t.Logf("seed %d: rank 1 ±%d ns", seed, doc.Nodes[1].BoundNS.Max)
		}
	}
	if wrong < 4 {
		t.Errorf("trusted devices mislead in %d of 6 jobs: the test does not show what it is to show", wrong)
	}
}
