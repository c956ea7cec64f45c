package combine

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/testing/xspacetest"
)

// denseKineto writes the traces of four ranks: one kernel in twenty is an all-reduce with what PyTorch writes beside it.
func denseKineto(t testing.TB, dir string, steps int) (inputs []Input) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 9))
	for rank := range 4 {
		path := filepath.Join(dir, fmt.Sprintf("rank%d.pt.trace.json", rank))
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		w := bufio.NewWriter(f)
		fmt.Fprintf(w, `{"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": %d, "world_size": 4}, "baseTimeNanoseconds": 1700000000000000000, "traceEvents": [`, rank)
		for step := range steps {
			at := float64(step)*1000 + float64(rank)*7
			for k := range 19 {
				fmt.Fprintf(w, "  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void gemm_%d<float>\", \"pid\": 0, \"tid\": 7,\n    \"ts\": %.3f, \"dur\": %.3f,\n    \"args\": {\n      \"External id\": %d,\"correlation\": %d, \"device\": 0, \"stream\": 7, \"grid\": [%d, 1, 1], \"block\": [128, 1, 1]\n    }\n  },\n", k, at+float64(40*k), 20+10*r.Float64(), step*20+k, step*20+k, k+1)
			}
			enter, end := at+780+100*r.Float64(), float64(step)*1000+float64(rank)*7+930+r.Float64()
			fmt.Fprintf(w, "  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce_Sum_f32_RING_LL\", \"pid\": 0, \"tid\": 20,\n    \"ts\": %.3f, \"dur\": %.3f,\n    \"args\": {\n      \"External id\": %d,\"correlation\": %d, \"device\": 0, \"stream\": 20, \"Collective name\": \"allreduce\", \"In msg nelems\": 1024, \"Out msg nelems\": 1024, \"Group size\": 4, \"dtype\": \"Float\", \"Process Group Name\": \"0\", \"Process Group Description\": \"default_pg\", \"Process Group Ranks\": \"[0, 1, 2, 3]\", \"Seq\": %d\n    }\n  },\n", enter, end-enter, step, step*20+19, step)
		}
		fmt.Fprint(w, `{"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "python"}}]}`)
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, Input{Path: path})
	}
	return inputs
}

// BenchmarkDenseCollectives compares combining by wall clocks and by declared offsets, which look at collectives to judge them, with relating the clocks
// by them. Events of wall clocks are copied, those of the others re-timed.
func BenchmarkDenseCollectives(b *testing.B) {
	dir := b.TempDir()
	inputs := denseKineto(b, dir, 3000)
	declared := put(b, dir, "declared.json", []byte(`{"nodes": {"rank0": {"offset_ns": 0, "bound_ns": 0}, "rank1": {"offset_ns": 7000, "bound_ns": 5000}, "rank2": {"offset_ns": 14000, "bound_ns": 5000}, "rank3": {"offset_ns": 21000, "bound_ns": 5000}}}`))
	for _, method := range []string{MethodWall, MethodDeclared, methodCollectives} {
		b.Run(method, func(b *testing.B) {
			for i := range b.N {
				r := Request{Inputs: inputs, Method: method, Output: filepath.Join(dir, fmt.Sprint(method, i, ".json")), Overwrite: true}
				if method == MethodDeclared {
					r.Declared = declared
				}
				doc, _, err := Run(job.New(context.Background(), job.Options{Workers: 1}), r)
				if err != nil || doc.Collectives.Groups != 3000 {
					b.Fatal(err, doc)
				}
			}
		})
	}
}

// BenchmarkDenseCollectivesOfXSpace is the same for XSpaces, whose tables stand behind their events: one event in fifty is a collective.
func BenchmarkDenseCollectivesOfXSpace(b *testing.B) {
	const events = 100_000
	_, inputs, offsets := recorded(b, xspacetest.Config{Nodes: 4, GPUs: 2, EventsPerGPU: events, Seed: 5})
	dir := b.TempDir()
	for _, method := range []string{MethodWall, MethodProbes, methodCollectives} {
		b.Run(method, func(b *testing.B) {
			begin := processorNS(b)
			for i := range b.N {
				r := Request{Inputs: inputs, Method: method, Output: filepath.Join(dir, fmt.Sprint(method, i)), Overwrite: true}
				if method == MethodProbes {
					r.Offsets = offsets
				}
				doc, _, err := Run(job.New(context.Background(), job.Options{Workers: 1}), r)
				if err != nil || doc.Collectives.Groups == 0 {
					b.Fatal(err, doc)
				}
			}
			b.ReportMetric(float64(processorNS(b)-begin)/float64(b.N)/1e6, "cpu-ms/op")
		})
	}
}

// processorNS is the processor time that this process has taken.
func processorNS(b *testing.B) int64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
