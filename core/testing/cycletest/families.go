package cycletest

import "slices"

const (
	stepPause  = 90_000
	innerPause = 25_000
)

// attention names the kernels of attention by phase; a reader of names can tell the phase from them.
var attention = map[string][]string{
	"prefill":   {"void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, cutlass::bfloat16_t>, true>", "vllm::reshape_and_cache_flash_kernel"},
	"decode":    {"void vllm::paged_attention_v2_kernel<__nv_bfloat16, 128, 16>", "void vllm::paged_attention_v2_reduce_kernel<__nv_bfloat16, 128>"},
	"mixed":     {"void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4>, true>", "void vllm::paged_attention_v1_kernel<__nv_bfloat16, 128, 16>"},
	"draft":     {"void vllm::paged_attention_v1_kernel<__nv_bfloat16, 64, 16>", "vllm::reshape_and_cache_kernel"},
	"verify":    {"void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 16, 128, 4>, false>", "void flash::flash_fwd_splitkv_combine_kernel<128>"},
	"train-fwd": {"void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 32, 4, cutlass::bfloat16_t>, false>", "void at::native::(anonymous namespace)::fused_dropout_kernel_vec<float>"},
	"train-bwd": {"void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128>>", "void flash::flash_bwd_convert_dq_kernel<128>"},
}

var middles = []string{
	"void vllm::rms_norm_kernel<c10::BFloat16>", "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>", "void vllm::rotary_embedding_kernel<c10::BFloat16, true>",
	"void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel>", "triton_poi_fused_mul_silu_0", "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_1",
	"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>>", "void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16>",
	"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
}

// layer makes a layer of n kernels: a start and an end of its own, and in between kernels of which some occur twice.
func (g *generator) layer(kind, phase string, n int) *template {
	g.serial++
	names := attention[phase]
	k := []uint32{g.id(g.tag("nvjet_tst_%dx64_64x8_1x2_h_bz_qkv_%s", 64*g.serial, kind))}
	for len(k) < n-1 {
		switch at := len(k); {
		case at == n/3:
			k = append(k, g.id(names[0]))
		case at == n/3+1:
			k = append(k, g.id(names[1]))
		case g.IntN(3) == 0:
			k = append(k, g.id(g.tag("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize%dx128x64_warpgroupsize1x1x1_%s", 64*g.between(1, 3), kind)))
		default:
			k = append(k, g.id(middles[g.IntN(len(middles))]))
		}
	}
	k = append(k, g.id(g.tag("void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal_down_%d_%s>", g.serial, kind)))
	for i := 1; i < len(k); i++ { // a swap of equal kernels would be no edit
		if k[i] == k[i-1] {
			k[i] = g.id(g.tag("triton_poi_fused_%s_%d", kind, i))
		}
	}
	return &template{name: "layer " + kind, phase: phase, parts: []part{{kernels: k}}}
}

func (g *generator) prologue() []uint32 {
	all := []string{
		"void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long>", "void at::native::index_elementwise_kernel<128, 4>",
		"triton_poi_fused_embedding_0", "void at::native::vectorized_gather_kernel<16, long>",
	}
	return g.some(all, 1)
}

func (g *generator) epilogue() []uint32 {
	all := []string{
		"void vllm::final_norm_kernel<c10::BFloat16>", "nvjet_tst_192x192_64x3_1x2_h_bz_lm_head", "void at::native::softmax_warp_forward<float, float, float, 10>",
		"void at::native::reduce_kernel<512, 1, at::native::ArgMaxOps<float>>", "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>",
	}
	return g.some(all, 2)
}

// some returns at least least of the names, in order.
func (g *generator) some(names []string, least int) []uint32 {
	n := g.between(least, len(names))
	var out []uint32
	for _, s := range names[:n] {
		out = append(out, g.id(s))
	}
	return out
}

// stepOf makes a step: prologue, layers, epilogue.
func (g *generator) stepOf(phase string, before, after []uint32, layers ...part) *template {
	parts := append([]part{{kernels: before}}, layers...)
	return &template{name: "step " + phase, phase: phase, parts: append(parts, part{kernels: after}), pauseNS: stepPause}
}

func times(t *template, n int) part { return part{repeat: t, times: n} }

func singlePrefill(g *generator) {
	n := g.between(9, 20)
	layers := g.layersFor(n)
	before, after := g.prologue(), g.epilogue()
	prefill := g.stepOf("prefill", before, after, times(g.layer("prefill", "prefill", n+g.between(0, 3)), layers))
	decode := g.stepOf("decode", before, after, times(g.layer("decode", "decode", n), layers))
	g.template(prefill)
	for range g.steps(decode.size()) {
		g.step(decode)
	}
}

