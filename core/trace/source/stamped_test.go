package source

import "testing"

func TestLinesAreOnTheClockThatStampedThem(t *testing.T) {
	for _, c := range []struct {
		onTracer      bool
		tracer, clock string
		want          bool
	}{
		{true, TracerROCm, "ROCm", true},
		{true, TracerROCm, "hsa", true},
		{true, TracerROCm, "CUPTI", false},
		{true, TracerROCm, "", true},
		{true, TracerCUPTI, "CUPTI", true},
		{true, TracerCUPTI, "rocm", false},
		{true, TracerTPU, "ROCm", false},
		{true, TracerTPU, "tracer", true},
		{true, AnyTracer, "ROCm", true},
		{true, AnyTracer, "CUPTI", true},
		{true, AnyTracer, "CLOCK_MONOTONIC", false},
		{true, TracerROCm, "CLOCK_BOOTTIME", false},
		{true, TracerCUPTI, "TSC", false},
		{true, AnyTracer, "my clock", false},
		{false, TracerROCm, "ROCm", false},
		{false, AnyTracer, "", false},
	} {
		l := &Line{OnTracer: c.onTracer, Tracer: c.tracer}
		if got := l.StampedBy(c.clock); got != c.want {
			t.Errorf("a line of %q (on a tracer: %v) and snapshots of %q: got %v", c.tracer, c.onTracer, c.clock, got)
		}
		if got := Stamps([]*Process{{Lines: []*Line{{}, l}}}, c.clock); got != c.want {
			t.Errorf("Stamps with %q: got %v", c.clock, got)
		}
	}
	for clock, want := range map[string]bool{"": true, "ROCm": true, "CLOCK_TAI": false, "tsc": false} {
		if IsTracer(clock) != want {
			t.Errorf("IsTracer(%q) is not %v", clock, want)
		}
	}
}
