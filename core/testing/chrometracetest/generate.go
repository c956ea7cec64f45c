// Package chrometracetest makes Kineto-like traces with known clocks, for tests and benchmarks.
package chrometracetest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
)

// Epoch is the true instant, ns since the Unix epoch, at which every generated job starts.
const Epoch = int64(1_760_000_000_123_456_789)

// Options describes one rank of a generated job.
type Options struct {
	Seed     uint64
	Bytes    int   // the document is at least this long
	Rank     int   // written to distributedInfo
	World    int   // world size
	OffsetNS int64 // the rank's clock minus true time at Epoch
	DriftPPB int64 // the rank's clock runs this much fast
	Indent   bool  // json.dumps(indent=4) spelling instead of Kineto's own
	BaseLast bool  // baseTimeNanoseconds behind the events
	NoBase   bool  // absolute us, as before PyTorch 2.4
}

// Truth is the true start and duration of one timed event, in the order of the document.
type Truth struct {
	Name       string
	TrueNS     int64 // true instant of the start
	DurationNS int64 // as the rank's clock measured it
	ShownNS    int64 // the start as the rank's clock showed it, absolute
}

// Base is the baseTimeNanoseconds of generated traces.
const Base = int64(1_759_300_074_000_000_000)

// Shown returns what the rank's clock shows at a true instant, exactly rounded down.
func (o Options) Shown(trueNS int64) int64 {
	d := trueNS - Epoch
	gain := d / 1_000_000_000 * o.DriftPPB // whole seconds, then the rest: no overflow for days
	gain += d % 1_000_000_000 * o.DriftPPB / 1_000_000_000
	return trueNS + o.OffsetNS + gain
}

// Generate returns the document and the truth about its timed events.
func Generate(o Options) ([]byte, []Truth) {
	g := &generator{o: o, rng: rand.New(rand.NewPCG(o.Seed, 1)), pid: 4000 + o.Rank*13}
	g.out.Grow(o.Bytes + 4096)
	fmt.Fprintf(&g.out, "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n    {\n      \"id\": 0, \"name\": \"Synthetic GPU\", \"warpSize\": 32\n    }\n  ],\n")
	fmt.Fprintf(&g.out, "  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": %d, \"world_size\": %d, \"pg_config\": [{\"pg_name\": \"0\", \"pg_desc\": \"default_pg\", \"pg_size\": %d, \"ranks\": [0, 1]}]},\n", o.Rank, o.World, o.World)
	fmt.Fprintf(&g.out, "  \"displayTimeUnit\": \"ms\",\n")
	if !o.NoBase && !o.BaseLast {
		fmt.Fprintf(&g.out, "  \"baseTimeNanoseconds\": %d,\n", Base)
	}
	g.out.WriteString("  \"traceEvents\": [\n")
	g.metadata()
	for step := 0; g.out.Len() < o.Bytes; step++ {
		g.step(step)
	}
	g.out.WriteString("\n  ],\n  \"traceName\": \"synthetic.json\"")
	if !o.NoBase && o.BaseLast {
		fmt.Fprintf(&g.out, ",\n  \"baseTimeNanoseconds\": %d", Base)
	}
	g.out.WriteString("\n}\n")
	return g.out.Bytes(), g.truth
}

type generator struct {
	o     Options
	rng   *rand.Rand
	out   bytes.Buffer
	truth []Truth
	pid   int
	now   int64 // true ns since Epoch
	flow  int
	any   bool
}

func (g *generator) comma() {
	if g.any {
		g.out.WriteString(",\n")
	}
	g.any = true
}

func (g *generator) metadata() {
	for _, m := range []struct{ pid, label string }{{strconv.Itoa(g.pid), "CPU"}, {"0", "GPU 0"}, {`"Spans"`, ""}} {
		g.comma()
		fmt.Fprintf(&g.out, "  {\n    \"name\": \"process_name\", \"ph\": \"M\", \"ts\": %s, \"pid\": %s, \"tid\": 0,\n    \"args\": {\n      \"name\": \"python\"\n    }\n  }", g.stamp(0), m.pid)
		if m.label != "" {
			g.comma()
			fmt.Fprintf(&g.out, "  {\n    \"name\": \"process_labels\", \"ph\": \"M\", \"ts\": %s, \"pid\": %s, \"tid\": 0,\n    \"args\": {\n      \"labels\": \"%s\"\n    }\n  }", g.stamp(0), m.pid, m.label)
		}
	}
}