func multiPrefill(g *generator) {
	n := g.between(9, 20)
	layers := g.layersFor(n)
	before, after := g.prologue(), g.epilogue()
	prefill := g.stepOf("prefill", before, after, times(g.layer("prefill", "prefill", n+g.between(0, 3)), layers))
	decode := g.stepOf("decode", before, after, times(g.layer("decode", "decode", n), layers))
	requests := g.between(4, 8)
	total := max(g.steps(decode.size()), 4*requests)
	for r := range requests {
		for range g.between(1, 2) {
			g.step(prefill)
		}
		for range max(2, total/requests+g.between(-3, 3)+r%2) {
			g.step(decode)
		}
	}
}

// shuffled writes steps of several kinds in no fixed order, each at least three times.
func (g *generator) shuffled(kinds []*template, share []int) {
	size, sum := 0, 0
	for i, t := range kinds {
		size += t.size() * share[i]
		sum += share[i]
	}
	total := max(g.opt.Kernels*sum/size, 6*len(kinds))
	var order []*template
	for i, t := range kinds {
		for range max(4, total*share[i]/sum) {
			order = append(order, t)
		}
	}
	g.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, t := range order {
		g.step(t)
	}
}

func chunkedMixed(g *generator) {
	n := g.between(9, 20)
	layers := g.layersFor(n)
	before, after := g.prologue(), g.epilogue()
	mixed := g.stepOf("mixed", before, after, times(g.layer("mixed", "mixed", n+g.between(1, 4)), layers))
	decode := g.stepOf("decode", before, after, times(g.layer("decode", "decode", n), layers))
	g.shuffled([]*template{decode, mixed}, []int{3, 1})
}

func batchBuckets(g *generator) {
	n := g.between(9, 16)
	layers := g.layersFor(n)
	before, after := g.prologue(), g.epilogue()
	var kinds []*template
	var share []int
	for b := range g.between(3, 5) {
		t := g.stepOf("decode", before, after, times(g.layer(g.tag("decode bs%d", 1<<b), "decode", n), layers))
		t.name = g.tag("step decode bs%d", 1<<b)
		kinds, share = append(kinds, t), append(share, b+1)
	}
	g.shuffled(kinds, share)
}

func speculative(g *generator) {
	n := g.between(9, 16)
	layers := g.layersFor(n)
	draft := g.stepOf("draft", g.prologue(), g.epilogue(), part{kernels: g.layer("draft", "draft", g.between(8, 12)).parts[0].kernels})
	draft.pauseNS = innerPause
	verify := g.stepOf("verify", g.prologue(), g.epilogue(), times(g.layer("verify", "verify", n), layers))
	verify.pauseNS = innerPause
	verify.parts = append(verify.parts, part{kernels: []uint32{g.id("void vllm::rejection_random_sample_kernel"), g.id("void at::native::index_put_kernel")}})
	round := &template{name: "speculation", parts: []part{times(draft, g.between(4, 6)), times(verify, 1)}, pauseNS: stepPause}
	for range g.steps(round.size()) {
		g.step(round)
	}
	// The verifying step is all of a round that is not a draft: nothing but the pause sets it apart.
	g.forget("step verify")
}

func (g *generator) forget(name string) {
	g.order = slices.DeleteFunc(g.order, func(s string) bool { return s == name })
}

func denseMoE(g *generator) {
	n := g.between(9, 16)
	layers := g.layersFor(n)
	dense, moe := g.layer("dense", "decode", n), g.layer("moe", "decode", n+g.between(2, 5))
	shared := g.between(3, n/2) // both start with the same attention
	copy(moe.parts[0].kernels[:shared], dense.parts[0].kernels[:shared])
	step := g.stepOf("decode", g.prologue(), g.epilogue(), times(dense, g.between(3, 4)), times(moe, layers))
	for range g.steps(step.size()) {
		g.step(step)
	}
}

func alternating(g *generator) {
	n := g.between(8, 14)
	pairs := max(4, g.layersFor(n)/2)
	a, b := g.layer("sliding", "decode", n).parts[0].kernels, g.layer("full", "decode", n+g.between(0, 2)).parts[0].kernels
	shared := g.between(2, n/2)
	copy(b[1:shared], a[1:shared])
	pair := &template{name: "layer pair", phase: "decode", parts: []part{{kernels: append(append([]uint32{}, a...), b...)}}}
	step := g.stepOf("decode", g.prologue(), g.epilogue(), times(pair, pairs))
	for range g.steps(step.size()) {
		g.step(step)
	}
}

func twoStreams(g *generator) {
	n := g.between(9, 20)
	g.comm = []uint32{g.id("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)")}
	step := g.stepOf("decode", g.prologue(), g.epilogue(), times(g.layer("decode", "decode", n), g.layersFor(n)))
	for range g.steps(step.size()) {
		g.step(step)
	}
}

