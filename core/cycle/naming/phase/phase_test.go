package phase

import (
	"math"
	"slices"
	"strings"
	"testing"
)

const (
	paged  = "void vllm::paged_attention_v2_kernel<__nv_bfloat16, 128>"
	ragged = "void flashinfer::BatchPrefillWithRaggedKVCacheKernel<KernelTraits, RaggedParams>"
	batch  = "_ZN7ck_tile6kentryILi2ENS_38FmhaBatchPrefillWithPagedKVCacheKernelI"
	one    = "kernel_unified_attention_2d"
	norm   = "void vllm::rms_norm_kernel<c10::BFloat16>"
	rotary = "void vllm::rotary_embedding_kernel<c10::BFloat16, true>"
	argmax = "void at::native::reduce_kernel<512, 1, ReduceOp<float, ArgMaxOps<float>>>"
)

// repeated is a list of so many of each name, as layers have them.
func repeated(n int, names ...string) []string {
	var out []string
	for range n {
		out = append(out, names...)
	}
	return out
}

func score(f Features) Result { return Name([]Features{f})[0] }

func TestWhatDecidesAlone(t *testing.T) {
	for _, c := range []struct {
		name   string
		f      Features
		want   Phase
		reason string
	}{
		{"nothing", Features{}, Unknown, "no annotation"},
		{"names without evidence", Features{Names: []string{"gemm", "norm"}, TileRows: 128, Repetitions: 9}, Unknown, "no annotation"},
		{"vllm native", Features{Annotations: []string{"execute_context_0(0)_generation_8(8)"}, Names: []string{ragged}}, Decode, "1 of 1 annotations"},
		{"vllm both", Features{Annotations: []string{"execute_context_1(512)_generation_8(8)"}}, Mixed, "annotations"},
		{"vllm fork", Features{Annotations: []string{"execute_512_context_1(sq512sk512sqsq1sqsk1)_generation_0(sq0sk0sqsq0sqsk0)"}}, Prefill, "annotations"},
		{"sglang", Features{Annotations: []string{"step[EXTEND bs=1 toks=512]", "step[EXTEND bs=2 toks=8]", "step[DECODE bs=2]"}}, Prefill, "2 of 3"},
		{"sglang verify", Features{Annotations: []string{"step[TARGET_VERIFY bs=1]"}}, Verify, "annotations"},
		{"atom", Features{Annotations: []string{"decode[bs=4]"}}, Decode, "annotations"},
		{"a step without phase leaves it to the kernels", Features{Annotations: []string{"ProfilerStep#3"}, Names: []string{paged}, Serving: true}, Decode, "vLLM"},
		{"paged", Features{Names: []string{paged}, Serving: true}, Decode, "decode attention"},
		{"split and combined", Features{Names: []string{"void flash_fwd_splitkv_kernel<...>", "flash_fwd_splitkv_combine_kernel"}, Serving: true}, Decode, "combine"},
		{"MLA of aiter", Features{Names: []string{"_ZN5aiter39mla_dec_stage1_bf16_a16w16_subQ16_mqa16E", "kn_mla_reduce_v1"}, Serving: true}, Decode, "mla_dec"},
		{"MLA of aiter, prompts", Features{Names: []string{"_ZN5aiter42mla_pfl_bf16_a16w16_causal_subQ128_mqa128E"}, Serving: true}, Prefill, "mla_pfl"},
		{"TRT-LLM for generation", Features{Names: []string{"fmhaSm100fKernel_H128PagedKvDenseP64VarSeqQ8Kv128StaticSwapsAbForGen"}, Serving: true}, Decode, "forgen"},
		{"split-KV beside paged", Features{Names: []string{"flash_fwd_splitkv_kernel", "paged_attention_v1_kernel"}}, Mixed, "as often"},
		{"both", Features{Names: repeated(4, rotary, ragged, paged)}, Mixed, "beside"},
		{"both at once", Features{Names: []string{"void flashinfer::PODWithKVCacheTensorKernel<>"}}, Mixed, "at once"},
		{"layers of two kinds are not both", Features{Names: repeated(4, rotary, one, rotary, "kernel_unified_attention_3d", "reduce_segments"), Serving: true}, Decode, "one query token"},
		{"fmha in a server", Features{Names: []string{"aiter::fmha_fwd_hd128_bf16"}, Serving: true}, Prefill, "aiter"},
		{"fmha without context says nothing", Features{Names: []string{"aiter::fmha_fwd_hd128_bf16"}}, Unknown, ""},
		{"flash with backward", Features{Names: []string{"void flash_fwd_kernel<>"}, Training: true}, Forward, "trains"},
		{"backward", Features{Names: []string{"flash_bwd_dq_dk_dv_loop", "softmax_warp_backward"}, Training: true}, Backward, "2 backward"},
		{"optimizer", Features{Names: []string{"multi_tensor_apply_kernel<FusedAdamMathFunctor>"}, Training: true}, Optimizer, "1 optimizer"},
		{"a whole step", Features{Names: []string{"multi_tensor_apply_kernel<AdamFunctor>", "a_backward", "b_backward"}, Training: true}, Training, "beside 2 backward"},
		{"a step that holds most of the run", Features{Names: []string{"gemm", "a_backward"}, Training: true, Whole: true}, Training, "holds most"},
		{"a step that is marked, of an optimizer alone", Features{Names: []string{"gemm", "fused_adam"}, Training: true, Whole: true}, Training, "holds most"},
		{"unified says nothing", Features{Names: []string{one}, Serving: true}, Unknown, "no other class"},
		{"verify", Features{Names: []string{"rejection_greedy_sample_kernel", paged}, Serving: true}, Verify, "drafted"},
		{"graph", Features{Names: []string{one, "b"}, Graph: []bool{true, true}, Serving: true}, Decode, "graph"},
		{"graph around attention", Features{Names: []string{one, "b", "c"}, Graph: []bool{false, true, true}, Serving: true}, Unknown, ""},
		{"rows", Features{Names: []string{one, norm}, Blocks: []float64{9, 4096}, Serving: true}, Prefill, "4096 rows"},
		{"few rows", Features{Names: []string{one, norm}, Blocks: []float64{9, 8}, Serving: true}, Decode, "8 rows"},
		{"rows and sequences", Features{Names: []string{one, norm, argmax}, Blocks: []float64{9, 256, 256}, Serving: true}, Decode, "as many rows as sequences"},
		{"vectors", Features{Names: []string{one, "gemv2T_kernel_val"}, Serving: true}, Decode, "vector"},
		{"tokens", Features{Names: []string{one}, Tokens: 1, Serving: true}, Decode, "one token"},
		{"too short", Features{Names: []string{"copy", norm}, Blocks: []float64{0, 9000}, Serving: true}, Unknown, "nothing attends"},
	} {
		got := score(c.f)
		if got.Phase != c.want || !strings.Contains(got.Reason, c.reason) || got.Score < 0 || got.Score > 1 || (got.Phase == Unknown) != (got.Score == 0) {
			t.Errorf("%s: %+v, want %s because %q", c.name, got, c.want, c.reason)
		}
		if got.Phase != Unknown && (len(got.Readings) == 0 || got.Readings[0] != (Reading{got.Phase, got.Score})) {
			t.Errorf("%s: readings %+v of %s %.2f", c.name, got.Readings, got.Phase, got.Score)
		}
		if got.Position {
			t.Errorf("%s: one class has no order: %+v", c.name, got)
		}
	}
}

