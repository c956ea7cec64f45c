package gate

import (
	"testing"

	"github.com/prlx-go/prlx/core/fault"
)

func TestGatesAreReadAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]Gate{
		"step>3%":                        {Subject: "step", Share: 0.03},
		" step : decode* > 50 us":        {Subject: "step", Pattern: "decode*", NS: 50_000},
		"kernel:flash*>5%":               {Subject: "kernel", Pattern: "flash*", Share: 0.05},
		"kernel:vllm::paged*<bf16>>0.5%": {Subject: "kernel", Pattern: "vllm::paged*<bf16>", Share: 0.005},
		"idle>10%":                       {Subject: "idle", Share: 0.1},
		"layer>1.5ms":                    {Subject: "layer", NS: 1_500_000},
		"added":                          {Subject: "added"},
		"removed:gemm<64>":               {Subject: "removed", Pattern: "gemm<64>"},
		"step>0%":                        {Subject: "step"},
	} {
		got, err := Parse([]string{text})
		want.Text = text
		if err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%q: got %+v, %v, want %+v", text, got, err, want)
		}
	}
}

func TestWhatIsNoGateIsRefused(t *testing.T) {
	for _, text := range []string{"", "steps>3%", "step", "step>3", "step>x%", "step>-3%", "step>3%%", "step>1e99%", "kernel:>3%", "kernel:flash*", "added>3%", "idle:x>3%", "step>3%\x00", "step>3h"} {
		if got, err := Parse([]string{text}); !fault.Is(err, fault.Usage) {
			t.Errorf("%q: got %+v, %v", text, got, err)
		}
	}
	if _, err := Parse([]string{"added", "step>3%", "added"}); !fault.Is(err, fault.Usage) {
		t.Errorf("a gate twice: %v", err)
	}
}

func TestAPatternFitsANameAsAWhole(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"flash*", "void flash::flash_fwd_kernel<A<1>, true>(Params)", true},
		{"flash_fwd_kernel", "void flash::flash_fwd_kernel<A<1>, true>(Params)", true},
		{"flash::flash_fwd*", "void flash::flash_fwd_kernel<A<1>, true>", true},
		{"*true>", "void flash::flash_fwd_kernel<A<1>, true>", true},
		{"fwd*", "void flash::flash_fwd_kernel<A<1>, true>", false},
		{"flash", "flash_fwd", false},
		{"a/?/c", "a/b/c", true},
		{"a*c", "a/b/c", true},
		{"[ab]", "a", false},
		{"[ab]", "[ab]", true},
		{"", "anything", true},
	} {
		g := Gate{Pattern: c.pattern}
		if got := g.Takes(c.name); got != c.want {
			t.Errorf("%q of %q: got %v", c.pattern, c.name, got)
		}
	}
}
