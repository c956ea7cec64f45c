package site

import (
	"strings"
	"testing"
)

func TestNamesOfCompilersAreReadable(t *testing.T) {
	long := "_Z" + strings.Repeat("9", maxMangled)
	for name, want := range map[string]string{
		"_Z12softmax_rowsPfPKfi": "softmax_rows",
		"_ZN3gpu6kernelIfEEvPT_": "gpu::kernel<float>",
		"softmax_kernel":         "softmax_kernel",
		"_fwd_kernel":            "_fwd_kernel",
		"_Zbroken":               "_Zbroken",
		"":                       "",
		long:                     long,
		"bent__fp32S60S__":       "bent__fp32S60S__",
	} {
		if got := Readable(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
