package cycletest

import (
	"fmt"
	"math"
	"slices"
)

// Serving says what kind of server a made-up recording is of.
type Serving struct {
	Backend  string // one of Backends
	Graphs   string // one of GraphModes
	Workload string // one of Workloads
	Same     bool   // both phases run kernels of the same names, attention and matrix products
	Grids    bool   // the recording says how many thread blocks a kernel has
}

func (s Serving) String() string {
	names, grids := "different kernels", "no grids"
	if s.Same {
		names = "same kernels"
	}
	if s.Grids {
		grids = "grids"
	}
	return fmt.Sprintf("%s, %s, %s, %s, %s", s.Backend, s.Graphs, s.Workload, names, grids)
}

// GraphModes are the ways in which servers launch: each kernel; decode as one graph; all but attention in graphs, whatever the phase.
func GraphModes() []string { return []string{"eager", "full", "piecewise"} }

// Workloads are what a recording may hold.
func Workloads() []string {
	return []string{"requests", "decode first", "prefill only", "decode only", "mixed", "speculative"}
}

// attentionNames are the kernels of an attention back-end: of prompts, of single tokens, and the one that serves both where kernels are the same.
type attentionNames struct {
	name                   string
	prefill, decode, share []string
	hip                    bool // kernels of a graph have no grid in recordings of this vendor
	both                   bool // a step of prompts and tokens launches the kernels of both
}

