package cycletest

// Experts makes a recording of a server whose layers launch the kernels of each expert that has tokens: between least and most experts a layer, other
// ones each time. No two steps have the same kernels; the truth has the steps all the same. Prefill steps stand between decode steps where asked for.
func Experts(seed uint64, steps, least, most int) *Case {
	g := newGenerator(seed*257+11, Options{})
	g.c.Family, g.c.Seed = "experts", seed
	layers := g.between(8, 32)
	before, after := g.prologue(), g.epilogue()
	attend := g.layer("moe", "decode", g.between(7, 12)).parts[0].kernels
	route := []uint32{g.id("void vllm::moe::topkGatingSoftmax<8, 64, 4, 16>"), g.id("void moe_align_block_size_kernel<int>")}
	expert := []uint32{g.id("sm90_xmma_gemm_bf16bf16_up_expert"), g.id("void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel>"), g.id("sm90_xmma_gemm_bf16bf16_down_expert")}
	gather := []uint32{g.id("void vllm::moe::moe_sum_kernel<c10::BFloat16, 4>")}
	for range steps {
		parts := []part{{kernels: before}}
		for range layers {
			kernels := append(append([]uint32{}, attend...), route...)
			for range g.between(least, most) {
				kernels = append(kernels, expert...)
			}
			parts = append(parts, part{kernels: append(kernels, gather...)})
		}
		parts = append(parts, part{kernels: after})
		g.step(&template{name: "step decode", phase: "decode", parts: parts, pauseNS: stepPause})
	}
	return g.finish()
}