// pass is a step of a server whose kernels have the same names in all phases.
func pass(busy, rows float64, runs, repetitions int, start float64) Features {
	f := Features{Names: repeated(12, norm, rotary, one), Serving: true, Layers: 12, BusyNS: busy, Runs: runs, Repetitions: repetitions, Start: start, After: start > 0}
	if rows > 0 {
		f.Blocks = make([]float64, len(f.Names))
		for i := range f.Blocks {
			if i%3 < 2 {
				f.Blocks[i] = rows
			}
		}
	}
	return f
}

// TestOneKernelForBothPhasesIsClassifiedByContrast holds that classes are set beside each other before any is named.
func TestOneKernelForBothPhasesIsClassifiedByContrast(t *testing.T) {
	got := Name([]Features{pass(9e6, 0, 2, 2, 0), pass(1e6, 0, 2, 30, 0.2)})
	if got[0].Phase != Prefill || got[1].Phase != Decode || !strings.Contains(got[0].Reason, "9.0 times the time a layer") {
		t.Errorf("by time and order: %+v", got)
	}
	got = Name([]Features{pass(1e6, 16, 2, 30, 0), pass(9e6, 2048, 2, 2, 0.4)})
	if got[0].Phase != Decode || got[1].Phase != Prefill || got[0].Score < 0.9 || got[1].Score >= 0.9 || len(got[1].Readings) < 2 || got[1].Readings[1].Phase != Mixed {
		t.Errorf("by rows, against the order, with single tokens among them or not: %+v", got)
	}
	for _, r := range Name([]Features{pass(1e6, 0, 3, 4, 0.1), pass(1.2e6, 0, 3, 4, 0.1)}) {
		if r.Phase != Unknown || len(r.Readings) < 2 || math.Abs(r.Readings[0].Score-r.Readings[1].Score) > 0.2 {
			t.Errorf("two that are alike: %+v", r)
		}
	}
	got = Name([]Features{pass(1e6, 0, 1, 4, 0), pass(1.1e6, 0, 1, 40, 0.2)})
	if !got[0].Position || !got[1].Position || got[1].Phase != Decode || got[1].Score > 0.8 || !strings.Contains(got[1].Reason, "position alone") {
		t.Errorf("by order alone: %+v", got)
	}
}

