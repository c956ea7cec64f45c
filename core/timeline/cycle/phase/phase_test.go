package phase

import (
	"strings"
	"testing"
)

func TestScore(t *testing.T) {
	decode := "void vllm::paged_attention_v2_kernel<__nv_bfloat16, 128>"
	prefill := "_ZN7ck_tile6kentryILi2ENS_38FmhaBatchPrefillWithPagedKVCacheKernelI"
	for _, c := range []struct {
		name   string
		f      Features
		want   Phase
		reason string
	}{
		{"nothing", Features{}, Unknown, "no annotation"},
		{"names without evidence", Features{Names: []string{"gemm", "norm"}, Ratio: 9, Position: 0.1, Classes: 3, GraphKernels: 2, TileRows: 128, OtherRows: 8}, Unknown, "no annotation"},
		{"vllm native", Features{Annotations: []string{"execute_context_0(0)_generation_8(8)"}, Names: []string{prefill}}, Decode, "1 of 1 annotations"},
		{"vllm both", Features{Annotations: []string{"execute_context_1(512)_generation_8(8)"}}, Mixed, "annotations"},
		{"vllm fork", Features{Annotations: []string{"execute_512_context_1(sq512sk512sqsq1sqsk1)_generation_0(sq0sk0sqsq0sqsk0)"}}, Prefill, "annotations"},
		{"sglang", Features{Annotations: []string{"step[EXTEND bs=1 toks=512]", "step[EXTEND bs=2 toks=8]", "step[DECODE bs=2]"}}, Prefill, "2 of 3"},
		{"sglang verify", Features{Annotations: []string{"step[TARGET_VERIFY bs=1]"}}, Verify, "annotations"},
		{"atom", Features{Annotations: []string{"decode[bs=4]"}}, Decode, "annotations"},
		{"a step without phase leaves it to the kernels", Features{Annotations: []string{"ProfilerStep#3"}, Names: []string{decode}}, Decode, "vLLM"},
		{"paged", Features{Names: []string{decode}}, Decode, "decode attention"},
		{"split", Features{Names: []string{"void flash_fwd_splitkv_kernel<...>", "flash_fwd_splitkv_combine_kernel"}}, Decode, "2 decode"},
		{"batch prefill, mangled", Features{Names: []string{prefill}}, Prefill, "prefill attention"},
		{"split-KV beside paged", Features{Names: []string{"flash_fwd_splitkv_kernel", "paged_attention_v1_kernel"}}, Mixed, "as often"},
		{"split-KV and its combine", Features{Names: []string{"flash_fwd_splitkv_kernel", "flash_fwd_splitkv_combine_kernel"}}, Decode, "splitkv"},
		{"both", Features{Names: []string{prefill, decode}}, Mixed, "beside"},
		{"fmha in a server", Features{Names: []string{"aiter::fmha_fwd_hd128_bf16"}, Serving: true}, Prefill, "serves"},
		{"fmha without context says nothing", Features{Names: []string{"aiter::fmha_fwd_hd128_bf16"}}, Unknown, ""},
		{"flash with backward", Features{Names: []string{"void flash_fwd_kernel<>"}, Training: true}, Forward, "trains"},
		{"backward", Features{Names: []string{"flash_bwd_dq_dk_dv_loop", "softmax_warp_backward"}, Training: true}, Backward, "2 backward"},
		{"optimizer", Features{Names: []string{"multi_tensor_apply_kernel<FusedAdamMathFunctor>"}, Training: true}, Optimizer, "1 optimizer"},
		{"a whole step", Features{Names: []string{"multi_tensor_apply_kernel<AdamFunctor>", "a_backward", "b_backward"}, Training: true}, Backward, "beside 2 backward"},
		{"segmented", Features{Names: []string{"kernel_unified_attention_3d"}, Serving: true}, Decode, "one query token"},
		{"unified says nothing", Features{Names: []string{"kernel_unified_attention_2d"}, Serving: true}, Unknown, "no annotation"},
		{"verify", Features{Names: []string{"rejection_greedy_sample_kernel", decode}}, Verify, "drafted"},
		{"graph", Features{Names: []string{"a", "b"}, GraphKernels: 2, Serving: true, Ratio: 9}, Decode, "graph"},
		{"rows", Features{Names: []string{"a"}, Serving: true, TileRows: 256, OtherRows: 16}, Prefill, "256 rows"},
		{"tokens", Features{Tokens: 1, Serving: true, Position: 0.1, Classes: 2}, Decode, "one token"},
		{"ratio", Features{Serving: true, Ratio: 4, Position: 0.9, Classes: 2}, Prefill, "4.0 times"},
		{"position last", Features{Serving: true, Position: 0.9, Classes: 2}, Decode, "by position alone"},
		{"one class has no position", Features{Serving: true, Position: 0.9, Classes: 1}, Unknown, ""},
	} {
		got := Score(c.f)
		if got.Phase != c.want || !strings.Contains(got.Reason, c.reason) || got.Score < 0 || got.Score > 1 || (got.Phase == Unknown) != (got.Score == 0) {
			t.Errorf("%s: %+v, want %s because %q", c.name, got, c.want, c.reason)
		}
		if got.Position != strings.Contains(got.Reason, "position") {
			t.Errorf("%s: position is not named: %+v", c.name, got)
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
