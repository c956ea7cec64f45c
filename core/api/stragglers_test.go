package api

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/combine"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/straggler"
)

// trainingStep are the kernels of a step of three layers.
var trainingStep = []string{
	"embedding_forward", "gemm_forward", "softmax_forward", "layer_norm_forward", "gemm_forward", "softmax_forward", "layer_norm_forward", "gemm_forward", "softmax_forward", "layer_norm_forward",
	"cross_entropy_loss", "layer_norm_backward", "softmax_backward", "gemm_backward", "layer_norm_backward", "softmax_backward", "gemm_backward", "layer_norm_backward", "softmax_backward",
	"gemm_backward", "embedding_backward", "multi_tensor_apply_kernel_adam",
}

// trainingTraces are Kineto traces of two ranks: steps of three layers, and an all-reduce in every second one, so that operations alone do not show
// the steps. The clock of the second rank is ahead by a minute.
func trainingTraces(t *testing.T, steps int, marked bool) (inputs []combine.Input, declared string) {
	t.Helper()
	dir := t.TempDir()
	for rank := range 2 {
		shift := float64(rank) * 60e6
		var b strings.Builder
		fmt.Fprintf(&b, `{"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": %d, "world_size": 2}, "baseTimeNanoseconds": 1700000000000000000, "traceEvents": [`, rank)
		event := func(cat, name string, pid, tid int, ts, dur float64, args string) {
			fmt.Fprintf(&b, `{"ph": "X", "cat": %q, "name": %q, "pid": %d, "tid": %d, "ts": %.3f, "dur": %.3f, "args": {%s}},`, cat, name, pid, tid, ts+shift, dur, args)
		}
		for step := range steps {
			at := float64(step) * 10000
			if marked {
				event("user_annotation", fmt.Sprintf("ProfilerStep#%d", step+5), 100, 1, at, 9900, "")
			}
			for k, name := range trainingStep {
				event("cuda_runtime", "cudaLaunchKernel", 100, 1, at+10+float64(k), 1, fmt.Sprintf(`"correlation": %d`, 100*step+k+1))
				event("kernel", name, 0, 7, at+100+250*float64(k), 200, fmt.Sprintf(`"device": 0, "stream": 7, "correlation": %d`, 100*step+k+1))
			}
			if step%2 == 1 {
				event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, 20, at+7000+float64(rank), 500-float64(rank), fmt.Sprintf(
					`"device": 0, "stream": 20, "Collective name": "allreduce", "In msg nelems": 1024, "Group size": 2, "Process Group Name": "0", "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1]", "Seq": %d, "dtype": "Float"`, step))
			}
		}
		b.WriteString(`{"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "python"}}]}`)
		path := filepath.Join(dir, fmt.Sprintf("rank%d.json", rank))
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, combine.Input{Path: path})
	}
	declared = filepath.Join(dir, "declared.json")
	if err := os.WriteFile(declared, []byte(`{"nodes": {"rank0": {"offset_ns": 0, "bound_ns": 1000}, "rank1": {"offset_ns": 60000000000, "bound_ns": 1000}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return inputs, declared
}

// TestStepsAreThoseOfTheKernels: as prlx cycles finds them, by their marks where there are some, on whichever clock the rank has; where kernels have none, what
// repeats among operations.
func TestStepsAreThoseOfTheKernels(t *testing.T) {
	for name, c := range map[string]struct {
		marked      bool
		by          string
		first, last string
		stepsOf     func(path string) ([]combine.RankStep, error)
	}{
		"marked":        {true, straggler.StepsByCycles, "ProfilerStep#6", "ProfilerStep#44", nil},
		"kernels alone": {false, straggler.StepsByCycles, "2", "40", nil},
		"none found":    {true, straggler.StepsByRepeats, "1", "20", func(string) ([]combine.RankStep, error) { return nil, nil }},
		"refused":       {true, straggler.StepsByRepeats, "1", "20", func(string) ([]combine.RankStep, error) { return nil, fmt.Errorf("no kernels") }},
	} {
		for _, reference := range []string{"rank0", "rank1"} {
			inputs, declared := trainingTraces(t, 40, c.marked)
			j := job.New(context.Background(), job.Options{Workers: 1})
			find := c.stepsOf
			if find == nil {
				find = func(path string) ([]combine.RankStep, error) { return stepsOf(j, path, false) }
			}
			d, err := combine.Stragglers(j, combine.StragglersRequest{Request: combine.Request{Inputs: inputs, Declared: declared, Method: combine.MethodDeclared, Reference: reference}}, find)
			if err != nil {
				t.Fatal(err)
			}
			if d.StepsBy != c.by || len(d.Steps) != 20 || d.Steps[0].Name != c.first || d.Steps[19].Name != c.last {
				t.Errorf("%s, on the clock of %s: %s, %d steps, %s; %q", name, reference, d.StepsBy, len(d.Steps), d.Verdict, d.Notes)
			}
			if refused := strings.Contains(strings.Join(d.Notes, "\n"), "no kernels"); refused != (name == "refused") {
				t.Errorf("%s: %q", name, d.Notes)
			}
		}
	}
}