var backends = []attentionNames{
	{
		name: "fa2", prefill: []string{"void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, cutlass::bfloat16_t>, false, true>(flash::Flash_fwd_params)"},
		decode: []string{"void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4>, true>(flash::Flash_fwd_params)", "void flash::flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<128>, 4>(flash::Flash_fwd_params)"},
		share:  []string{"void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4>, false>(flash::Flash_fwd_params)"},
	},
	{
		name: "fa3", prefill: []string{"void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, false>>>>(flash::Params)"},
		decode: []string{"void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, true>>>>(flash::Params)", "void cutlass::device_kernel<flash::FlashAttnFwdCombine<cute::tuple<cute::C<16>>>>(flash::Params)"},
		share:  []string{"void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, false>>>>(flash::Params)"},
	},
	{
		name: "flashinfer-paged", both: true, prefill: []string{"void flashinfer::BatchPrefillWithPagedKVCacheKernel<flashinfer::KernelTraits<1, 128>, PagedParams>(PagedParams)"},
		decode: []string{"void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0, 2, 4, 8>(Params)"},
		share:  []string{"void flashinfer::BatchPrefillWithPagedKVCacheKernel<flashinfer::KernelTraits<1, 128>, PagedParams>(PagedParams)"},
	},
	{
		name: "flashinfer-ragged", both: true, prefill: []string{"void flashinfer::BatchPrefillWithRaggedKVCacheKernel<flashinfer::KernelTraits<1, 128>, RaggedParams>(RaggedParams)"},
		decode: []string{"void flashinfer::BatchPrefillWithPagedKVCacheKernel<flashinfer::KernelTraits<1, 16>, PagedParams>(PagedParams)", "void flashinfer::PersistentVariableLengthMergeStatesKernel<8, 16>(float*)"},
		share:  []string{"void flashinfer::BatchPrefillWithPagedKVCacheKernel<flashinfer::KernelTraits<1, 128>, PagedParams>(PagedParams)"},
	},
	{
		name: "flashmla", both: true, prefill: []string{"void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, true, 192>>>>(flash::Params)"},
		decode: []string{"void sm90::flash_fwd_splitkv_mla_kernel<cutlass::bfloat16_t>(DenseAttnDecodeParams)", "void flash_fwd_mla_combine_kernel<cutlass::bfloat16_t, 512>(DecodingParams)"},
		share:  []string{"void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, true, 512>>>>(flash::Params)"},
	},
	{name: "triton-unified", hip: true, prefill: []string{"kernel_unified_attention_2d"}, decode: []string{"kernel_unified_attention_3d", "reduce_segments"}, share: []string{"kernel_unified_attention_2d"}},
	{name: "triton-split", both: true, prefill: []string{"_fwd_kernel_extend_attention"}, decode: []string{"_fwd_grouped_kernel_stage1", "_fwd_kernel_stage2"}, share: []string{"_attn_fwd_unified_paged"}},
	{
		name: "aiter-mla", hip: true, both: true, prefill: []string{"_ZN5aiter42mla_pfl_bf16_a16w16_causal_subQ128_mqa128E"},
		decode: []string{"_ZN5aiter39mla_dec_stage1_bf16_a16w16_subQ16_mqa16E", "void kn_mla_reduce_v1<512, 16>(MlaReduceKernelV1Params)"},
		share:  []string{"_ZN5aiter39mla_a16w16_qh16_m16x4_n16x1_coex0_mask1E"},
	},
	{
		name: "aiter-paged", hip: true, both: true, prefill: []string{"_ZN7ck_tile6kentryILi2ENS_38FmhaBatchPrefillWithPagedKVCacheKernelINS_"},
		decode: []string{"void paged_attention_ll4mi_QKV_mfma16_kernel<0, __hip_bfloat16, __hip_bfloat16>", "void paged_attention_ll4mi_reduce_kernel<__hip_bfloat16, __hip_bfloat16>"},
		share:  []string{"_ZN7ck_tile6kentryILi2ENS_38FmhaBatchPrefillWithPagedKVCacheKernelINS_"},
	},
	{
		name: "xformers", both: true, prefill: []string{"fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::bfloat16_t>::Params)"},
		decode: []string{"void vllm::paged_attention_v1_kernel<__nv_bfloat16, __nv_bfloat16, 128, 16, 128>"},
		share:  []string{"fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::bfloat16_t>::Params)"},
	},
	{
		name: "cudnn", prefill: []string{"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_128x128x128_4x1x1_kernel0_0"},
		decode: []string{"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_6_64x128x128_1x1x1_kernel0_0"},
		share:  []string{"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_128x128x128_4x1x1_kernel0_0"},
	},
	{
		name: "trtllm", both: true, prefill: []string{"fmha_v2_flash_attention_bf16_64_128_S_q_paged_kv_128_causal_sm90_kernel"},
		decode: []string{"void tensorrt_llm::kernels::mmha::masked_multihead_attention_kernel<__nv_bfloat16, __nv_bfloat16, 128>"}, share: []string{"kernel_mha_shared_paged"},
	},
	{
		name: "trtllm-sm100", both: true, prefill: []string{"fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvCausalP64VarSeqQ128Kv128PersistentContext"},
		decode: []string{"fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvDenseP64MultiCtasKvVarSeqQ8Kv128StaticSwapsAbForGen"},
		share:  []string{"fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvCausalP64VarSeqQ128Kv128Persistent"},
	},
	{
		name: "sdpa-math", prefill: []string{"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_32x4_nn_align8>(Params)", "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 10, false, false>"},
		decode: []string{"void gemvNSP_kernel<__nv_bfloat16, __nv_bfloat16, float, 1, 32, 4, 1024>(cublasGemvParamsEx)", "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 10, false, false>"},
		share:  []string{"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_64x64_32x6_nn_align8>(Params)", "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 10, false, false>"},
	},
	{
		name: "sdpa-efficient", prefill: []string{"fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::bfloat16_t>::Params)"},
		decode: []string{"fmha_cutlassF_bf16_aligned_32x128_gmem_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::bfloat16_t>::Params)"},
		share:  []string{"fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::bfloat16_t>::Params)"},
	},
	{
		name: "sdpa-flash", prefill: []string{"void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<128, 128, 64, 4>, false, true>(pytorch_flash::Flash_fwd_params)"},
		decode: []string{"void pytorch_flash::flash_fwd_splitkv_kernel<pytorch_flash::Flash_fwd_kernel_traits<128, 64, 128, 4>>(pytorch_flash::Flash_fwd_params)", "void pytorch_flash::flash_fwd_splitkv_combine_kernel<pytorch_flash::Flash_fwd_kernel_traits<128>, 4>(pytorch_flash::Flash_fwd_params)"},
		share:  []string{"void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<128, 128, 64, 4>, false, true>(pytorch_flash::Flash_fwd_params)"},
	},
}