// TestAKernelThatAllHaveTellsLittle holds that the name of a kernel counts less where classes that differ much all have it.
func TestAKernelThatAllHaveTellsLittle(t *testing.T) {
	prompt, token := pass(90e6, 0, 2, 2, 0), pass(1e6, 0, 2, 60, 0.2)
	for i, n := range prompt.Names {
		if n == one {
			prompt.Names[i], token.Names[i] = batch, batch
		}
	}
	got := Name([]Features{prompt, token})
	if got[0].Phase != Prefill || got[1].Phase != Decode || !strings.Contains(got[1].Reason+got[0].Reason, "which another class has too") && slices.IndexFunc(got, func(r Result) bool { return r.Score < 0.5 }) >= 0 {
		t.Errorf("%+v", got)
	}
}

// TestStepsWithTokensOfOthersAreSaid tells prompts from prompts with single tokens among them by how many sequences get a token.
func TestStepsWithTokensOfOthersAreSaid(t *testing.T) {
	with := func(f Features, sequences float64) Features {
		f.Names, f.Blocks = append(f.Names, argmax), append(f.Blocks, sequences)
		return f
	}
	decode := with(pass(1e6, 16, 2, 30, 0), 16)
	if r := Name([]Features{with(pass(9e6, 2048, 2, 2, 0.4), 17), decode})[0]; r.Phase != Mixed || r.Readings[1].Phase != Prefill {
		t.Errorf("as many tokens as decode steps make: %+v", r)
	}
	if r := Name([]Features{with(pass(9e6, 2048, 2, 2, 0.4), 1), decode})[0]; r.Phase != Prefill || r.Score < 0.8 {
		t.Errorf("one token: %+v", r)
	}
}

func TestKinds(t *testing.T) {
	for _, c := range []struct {
		names             string
		training, serving bool
	}{
		{paged, false, true},
		{"void vllm::act_and_mul_kernel<>", false, true},
		{"softmax_warp_forward", false, false},
		{"softmax_warp_forward " + argmax, false, true},
		{"softmax_warp_forward convolve_sgemm " + argmax, false, false},
		{"fmha_cutlassF softmax_warp_backward", true, false},
		{"gemm", false, false},
	} {
		if training, serving := Kinds(strings.Fields(c.names)); training != c.training || serving != c.serving {
			t.Errorf("%s: training %v, serving %v", c.names, training, serving)
		}
	}
}

// Every family is reached: a row behind a more general one would never be.
func TestFamilies(t *testing.T) {
	for i, f := range families {
		if row, ok := familyOf(strings.ToUpper(strings.Join(f.words, "#"))); !ok || (row != i && families[row].hint != f.hint) {
			t.Errorf("row %d %q is taken by row %d", i, f.words, row)
		}
		if f.source == "" {
			t.Errorf("row %d has no source", i)
		}
	}
}

func TestPick(t *testing.T) {
	p := []Pattern{{93, 980, 999}, {3384, 0, 180}, {1410, 0, 54}, {1410, 900, 954}}
	for mode, want := range map[Mode]int{ModeAuto: 1, ModePrefill: 2, ModeDecode: 0, "other": -1} {
		if got := Pick(mode, p); got != want {
			t.Errorf("%s: %d, want %d", mode, got, want)
		}
	}
	if Pick(ModeAuto, nil) != -1 {
		t.Error("something of nothing")
	}
}

func FuzzAnnotated(f *testing.F) {
	f.Add("execute_context_99999999999999999999(1)_generation_0(")
	f.Add("step[DRAFT")
	f.Fuzz(func(t *testing.T, text string) {
		if p, ok := Annotated(text); ok == (p == Unknown) {
			t.Error(p, ok)
		}
	})
}
