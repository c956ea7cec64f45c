package source

import "strings"

// The tracers that stamp lines with a clock of their own.
const (
	TracerROCm  = "ROCm"  // the clock of HSA and rocprofiler
	TracerCUPTI = "CUPTI" // that of cuptiGetTimestamp
	TracerTPU   = "TPU"
)

// AnyTracer names a clock of which no more is known than that it is the tracer's.
const AnyTracer = ""

// tracers are the names under which snapshots call the clock of a tracer, in lower case.
var tracers = map[string]string{
	"rocm": TracerROCm, "hsa": TracerROCm, "rocprofiler": TracerROCm, "rocprofiler-sdk": TracerROCm, "roctracer": TracerROCm,
	"cupti": TracerCUPTI, "tracer": AnyTracer, "": AnyTracer,
}

// IsTracer reports whether a clock, as snapshots name it, can have stamped lines. A clock of the kernel or of the processor has not: whatever
// a profiler read of it, the profiler has put on the wall clock by itself.
func IsTracer(clock string) bool {
	_, ok := tracers[strings.ToLower(clock)]
	return ok
}

// StampedBy reports whether the clock that snapshots name stamped the line. Lines of which only is known that a tracer stamped them are on
// every tracer's.
func (l *Line) StampedBy(clock string) bool {
	tracer, ok := tracers[strings.ToLower(clock)]
	return l.OnTracer && ok && (tracer == AnyTracer || l.Tracer == AnyTracer || l.Tracer == tracer)
}

// Stamps reports whether the clock that snapshots name stamped any line of the processes.
func Stamps(processes []*Process, clock string) bool {
	for _, p := range processes {
		for _, l := range p.Lines {
			if l.StampedBy(clock) {
				return true
			}
		}
	}
	return false
}