// Backends are the attention back-ends that can be made.
func Backends() []string {
	var out []string
	for _, b := range backends {
		out = append(out, b.name)
	}
	return out
}

// Step is one pass of the model in a made-up recording.
type Step struct {
	Phase      string
	Start, End int // kernels
}

// Served is a recording of a server, with the phase of every step.
type Served struct {
	Case
	Blocks, Graph []uint32 // by kernel; Blocks is nil where the recording does not say it
	Steps         []Step
}

// server is a model and its load.
type server struct {
	*generator
	opt    Serving
	names  attentionNames
	out    *Served
	layers int
	hidden float64
	graph  uint32
	inside bool // of a graph
	plain  bool // elementwise kernels of a library, no fused ones of a server
}

// Serve makes a recording. The same arguments give the same recording.
func Serve(opt Serving, seed uint64) *Served {
	at := slices.IndexFunc(backends, func(b attentionNames) bool { return b.name == opt.Backend })
	s := &server{generator: newGenerator(seed*977+uint64(at), Options{}), opt: opt, names: backends[at], out: &Served{}}
	s.layers, s.hidden = s.between(6, 24), float64(1024*s.between(2, 8))
	s.plain = len(opt.Backend) > 4 && opt.Backend[:4] == "sdpa"
	batch := []int{1, 2, 4, 8, 16, 32, 64, 128}[s.IntN(8)]
	context := 256 << s.IntN(5)
	prompt := func() int { return 200 + s.IntN(4000) }
	length := prompt() // servers pad or chunk: most prompts of a recording have a size in common
	switch opt.Workload {
	case "prefill only":
		for range s.between(4, 10) {
			s.pass("prefill", length, 1+s.IntN(2), 0, length)
		}
	case "decode only":
		for i := range s.between(6, 20) {
			s.pass("decode", batch, batch, batch, context+i)
		}
	case "requests", "decode first":
		if opt.Workload == "decode first" {
			for i := range s.between(5, 15) {
				s.pass("decode", batch, batch, batch, context+i)
			}
		}
		for range s.between(2, 5) {
			for range s.between(1, 2) {
				s.pass("prefill", length, 1, 0, length)
			}
			for i := range s.between(5, 25) {
				s.pass("decode", batch, batch, batch, length+i)
			}
		}
	case "mixed":
		for range s.between(2, 4) {
			for range s.between(2, 3) {
				s.pass("mixed", 512<<s.IntN(2)+batch, batch+1, batch, context)
			}
			for i := range s.between(5, 20) {
				s.pass("decode", batch, batch, batch, context+i)
			}
		}
	case "speculative":
		for i := range s.between(5, 15) {
			s.pass("verify", 4*batch, batch, batch, context+i)
		}
	default:
		panic("cycletest: no workload " + opt.Workload)
	}
	s.out.Case = *s.c
	if !opt.Grids {
		s.out.Blocks = nil
	}
	return s.out
}

// launch writes one kernel that takes about so long.
func (s *server) launch(name string, us float64, blocks int) {
	s.now += int64(s.between(400, 1200))
	if s.opt.Graphs == "eager" || !s.inside {
		s.now += int64(s.between(500, 2500))
	}
	dur := int64(us * 1000 * (0.95 + 0.1*s.Float64()))
	s.write(s.id(name), 0, s.now, dur)
	s.now += dur
	s.main++
	graph := uint32(0)
	if s.inside {
		graph = s.graph
		if s.names.hip {
			blocks = 0
		}
	}
	s.out.Blocks, s.out.Graph = append(s.out.Blocks, uint32(max(0, blocks))), append(s.out.Graph, graph)
}

// rowwise is a kernel with a block a row.
func (s *server) rowwise(name string, rows int) {
	s.launch(name, 2+float64(rows)*s.hidden*4/1.5e6, rows)
}