// stamp spells the shown time of a true offset as Kineto does: us with three decimals, relative to the base.
func (g *generator) stamp(at int64) string {
	shown := g.o.Shown(Epoch + at)
	if !g.o.NoBase {
		shown -= Base
	}
	return fmt.Sprintf("%d.%03d", shown/1000, shown%1000)
}

func (g *generator) complete(cat, name string, pid, tid string, at, dur int64, args string) {
	g.comma()
	durText := fmt.Sprintf("%d.%03d", dur/1000, dur%1000)
	if g.o.Indent {
		fmt.Fprintf(&g.out, "        {\n            \"ph\": \"X\",\n            \"cat\": \"%s\",\n            \"name\": \"%s\",\n            \"pid\": %s,\n            \"tid\": %s,\n            \"ts\": %s,\n            \"dur\": %s,\n            \"args\": {\n                %s\n            }\n        }",
			cat, name, pid, tid, g.stamp(at), durText, args)
	} else {
		fmt.Fprintf(&g.out, "  {\n    \"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": %s, \"tid\": %s,\n    \"ts\": %s, \"dur\": %s,\n    \"args\": {\n      %s\n    }\n  }",
			cat, name, pid, tid, g.stamp(at), durText, args)
	}
	g.note(name, at, dur)
}

func (g *generator) note(name string, at, dur int64) {
	g.truth = append(g.truth, Truth{name, Epoch + at, dur, g.o.Shown(Epoch + at)})
}

func (g *generator) arrow(ph, extra, pid, tid string, at int64) {
	g.comma()
	fmt.Fprintf(&g.out, "  {\n    \"ph\": \"%s\", \"id\": %d, \"pid\": %s, \"tid\": %s, \"ts\": %s,\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"%s\n  }", ph, g.flow, pid, tid, g.stamp(at), extra)
	g.note("ac2g", at, 0)
}

var ops = []string{"aten::empty", "aten::add_", "aten::linear", "autograd::engine::evaluate_function: MmBackward0", "aten::copy_", "Optimizer.step#AdamW.step"}

// step writes one training step: nested CPU ops, launches with flows to kernels, one collective.
func (g *generator) step(n int) {
	cpu, gpu := strconv.Itoa(g.pid), "0"
	begin := g.now
	for k := range 20 {
		dur := int64(2000 + g.rng.IntN(40000))
		g.complete("cpu_op", ops[g.rng.IntN(len(ops))], cpu, cpu, g.now, dur,
			fmt.Sprintf(`"External id": %d,"Sequence number": %d, "Fwd thread id": 0, "Input Dims": [[%d, 1024], [], [3, [1, 2]]], "Input type": ["float", "Scalar", "say \"hi\" \\ \u00e9"], "Ev Idx": %d`, g.flow, n, k, g.flow))
		g.flow++
		launch := g.now + dur/4
		g.complete("cuda_runtime", "cudaLaunchKernel", cpu, cpu, launch, dur/4, fmt.Sprintf(`"cbid": 211, "correlation": %d`, g.flow))
		g.arrow("s", "", cpu, cpu, launch)
		g.complete("kernel", "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)", gpu, "7", launch+5000, dur/2,
			fmt.Sprintf(`"queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": %d, "grid": [%d, 1, 1], "block": [128, 1, 1]`, g.flow, k+1))
		g.arrow("f", `, "bp": "e"`, gpu, "7", launch+5000)
		g.now += dur + int64(g.rng.IntN(3000))
	}
	g.complete("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", gpu, "22", g.now-9000, 8000,
		fmt.Sprintf(`"Collective name": "allreduce", "In msg nelems": 1024, "Out msg nelems": 1024, "Group size": 2, "dtype": "Float", "Process Group Name": "0", "Process Group Ranks": "[0, 1]", "Seq": %d, "stream": 22`, n))
	g.complete("Trace", "PyTorch Profiler (0)", `"Spans"`, `"PyTorch Profiler"`, begin, g.now-begin, `"Op count": 0`)
}
