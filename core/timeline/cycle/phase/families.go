package phase

import "strings"

// hint is what a family of kernels says about the step that it runs in.
type hint int

const (
	attention hint = iota // attention that serves several phases: says nothing
	decodeAttention
	prefillAttention
	backwardAttention
	forwardAttention // training and prefill share it
	backward
	optimize
	rejection // sampling that accepts or rejects drafted tokens
)

// families tells kernels by words of their lower-case names; all words of one row must occur. The first row that fits wins, so rows of
// one library go from special to general. The last column says where the name comes from.
var families = []struct {
	words  []string
	hint   hint
	source string
}{
	{[]string{"multi_tensor", "adam"}, optimize, "PyTorch foreach and apex optimizers"},
	{[]string{"fused_adam"}, optimize, "PyTorch, apex, DeepSpeed"},
	{[]string{"fusedadam"}, optimize, "PyTorch fused Adam functor"},
	{[]string{"adam_kernel"}, optimize, "DeepSpeed, bitsandbytes"},
	{[]string{"lamb_stage"}, optimize, "apex LAMB"},
	{[]string{"fused_sgd"}, optimize, "PyTorch fused SGD"},
	{[]string{"multi_tensor_apply", "addcdiv"}, optimize, "PyTorch foreach Adam"},
	{[]string{"multi_tensor_apply", "addcmul"}, optimize, "PyTorch foreach Adam"},
	{[]string{"multi_tensor_apply", "lerp"}, optimize, "PyTorch foreach Adam"},

	{[]string{"rejection"}, rejection, "vLLM rejection_greedy_sample_kernel and friends"},
	{[]string{"verify_tree"}, rejection, "SGLang VerifyTreeGreedy"},
	{[]string{"verifytree"}, rejection, "SGLang VerifyTreeGreedy"},
	{[]string{"tree_speculative_sampling"}, rejection, "SGLang, FlashInfer"},
	{[]string{"treespeculativesampling"}, rejection, "SGLang, FlashInfer"},

	{[]string{"flash_bwd"}, backwardAttention, "flash-attn 2"},
	{[]string{"flashattnbwd"}, backwardAttention, "flash-attn 3"},
	{[]string{"fmha_bwd"}, backwardAttention, "CK, aiter, cuDNN"},
	{[]string{"fmhabwd"}, backwardAttention, "CK tile"},
	{[]string{"fmha_cutlassb"}, backwardAttention, "PyTorch memory-efficient attention"},
	{[]string{"attn_bwd"}, backwardAttention, "Triton tutorials, aiter"},
	{[]string{"flash_bprop"}, backwardAttention, "cuDNN"},

	{[]string{"splitkv"}, decodeAttention, "flash-attn flash_fwd_splitkv_kernel, CK FmhaFwdSplitKV"},
	{[]string{"split_kv"}, decodeAttention, "TRT-LLM, aiter"},
	{[]string{"paged_attention"}, decodeAttention, "vLLM paged_attention_v1/v2, ROCm ll4mi"},
	{[]string{"pagedattention"}, decodeAttention, "aiter, vLLM"},
	{[]string{"paged_attn"}, decodeAttention, "aiter"},
	{[]string{"pa_fwd"}, decodeAttention, "aiter assembly pa_fwd"},
	{[]string{"pa_bf16"}, decodeAttention, "aiter assembly pa_bf16_*"},
	{[]string{"mmha"}, decodeAttention, "TRT-LLM masked_multihead_attention / mmha"},
	{[]string{"masked_multihead_attention"}, decodeAttention, "TRT-LLM"},
	{[]string{"batchdecode"}, decodeAttention, "FlashInfer BatchDecodeWithPagedKVCacheKernel"},
	{[]string{"singledecode"}, decodeAttention, "FlashInfer"},
	{[]string{"mla_decode"}, decodeAttention, "aiter, SGLang"},
	{[]string{"flash_mla"}, decodeAttention, "FlashMLA"},
	{[]string{"flash_fwd_mla"}, decodeAttention, "FlashMLA"},
	{[]string{"flash_decod"}, decodeAttention, "flash decoding kernels"},
	{[]string{"decode_attention"}, decodeAttention, "SGLang Triton backend"},
	{[]string{"_fwd_grouped_kernel_stage"}, decodeAttention, "SGLang, vLLM Triton decode"},
	{[]string{"unified_attention_3d"}, decodeAttention, "vLLM Triton backend: the segmented grid for one query token a sequence"},
	{[]string{"fmha", "generation"}, decodeAttention, "TRT-LLM generation kernels"},
	{[]string{"fmhasm100", "multictaskv"}, decodeAttention, "TRT-LLM generation on Blackwell"},

	{[]string{"batchprefill"}, prefillAttention, "FlashInfer, CK FmhaBatchPrefillWithPagedKVCache"},
	{[]string{"singleprefill"}, prefillAttention, "FlashInfer"},
	{[]string{"prefillwith"}, prefillAttention, "FlashInfer BatchPrefillWith{Ragged,Paged}KVCache"},
	{[]string{"context_attention"}, prefillAttention, "vLLM, SGLang context_attention_fwd"},
	{[]string{"extend_attention"}, prefillAttention, "SGLang Triton backend"},
	{[]string{"mla_prefill"}, prefillAttention, "aiter"},
	{[]string{"fmhasm100", "context"}, prefillAttention, "TRT-LLM context on Blackwell"},
	{[]string{"fmha_fwd"}, forwardAttention, "aiter, CK"},
	{[]string{"fmhafwd"}, forwardAttention, "CK tile"},
	{[]string{"fmha_v2"}, prefillAttention, "TRT-LLM context kernels"},
	{[]string{"fmha_cutlassf"}, forwardAttention, "PyTorch memory-efficient attention"},
	{[]string{"attn_fwd"}, forwardAttention, "Triton on ROCm, AOTriton"},
	{[]string{"flash_fprop"}, forwardAttention, "cuDNN"},
	{[]string{"varlen"}, prefillAttention, "flash_attn_varlen"},
	// These serve every phase of a server (vLLM with flash-attn 3, unified Triton attention): evidence for nothing.
	{[]string{"unified_attention"}, attention, "vLLM Triton backend"},
	{[]string{"flashattnfwd"}, attention, "flash-attn 3 behind vLLM and SGLang, with and without paging"},
	{[]string{"flash_fwd"}, forwardAttention, "flash-attn 2"},

	{[]string{"backward"}, backward, "PyTorch *_backward_kernel"},
	{[]string{"_bwd"}, backward, "Triton kernels"},
	{[]string{"_bgrad"}, backward, "cuBLAS, cuDNN"},
	{[]string{"dgrad"}, backward, "cuDNN"},
	{[]string{"wgrad"}, backward, "cuDNN"},
	{[]string{"igemm_wrw"}, backward, "MIOpen"},
}

func familyOf(name string) (row int, ok bool) {
	name = strings.ToLower(name)
next:
	for i, f := range families {
		for _, w := range f.words {
			if !strings.Contains(name, w) {
				continue next
			}
		}
		return i, true
	}
	return 0, false
}