// product is a matrix product of so many rows.
func (s *server) product(role string, rows int, wide float64) {
	columns := s.hidden * wide
	us := 3 + max(2*s.hidden*columns/2e6, 2*float64(rows)*s.hidden*columns/4e8)
	tile := 64
	if !s.opt.Same {
		tile = min(256, max(16, 1<<int(math.Log2(float64(max(1, rows))))))
	}
	name := fmt.Sprintf("nvjet_tst_%dx%d_64x%d_1x2_h_bz_%s_TNT", min(128, 2*tile), tile, 4+tile/32, role)
	if s.names.hip {
		name = fmt.Sprintf("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT%dx%dx64_MI16x16x1_%s", tile, min(128, 2*tile), role)
	}
	s.launch(name, us, max(1, (rows+tile-1)/tile)*int(columns)/128)
}

// pass writes one step of so many rows and sequences, tokens of them from decoding requests.
func (s *server) pass(phase string, rows, sequences, decoding, context int) {
	s.now += int64(s.between(60_000, 150_000))
	start := s.main
	s.inside = false
	s.launch("void at::native::vectorized_gather_kernel<16, long>", 3+float64(rows)/500, rows)
	captured := s.opt.Graphs == "full" && (phase == "decode" || phase == "verify")
	piecewise := s.opt.Graphs == "piecewise"
	s.graph++
	norm, cache := "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>", "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16>"
	activation := "void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel>"
	if s.plain {
		norm, cache, activation = "void at::native::vectorized_elementwise_kernel<4, at::native::rsqrt_kernel_cuda>", "void at::native::(anonymous namespace)::CatArrayBatchedCopy<c10::BFloat16>", "void at::native::vectorized_elementwise_kernel<4, at::native::silu_kernel>"
	}
	for range s.layers {
		s.inside = captured || piecewise
		if piecewise {
			s.graph++
		}
		s.rowwise(norm, rows)
		s.product("qkv", rows, 1.5)
		s.rowwise("void vllm::rotary_embedding_kernel<c10::BFloat16, true>", rows)
		s.inside = captured
		s.rowwise(cache, rows)
		s.attend(phase, rows, decoding, context)
		s.inside = captured || piecewise
		if piecewise {
			s.graph++
		}
		s.product("out", rows, 1)
		s.rowwise(norm, rows)
		s.product("up", rows, 4)
		s.rowwise(activation, rows)
		s.product("down", rows, 3.5)
	}
	s.inside = false
	s.rowwise("void vllm::rms_norm_kernel<c10::BFloat16>", rows)
	s.launch("nvjet_tst_128x64_64x8_2x1_v_bz_lm_head_TNT", 120, 512)
	s.launch("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>>>", 8+float64(sequences)/10, sequences)
	if phase == "verify" {
		s.launch("rejection_greedy_sample_kernel", 4, sequences)
	}
	s.out.Steps = append(s.out.Steps, Step{phase, start, s.main})
}

// attend writes the attention of a layer.
func (s *server) attend(phase string, rows, decoding, context int) {
	heads := int(s.hidden) / 128
	prompt := func(names []string, n int) {
		for i, name := range names {
			s.launch(name, (5+float64(n)*float64(context)*s.hidden*4/3e8)/float64(1+3*i), heads*max(1, n/128))
		}
	}
	single := func(names []string, n int) {
		for i, name := range names {
			s.launch(name, (6+float64(n)*float64(context)*s.hidden/8*4/2e6)/float64(1+3*i), heads*n)
		}
	}
	switch {
	case s.opt.Same && phase == "prefill":
		prompt(s.names.share, rows)
	case s.opt.Same && phase == "mixed":
		prompt(s.names.share, rows)
	case s.opt.Same:
		single(s.names.share, rows)
	case phase == "prefill":
		prompt(s.names.prefill, rows)
	case phase == "mixed" && s.opt.Backend == "fa2": // its kernel for a paged cache, unsplit
		prompt(s.names.share, rows)
	case phase == "mixed":
		prompt(s.names.prefill, rows-decoding)
		if s.names.both {
			single(s.names.decode, decoding)
		}
	default:
		single(s.names.decode, rows)
	}
}
