package cycle

import (
	"math/rand/v2"
	"testing"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
)

// TestOneAttentionKernelForBothPhasesIsNoGuess: where both phases run the same kernels and a prompt takes about twice the time a layer, single
// tokens are not called a prefill, whichever of the two begins the recording.
func TestOneAttentionKernelForBothPhasesIsNoGuess(t *testing.T) {
	const layers = 16
	attention := []string{
		"void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4>, true>", "kernel_unified_attention_2d",
		"void cutlass::device_kernel<flash::FlashAttnFwdSm90<2, false>>",
	}
	for seed := range uint64(4) {
		for _, ratio := range []float64{2, 2.4, 3, 6} {
			for _, attend := range attention {
				for _, ahead := range []int{0, 7} { // decode steps in front of the first prompt
					r := rand.New(rand.NewPCG(seed, 5))
					layer := []string{
						"void vllm::rms_norm_kernel<c10::BFloat16>", "nvjet_tst_64x64_qkv", "void vllm::rotary_embedding_kernel<c10::BFloat16, true>",
						"void vllm::reshape_and_cache_flash_kernel<a>", attend, "nvjet_tst_64x64_out", "nvjet_tst_64x64_up", "void vllm::act_and_mul_kernel<x>", "nvjet_tst_64x64_down",
					}
					var names, truth []string
					var starts, durs []int64
					now := int64(1_000_000)
					step := func(phase string, times float64) {
						now += 80_000
						put := func(name string, us float64) {
							d := int64(us * 1000 * times * (0.97 + 0.06*r.Float64()))
							names, starts, durs = append(names, name), append(starts, now), append(durs, d)
							now += d + 1000
						}
						put("void at::native::vectorized_gather_kernel<16, long>", 4)
						for range layers {
							for i, name := range layer {
								put(name, float64(5+3*i))
							}
						}
						put("void vllm::final_norm", 4)
						put("void at::native::reduce_kernel<512, 1, at::native::ArgMaxOps<float>>", 6)
						truth = append(truth, phase)
					}
					for range ahead {
						step("decode", 1)
					}
					for range 6 {
						step("prefill", ratio)
						for range 8 + r.IntN(5) {
							step("decode", 1)
						}
					}
					d := mustFind(t, series(len(names), func(i int) (string, int64, int64) { return names[i], starts[i], durs[i] }), Options{}).Document()
					told := 0
					for _, l := range d.Levels {
						for i := range l.Classes {
							c := &l.Classes[i]
							if l.Name != cycledoc.LevelStep {
								continue
							}
							told++
							want := truth[int(c.Borders[0].First)/(len(layer)*layers+3)]
							if c.Phase != want && c.Phase != cycledoc.PhaseUnknown {
								t.Errorf("seed %d, %g times a layer, %d decode steps ahead, %.30s: %s is called %s %.2f: %s", seed, ratio, ahead, attend, want, c.Phase, c.PhaseScore, c.PhaseReason)
							}
						}
					}
					if told != 2 {
						t.Errorf("seed %d, %g times a layer, %d ahead: %d kinds of steps: %s", seed, ratio, ahead, told, d.Verdict)
					}
				}
			}
		}
	}
}
