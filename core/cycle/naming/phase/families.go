package phase

import (
	"strings"

	"github.com/prlx-go/prlx/core/lazyregexp"
)

// hint is what a family of kernels says about the step that it runs in.
type hint int

const (
	attention hint = iota // attention that serves several phases: says nothing
	decodeAttention
	prefillAttention
	splitAttention   // over pieces of a cache: single tokens, and prompts whose cache is paged
	combineAttention // puts the pieces together, of which single tokens have many
	pagedAttention   // of prompts, and of single tokens where tensor cores do them
	bothAttention    // of prompts and single tokens in one launch
	eitherAttention  // of a library that attends in both phases by one family of kernels; of training too
	backwardAttention
	forwardAttention // training and prefill share it
	backward
	optimize
	rejection // sampling that accepts or rejects drafted tokens
	vector    // matrix times vector: one token
	cache     // writes the cache of a server
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

	{[]string{"splitkv", "mla"}, decodeAttention, "FlashMLA flash_fwd_splitkv_mla_kernel"},
	{[]string{"flash", "combine"}, combineAttention, "flash-attn 2 flash_fwd_splitkv_combine_kernel, flash-attn 3 FlashAttnFwdCombine, FlashMLA"},
	{[]string{"splitkvcombine"}, combineAttention, "CK FmhaFwdSplitKVCombine"},
	{[]string{"splitkv"}, splitAttention, "flash-attn flash_fwd_splitkv_kernel, CK FmhaFwdSplitKV"},
	{[]string{"split_kv"}, splitAttention, "TRT-LLM, aiter"},
	{[]string{"mergestates"}, combineAttention, "FlashInfer PersistentVariableLengthMergeStatesKernel"},
	{[]string{"mla_reduce"}, combineAttention, "aiter kn_mla_reduce_v1"},
	{[]string{"reduce_segments"}, combineAttention, "vLLM Triton backend"},
	{[]string{"podwithkvcache"}, bothAttention, "FlashInfer PODWithKVCacheTensorKernel"},
	{[]string{"mla_dec"}, decodeAttention, "aiter assembly mla_dec_stage1_*"},
	{[]string{"mla_stage1"}, decodeAttention, "aiter assembly mla_stage1_*"},
	{[]string{"mla_pfl"}, prefillAttention, "aiter assembly mla_pfl_*"},
	{[]string{"fwd_kernel_stage"}, decodeAttention, "SGLang, vLLM Triton decode"},
	{[]string{"forgen"}, decodeAttention, "TRT-LLM kernels of generation on Blackwell, SwapsAbForGen and KeepsAbForGen"},
	{[]string{"kernel_mha"}, attention, "TRT-LLM XQA"},
	{[]string{"mla_a16w16"}, attention, "aiter assembly of absorbed MLA, for any number of tokens a request"},
	{[]string{"mla_a8w8"}, attention, "aiter assembly of absorbed MLA, for any number of tokens a request"},
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
	{[]string{"_splitk_reduce"}, combineAttention, "xFormers Triton split-K"},
	{[]string{"fwd_kernel_splitk"}, decodeAttention, "xFormers Triton split-K"},
	{[]string{"flash_decod"}, decodeAttention, "flash decoding kernels"},
	{[]string{"decode_attention"}, decodeAttention, "SGLang Triton backend"},
	{[]string{"_fwd_grouped_kernel_stage"}, decodeAttention, "SGLang, vLLM Triton decode"},
	{[]string{"paged", "attn_fwd"}, attention, "Triton kernels of ROCm servers"},
	{[]string{"unified_attention_3d"}, decodeAttention, "vLLM Triton backend: the segmented grid for one query token a sequence"},
	{[]string{"fmha", "generation"}, decodeAttention, "TRT-LLM generation kernels"},
	{[]string{"fmhasm100", "multictaskv"}, decodeAttention, "TRT-LLM generation on Blackwell"},

	{[]string{"prefillwithragged"}, prefillAttention, "FlashInfer BatchPrefillWithRaggedKVCache, whose keys are those of the prompt"},
	{[]string{"batchprefill"}, pagedAttention, "FlashInfer BatchPrefillWithPagedKVCache, CK FmhaBatchPrefillWithPagedKVCache"},
	{[]string{"singleprefill"}, pagedAttention, "FlashInfer"},
	{[]string{"prefillwith"}, pagedAttention, "FlashInfer"},
	{[]string{"context_attention"}, prefillAttention, "vLLM, SGLang context_attention_fwd"},
	{[]string{"extend_attention"}, prefillAttention, "SGLang Triton backend"},
	{[]string{"mla_prefill"}, prefillAttention, "aiter"},
	{[]string{"fmhasm100", "context"}, prefillAttention, "TRT-LLM context on Blackwell"},
	{[]string{"fmha_fwd"}, forwardAttention, "aiter, CK"},
	{[]string{"fmhafwd"}, forwardAttention, "CK tile"},
	{[]string{"fmha_v2"}, prefillAttention, "TRT-LLM context kernels"},
	{[]string{"fmha_cutlassf"}, eitherAttention, "PyTorch memory-efficient attention"},
	{[]string{"attn_fwd"}, forwardAttention, "Triton on ROCm, AOTriton"},
	{[]string{"flash_fprop"}, eitherAttention, "cuDNN"},
	{[]string{"varlen_num_blocks"}, attention, "flash-attn 3 prepare_varlen_num_blocks_kernel, which plans any step"},
	{[]string{"fmhasm100"}, attention, "TRT-LLM on Blackwell, where the name says neither context nor generation"},
	{[]string{"varlen"}, prefillAttention, "flash_attn_varlen"},
	// These serve every phase of a server (vLLM with flash-attn 3, unified Triton attention): evidence for nothing.
	{[]string{"unified_attention"}, attention, "vLLM Triton backend"},
	{[]string{"flashattnfwd"}, attention, "flash-attn 3 behind vLLM and SGLang, with and without paging"},
	{[]string{"flash_fwd"}, forwardAttention, "flash-attn 2"},

	{[]string{"softmax_warp_forward"}, eitherAttention, "PyTorch attention as products and a softmax"},

	{[]string{"gemv"}, vector, "cuBLAS gemvNSP, gemv2T, gemvx"},
	{[]string{"wvsplitk"}, vector, "vLLM on ROCm, for few rows"},
	{[]string{"reshape_and_cache"}, cache, "vLLM"},
	{[]string{"store_kv"}, cache, "SGLang"},
	{[]string{"set_kv_buffer"}, cache, "SGLang"},
	{[]string{"set_mla_kv"}, cache, "SGLang"},
	{[]string{"appendpagedkv"}, cache, "FlashInfer"},

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

// familiar is familyOf with the names seen at hand: a step says few names many times.
func familiar() func(name string) (row int, ok bool) {
	rows := map[string]int{}
	return func(name string) (int, bool) {
		row, seen := rows[name]
		if !seen {
			var ok bool
			if row, ok = familyOf(name); !ok {
				row = -1
			}
			rows[name] = row
		}
		return row, row >= 0
	}
}

// matcher is a pattern with the names seen at hand.
func matcher(of *lazyregexp.Regexp) func(name string) bool {
	fits := map[string]bool{}
	return func(name string) bool {
		yes, seen := fits[name]
		if !seen {
			yes = of.MatchString(name)
			fits[name] = yes
		}
		return yes
	}
}
