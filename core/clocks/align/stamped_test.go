package align

import (
	"testing"

	"github.com/prlx-go/prlx/core/trace/clock"
	"github.com/prlx-go/prlx/core/trace/source"
)

// TestOnlyLinesOfTheNamedClockGoThroughIt: a node may have devices of two vendors, and readings are of one tracer's clock.
func TestOnlyLinesOfTheNamedClockGoThroughIt(t *testing.T) {
	of := func(tracer string) *source.Line {
		return &source.Line{OnTracer: true, Tracer: tracer, TimestampNS: 1_760_000_000_000_000_000}
	}
	processes := []*source.Process{{Name: "/device:GPU:0", Lines: []*source.Line{of(source.TracerROCm), of(source.TracerCUPTI), of(source.AnyTracer), of(source.TracerTPU)}}}
	shift := clock.Shift(1_760_000_000_000_000_000, 0)
	for name, want := range map[string][]Domain{
		"ROCm": {Tracer, Wall, Tracer, Wall}, "CUPTI": {Wall, Tracer, Tracer, Wall}, "": {Tracer, Tracer, Tracer, Tracer}, "CLOCK_MONOTONIC": {Wall, Wall, Wall, Wall},
	} {
		p := PlanLines(processes, 0, Clocks{Tracer: shift, TracerName: name}, HostTime)
		for i, l := range p.Lines[0] {
			if l.Domain != want[i] {
				t.Errorf("%q: line %d is on the %v clock, want %v", name, i, l.Domain, want[i])
			}
		}
	}
}
