package cycletest

// Requests makes a recording of a server that serves one request after the other: one prefill step, then between least and most decode steps.
// The two kinds have the same kernels in front of and behind their layers, or their own, as the seed says; the truth has both. Behind a share of the
// requests, apart, stand kernels that never repeat.
func Requests(seed uint64, requests, least, most int, apart float64) *Case {
	g := newGenerator(seed*131+7, Options{})
	g.c.Family, g.c.Seed = "requests", seed
	n := g.between(7, 14)
	layers := g.between(16, 28)
	before, after := g.prologue(), g.epilogue()
	beforePrefill, afterPrefill := before, after
	if g.IntN(2) == 0 {
		beforePrefill, afterPrefill = g.prologue(), g.epilogue()
	}
	prefill := g.stepOf("prefill", beforePrefill, afterPrefill, times(g.layer("prefill", "prefill", n+g.between(0, 3)), layers))
	decode := g.stepOf("decode", before, after, times(g.layer("decode", "decode", n), layers))
	for range requests {
		g.step(prefill)
		for range g.between(least, most) {
			g.step(decode)
		}
		if g.Float64() < apart {
			for range g.between(40, 400) {
				g.serial++
				g.kernel(g.id(g.tag("void at::native::once_%d_kernel<float>", g.serial)))
			}
		}
	}
	return g.finish()
}
