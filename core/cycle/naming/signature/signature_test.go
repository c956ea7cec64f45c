package signature

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
)

// The examples of cycle_detection.md, and every row of uplifter's problems: what we want, and why.
func TestKeys(t *testing.T) {
	for _, c := range []struct{ name, strict, loose string }{
		// cycle_detection.md, "Example Transformations"
		{"void at::native::kernel<float, 4, true>", "at::native::kernel<float, 4, true>", "at::native::kernel"},
		{"triton_poi_fused_relu_0", "triton_poi_fused_relu_0", "triton_poi_fused_relu"},
		{"ck_tile::kentry_GROUP_K_128", "ck_tile::kentry_GROUP_K_128", "ck_tile::kentry"},
		// A carrier's work is its functor: without it fill, add, mul and copy are one.
		{
			"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, std::array<char*, 1ul> >(int, at::native::FillFunctor<int>, std::array<char*, 1ul>)",
			"at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, std::array<char*, 1ul>>",
			"at::native::vectorized_elementwise_kernel[FillFunctor]",
		},
		{"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>>(int)", "at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>>", "at::native::vectorized_elementwise_kernel[CUDAFunctor_add]"},
		{"void at::native::elementwise_kernel<128, 2, at::native::BinaryFunctor<c10::Half, c10::Half, c10::Half, at::native::binary_internal::MulFunctor<float>>>(int)", "at::native::elementwise_kernel<128, 2, at::native::BinaryFunctor<c10::Half, c10::Half, c10::Half, at::native::binary_internal::MulFunctor<float>>>", "at::native::elementwise_kernel[BinaryFunctor,MulFunctor]"},
		// The return type is std::enable_if, the kernel is what follows.
		{"std::enable_if<((0) > (0)) && vllm::_typeConvert<c10::BFloat16>::exists, void>::type vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long)", "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>", "vllm::fused_add_rms_norm_kernel"},
		{"std::enable_if<!(false), void>::type internal::gemvx::kernel<int, float, 7>", "internal::gemvx::kernel<int, float, 7>", "internal::gemvx::kernel"},
		// Inductor numbers its kernels: two digits are as generated as one.
		{"triton_poi_fused_add_12", "triton_poi_fused_add_12", "triton_poi_fused_add"},
		{"triton_poi_fused_add_2", "triton_poi_fused_add_2", "triton_poi_fused_add"},
		// Another tile is another batch size, not another matrix product.
		{"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x16x64_MI16x16x1_SN_K1", "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x16x64_MI16x16x1_SN_K1", "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs"},
		{"nvjet_tst_64x64_64x6_2x1_v_bz_TNT", "nvjet_tst_64x64_64x6_2x1_v_bz_TNT", "nvjet_tst"},
		{"nvjet_tst_144x128_64x6_2x1_v_bz_bias_TNN", "nvjet_tst_144x128_64x6_2x1_v_bz_bias_TNN", "nvjet_tst_bias"},
		{"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas", "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas", "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n"},
		{"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_tn_align4>(cutlass_80_tensorop_s1688gemm_64x64_16x6_tn_align4::Params)", "cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_tn_align4>", "cutlass::Kernel[cutlass_80_tensorop_s1688gemm_tn]"},
		// Arguments are no part of the name; algorithm and protocol are NCCL's tuning.
		{"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "ncclDevKernel_AllReduce_Sum_bf16"},
		// ROCm traces carry mangled names.
		{"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64ELi8ELb0ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_diiiiiiib", "aiter::add_rmsnorm_quant_kernel<std::bfloat16_t, std::bfloat16_t, 64, 8, false, false, true, 1>", "aiter::add_rmsnorm_quant_kernel"},
		// Not C++: the words in parentheses are the name.
		{"Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD (Pinned -> Device)"},
		{"Memset (Device)", "Memset (Device)", "Memset (Device)"},
		{"fusion.12", "fusion.12", "fusion"},
		{"void (anonymous namespace)::softmax_warp<float>(float*)", "(anonymous namespace)::softmax_warp<float>", "(anonymous namespace)::softmax_warp"},
		{"", "", ""},
	} {
		if got := (*Rules)(nil).Strict(c.name); got != c.strict {
			t.Errorf("Strict(%q)\n = %q\nnot %q", c.name, got, c.strict)
		}
		if got := (*Rules)(nil).Loose(c.name); got != c.loose {
			t.Errorf("Loose(%q)\n = %q\nnot %q", c.name, got, c.loose)
		}
	}
}

func TestUserRules(t *testing.T) {
	r, err := parseRules("rules.toml", []byte("[[rule]]\nmatch = '^my_(\\w+)_v[0-9]+$'\nreplace = 'my_$1'\n[[rule]]\nmatch='^x_'\nreplace=''\nkey='strict'\n"))
	if err != nil {
		t.Fatal(err)
	}
	if r.Strict("my_add_v3") != "my_add_v3" || r.Loose("my_add_v3") != "my_add" || r.Strict("x_add") != "add" || r.Loose("x_add_7") != "add" {
		t.Errorf("%q %q %q", r.Loose("my_add_v3"), r.Strict("x_add"), r.Loose("x_add_7"))
	}
	for _, bad := range []string{"[[rule", "[[rule]]\nmatch='('", "[[rule]]\nmatch=''", "[[rule]]\nmatch='a'\nkey='both'", "[[rule]]\nmatch='a'\nsub='b'", strings.Repeat("[[rule]]\nmatch='a'\n", maxRules+1), strings.Repeat("#", maxRulesFile+1)} {
		if _, err := parseRules("rules.toml", []byte(bad)); err == nil || fault.Of(err) == nil || fault.Of(err).Kind == fault.Internal {
			t.Errorf("%.30q: %v", bad, err)
		}
	}
}

func TestRulesHaveALongestPattern(t *testing.T) {
	rule := func(match, replace int) string {
		return "[[rule]]\nmatch='" + strings.Repeat("a", match) + "'\nreplace='" + strings.Repeat("b", replace) + "'\n"
	}
	for _, tc := range []struct {
		match, replace int
		fits           bool
	}{{1, 0, true}, {maxPattern, maxPattern, true}, {maxPattern + 1, 0, false}, {1, maxPattern + 1, false}, {0, 1, false}} {
		if _, err := parseRules("rules.toml", []byte(rule(tc.match, tc.replace))); (err == nil) != tc.fits {
			t.Errorf("%d bytes replaced by %d: %v, want that it fits: %v", tc.match, tc.replace, err, tc.fits)
		}
	}
}

func FuzzKeys(f *testing.F) {
	for _, s := range []string{"void a<b<c> >(d)", "_ZN5aiter3fooIDF16bEEvv", "operator<<(a)", "x((((<<<<", "a)>]}", "void f(int)::{lambda()#1}::operator()() const", "_ZZZZ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		strict, loose := (*Rules)(nil).Strict(name), (*Rules)(nil).Loose(name)
		if strings.TrimSpace(name) != "" && (strict == "" || loose == "") {
			t.Errorf("%q: empty key %q %q", name, strict, loose)
		}
		if strict != (*Rules)(nil).Strict(name) || loose != (*Rules)(nil).Loose(name) {
			t.Error("not deterministic")
		}
	})
}

func TestRulesAreReadFromAFileOfBoundedSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.toml")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("[[rule]]\nmatch = 'a'\nreplace = 'b'\n")
	if r, err := ReadRules(t.Context(), path); err != nil || len(r.rules) != 1 {
		t.Errorf("one rule: got %v and %v", r, err)
	}
	if r, err := ReadRules(t.Context(), ""); err != nil || r != nil {
		t.Errorf("no path: got %v and %v, want no rules", r, err)
	}
	write(strings.Repeat("#", maxRulesFile+1))
	if _, err := ReadRules(t.Context(), path); fault.Of(err).Kind != fault.Limit {
		t.Errorf("too large: got %v, want a limit", err)
	}
}
