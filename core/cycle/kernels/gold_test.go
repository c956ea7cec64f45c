package kernels

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/trace/work"
)

// The steps and kernels per step of the busiest stream are those of the recordings' README, which took them from ProfilerStep windows and
// launch correlation.
func TestStepsOfRecordings(t *testing.T) {
	for name, want := range map[string]struct{ steps, kernels int }{
		"facebookresearch+HolisticTraceAnalysis__control.json.gz":                              {6, 1383},
		"facebookresearch+HolisticTraceAnalysis__test.json.gz":                                 {6, 1510},
		"facebookresearch+HolisticTraceAnalysis__rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz": {5, 870},
		"facebookresearch+HolisticTraceAnalysis__nccl_data.json.gz":                            {3, 893},
		"pytorch+kineto__worker0.1623143566756.pt.trace.json.gz":                               {6, 1462},
	} {
		path := testData(t, "kineto/"+name)[0]
		tr, err := Read(nil, path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := &tr.Sequences[0]
		busiest := 0
		for i := range s.Streams {
			if s.Streams[i].Kernels > s.Streams[busiest].Kernels {
				busiest = i
			}
		}
		steps := 0
		for _, m := range tr.Marks {
			if m.Kind != ProfilerStep || m.Sequence != 0 {
				continue
			}
			steps++
			n := 0
			for i, st := range s.Stream {
				if int(st) == busiest && s.StartNS[i] >= m.StartNS && s.StartNS[i] <= m.EndNS {
					n++
				}
			}
			if n != want.kernels {
				t.Errorf("%s: %s has %d kernels on stream %s, want %d", filepath.Base(path), m.Text, n, s.Streams[busiest].Name, want.kernels)
			}
		}
		if steps != want.steps {
			t.Errorf("%s: %d steps, want %d", filepath.Base(path), steps, want.steps)
		}
	}
}

func TestAnnotationsOfServersAreRead(t *testing.T) {
	for text, want := range map[string]work.Saying{
		"ProfilerStep#17": {Kind: ProfilerStep, Step: 17},
		"ProfilerStep# 3": {Kind: ProfilerStep, Step: 3},
		"execute_context_1(888_788544)_generation_0(0)":           {Kind: VLLM, Phase: "prefill", Step: -1, Tokens: 888, Batch: 1},
		"execute_context_0(0)_generation_8(8)":                    {Kind: VLLM, Phase: "decode", Step: -1, Tokens: 8, Batch: 8},
		"execute_context_1(512)_generation_8(8)":                  {Kind: VLLM, Phase: "mixed", Step: -1, Tokens: 520, Batch: 9},
		"execute_32_context_0(sq0sk0)_generation_32(sq32)":        {Kind: VLLM, Phase: "decode", Step: -1, Tokens: 32, Batch: 32},
		"step[EXTEND bs=15 toks=15360]":                           {Kind: SGLang, Phase: "prefill", Step: -1, Tokens: 15360, Batch: 15},
		"step[DECODE bs=4]":                                       {Kind: SGLang, Phase: "decode", Step: -1, Batch: 4},
		"step[MIXED bs=4 toks=30]":                                {Kind: SGLang, Phase: "mixed", Step: -1, Tokens: 30, Batch: 4},
		"step[TARGET_VERIFY bs=2 toks=10]":                        {Kind: SGLang, Phase: "verify", Step: -1, Tokens: 10, Batch: 2},
		"prefill[bs=2 toks=77]":                                   {Kind: ATOM, Phase: "prefill", Step: -1, Tokens: 77, Batch: 2},
		"decode[bs=16]":                                           {Kind: ATOM, Phase: "decode", Step: -1, Batch: 16},
		"Optimizer.step#SGD.step":                                 {Kind: NVTX, Phase: "optimizer", Step: -1},
		"## forward ##":                                           {Kind: NVTX, Step: -1},
		"execute_context_99999999999999999999(1)_generation_1(1)": {Kind: VLLM, Step: -1, Tokens: 2, Batch: 1},
	} {
		if got := read(text); got != want {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
	if strings.Compare("GPU 2", "GPU 10") < 0 || lessNatural("GPU 2", "GPU 10") >= 0 {
		t.Error("GPU 2 is not in front of GPU 10")
	}
}
