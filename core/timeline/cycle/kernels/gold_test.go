package kernels

import (
	"path/filepath"
	"strings"
	"testing"
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
	for text, want := range map[string]saying{
		"ProfilerStep#17": {kind: ProfilerStep, step: 17},
		"ProfilerStep# 3": {kind: ProfilerStep, step: 3},
		"execute_context_1(888_788544)_generation_0(0)":           {kind: VLLM, phase: "prefill", step: -1, tokens: 888, batch: 1},
		"execute_context_0(0)_generation_8(8)":                    {kind: VLLM, phase: "decode", step: -1, tokens: 8, batch: 8},
		"execute_context_1(512)_generation_8(8)":                  {kind: VLLM, phase: "mixed", step: -1, tokens: 520, batch: 9},
		"execute_32_context_0(sq0sk0)_generation_32(sq32)":        {kind: VLLM, phase: "decode", step: -1, tokens: 32, batch: 32},
		"step[EXTEND bs=15 toks=15360]":                           {kind: SGLang, phase: "prefill", step: -1, tokens: 15360, batch: 15},
		"step[DECODE bs=4]":                                       {kind: SGLang, phase: "decode", step: -1, batch: 4},
		"step[MIXED bs=4 toks=30]":                                {kind: SGLang, phase: "mixed", step: -1, tokens: 30, batch: 4},
		"step[TARGET_VERIFY bs=2 toks=10]":                        {kind: SGLang, phase: "verify", step: -1, tokens: 10, batch: 2},
		"prefill[bs=2 toks=77]":                                   {kind: ATOM, phase: "prefill", step: -1, tokens: 77, batch: 2},
		"decode[bs=16]":                                           {kind: ATOM, phase: "decode", step: -1, batch: 16},
		"Optimizer.step#SGD.step":                                 {kind: NVTX, phase: "optimizer", step: -1},
		"## forward ##":                                           {kind: NVTX, step: -1},
		"execute_context_99999999999999999999(1)_generation_1(1)": {kind: VLLM, step: -1, tokens: 2, batch: 1},
	} {
		if got := read(text); got != want {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
	if strings.Compare("GPU 2", "GPU 10") < 0 || lessNatural("GPU 2", "GPU 10") >= 0 {
		t.Error("GPU 2 is not in front of GPU 10")
	}
}
