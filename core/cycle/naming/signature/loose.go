package signature

import (
	"strings"

	"github.com/prlx-go/prlx/core/lazyregexp"
)

// carriers are kernels whose own name says nothing about the work: what they compute is a template argument, which the loose key keeps.
var carriers = lazyregexp.New(`(elementwise_kernel|elementwise_kernel_with_index|reduce_kernel|^cutlass::Kernel2?|cutlass::device_kernel|kentry|kernel_impl|DeviceKernel|for_each::static_kernel|multi_tensor_apply_kernel|launch_bounds_kernel)$`)

// telling are identifiers inside template arguments that name work.
var telling = lazyregexp.New(`(?i)functor|_kernel|kernel$|ops?$|gemm|fmha|norm|attn|softmax`)

var (
	identifier = lazyregexp.New(`[A-Za-z_]\w*`)
	// dull are data types, sizes and the plumbing of libraries.
	dull = lazyregexp.New(`^(void|bool|char|short|int|long|unsigned|signed|float|double|half|const|true|false|std|at|native|detail|c10|cuda|hip|cutlass|ck_tile|memory|lambda|operator|anonymous|namespace|array|Array|Half|BFloat16|bfloat16|__half|__hip_bfloat16|__nv_bfloat16|_Float16|__bf16|u?int\d+_t|Float8_\w+|u?l+|TrivialOffsetCalculator|OffsetCalculator|LoadWithCast|LoadWithoutCast|StoreWithCast|StoreWithoutCast|gpu_kernel_impl\w*|gpu_kernel_with_scalars|complex)$`)
)

// normal lists what is removed from a name without template arguments, in order. A rule that would leave less than three letters is not applied.
var normal = []struct {
	match   *lazyregexp.Regexp
	replace string
}{
	{lazyregexp.New(`^(Cijk_[A-Za-z0-9]+_[A-Za-z0-9]+_.*?)_MT\d+x.*$`), "$1"},                     // Tensile: macro tile and everything tuned behind it
	{lazyregexp.New(`^(nvjet_[a-z0-9]+)_\d+x\d+.*?(_bias)?(_[NT]{2}[NT]?)?$`), "$1$2"},            // cuBLAS: tile, stages, cluster, layout
	{lazyregexp.New(`_tilesize\d+x.*$`), ""},                                                      // xmma
	{lazyregexp.New(`_(RING|TREE|NVLS|NVLSTREE|NVLS_TREE|COLLNET\w*|PAT)_(LL128|LL|SIMPLE)`), ""}, // NCCL: algorithm and protocol
	{lazyregexp.New(`_(GROUP_K|BLOCK_SIZE|GROUP_SIZE|BLOCK|SPLIT_K|SPLITK|NUM_KSPLIT|EVEN_K|GRID_MN|num_warps|num_stages)_.*$`), ""},
	{lazyregexp.New(`_\d+x\d+(x\d+)*`), ""}, // any other tile
	{lazyregexp.New(`_align\d+`), ""},
	{lazyregexp.New(`(_1tg|_2tg|_ps|_novs|_vs)+$`), ""},  // aiter: thread groups, persistent, v shuffle
	{lazyregexp.New(`_\d+(d|c|de)(\d+(d|c|de)?)*$`), ""}, // Triton: specialised arguments
	{lazyregexp.New(`(_\d+)+$`), ""},                     // Inductor and friends number what they generate
	{lazyregexp.New(`(\.\d+)+$`), ""},                    // so does XLA
}

// loosen makes the loose key of a strict key.
func loosen(strict string) string {
	if len(strict) > maxName {
		return strict
	}
	var base, kept strings.Builder
	last := 0
	var arguments []string
	brackets(strict, func(open byte, from, to int) bool {
		if open == '<' {
			base.WriteString(strict[last:from])
			arguments = append(arguments, strict[from:to])
			last = to
		}
		return true
	})
	base.WriteString(strict[last:])
	name := base.String()
	if len(name) == 0 {
		return strict
	}
	if carriers.MatchString(name) && len(arguments) > 0 {
		for i, word := range work(arguments[len(arguments)-1]) {
			if i > 0 {
				kept.WriteByte(',')
			}
			kept.WriteString(normalise(word))
		}
	}
	name = normalise(name)
	if kept.Len() > 0 {
		name += "[" + kept.String() + "]"
	}
	return name
}

// work picks the identifiers in template arguments that name what is computed: at most two telling ones, else the first that is not dull.
func work(arguments string) []string {
	var out []string
	first := ""
	for _, word := range identifier.FindAllString(arguments, -1) {
		if dull.MatchString(word) {
			continue
		}
		if first == "" {
			first = word
		}
		if telling.MatchString(word) && (len(out) == 0 || out[0] != word) {
			if out = append(out, word); len(out) == 2 {
				return out
			}
		}
	}
	if len(out) == 0 && first != "" {
		out = append(out, first)
	}
	return out
}

func normalise(name string) string {
	for _, n := range normal {
		if shorter := n.match.ReplaceAllString(name, n.replace); len(shorter) >= 3 {
			name = shorter
		}
	}
	return name
}