func pipeline(g *generator) {
	n := g.between(8, 14)
	layers, micro := g.between(4, 6), g.between(4, 8)
	recv, send := g.id("ncclDevKernel_SendRecv_recv(ncclDevKernelArgsStorage<4096ul>)"), g.id("ncclDevKernel_SendRecv_send(ncclDevKernelArgsStorage<4096ul>)")
	make := func(phase string, n int) *template {
		return &template{name: "microbatch " + phase, phase: phase, pauseNS: innerPause, parts: []part{
			{kernels: []uint32{recv, g.id("void at::native::copy_kernel_" + phase)}}, times(g.layer(phase, phase, n), layers), {kernels: []uint32{g.id("triton_poi_fused_clone_" + phase), send}},
		}}
	}
	forward, backward := make("train-fwd", n), make("train-bwd", n+g.between(2, 6))
	step := &template{name: "step", pauseNS: stepPause, parts: []part{
		{kernels: []uint32{g.id("void at::native::fill_kernel_zero_grad"), g.id("triton_poi_fused_schedule_0")}}, times(forward, micro), times(backward, micro), {kernels: g.optimizer(g.between(3, 6))},
	}}
	for range g.steps(step.size()) {
		g.step(step)
	}
}

func (g *generator) optimizer(n int) []uint32 {
	out := []uint32{g.id("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"), g.id("void at::native::lpnorm_cleanup<float>")}
	for range n {
		out = append(out, g.id("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4>>"))
	}
	return out
}

func training(g *generator) {
	n := g.between(8, 16)
	layers := max(4, g.layersFor(n)/2)
	forward, backward := g.layer("train-fwd", "train-fwd", n), g.layer("train-bwd", "train-bwd", 2*n+g.between(0, 5))
	step := &template{name: "step", pauseNS: stepPause, parts: []part{
		{kernels: g.prologue()},
		times(forward, layers),
		{kernels: []uint32{g.id("void at::native::nll_loss_forward_reduce_cuda_kernel_2d"), g.id("void at::native::nll_loss_backward_reduce_cuda_kernel_2d")}},
		times(backward, layers),
		{kernels: g.optimizer(g.between(2, 60))},
	}}
	for range g.steps(step.size()) {
		g.step(step)
	}
}

func warmUp(g *generator) {
	for range g.between(50, 300) {
		g.kernel(g.id(g.tag("triton_autotune_candidate_%d", g.IntN(200))))
	}
	n := g.between(9, 20)
	step := g.stepOf("decode", g.prologue(), g.epilogue(), times(g.layer("decode", "decode", n), g.layersFor(n)))
	for range g.steps(step.size()) {
		g.step(step)
	}
}

func truncated(g *generator) {
	n := g.between(9, 20)
	step := g.stepOf("decode", g.prologue(), g.epilogue(), times(g.layer("decode", "decode", n), g.layersFor(n)))
	for range g.steps(step.size()) + 2 {
		g.step(step)
	}
	size := step.size()
	head := g.between(1, size-2) // with less than a step left over, no other rotation has one step more
	g.cutTo(size-head, g.main-size+g.between(1, size-head-1))
}

func nested(g *generator) {
	n := g.between(9, 14)
	layers := max(4, g.layersFor(n)/4)
	before, after := g.prologue(), g.epilogue()
	prefill := g.stepOf("prefill", before, after, times(g.layer("prefill", "prefill", n+g.between(0, 3)), layers))
	decode := g.stepOf("decode", before, after, times(g.layer("decode", "decode", n), layers))
	decodes := g.between(4, 12)
	request := &template{name: "request", pauseNS: stepPause, parts: []part{times(prefill, 1), times(decode, decodes)}}
	for range g.steps(request.size()) {
		g.step(request)
	}
}

// none writes kernels in an order without cycles: independent draws, or a walk in which each kernel has a few possible followers.
func none(g *generator) {
	names := g.between(20, 200)
	ids := make([]uint32, names)
	for i := range ids {
		ids[i] = g.id(g.tag("void at::native::elementwise_kernel_%d<float>", i))
	}
	draw := func() int { // few kernels are frequent
		x := g.Float64()
		return int(x * x * float64(names))
	}
	walk := g.IntN(2) == 0
	next := make([][4]int, names)
	for i := range next {
		for k := range next[i] {
			next[i][k] = draw()
		}
	}
	at := 0
	for range g.opt.Kernels {
		if walk && g.IntN(10) > 0 {
			at = next[at][g.IntN(4)]
		} else {
			at = draw()
		}
		g.kernel(ids[at])
	}
}
