package collective

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prlx-go/prlx/core/timeline/aligned"
	"github.com/prlx-go/prlx/core/timeline/source/xspace"
)

// planeKind is what a plane's events are.
type planeKind string

const (
	otherPlane planeKind = ""
	hostPlane  planeKind = aligned.PlaneHost       // operations of compiled programs on host threads, with their hlo_op
	kernels    planeKind = aligned.PlaneKernels    // kernels on streams, with the hlo_op that launched them
	operations planeKind = aligned.PlaneOperations // operations themselves, in a line of their own
)

// kindOf tells planes apart. A GPU plane whose kernels were not recorded has a line of operations, as TPU planes have.
func kindOf(p *xspace.Plane) planeKind {
	switch {
	case strings.HasPrefix(p.Name, xspace.PlaneHostCPU):
		return hostPlane
	case strings.HasPrefix(p.Name, "/device:TPU:"):
		return operations
	case !strings.HasPrefix(p.Name, "/device:"):
		return otherPlane
	}
	for i := range p.Lines {
		if l := &p.Lines[i]; l.Timed() > 0 && !derivedLine(l.Name) {
			return kernels
		}
	}
	return operations
}

const lineOfOperations = "XLA Ops"

// derivedLine reports whether a line of a device plane was made from the others by the profiler.
func derivedLine(name string) bool {
	switch name {
	case lineOfOperations, "Async XLA Ops", "XLA Modules", "XLA TraceMe", "Steps", "Framework Ops", "Framework Name Scope", "TensorFlow Ops",
		"TensorFlow Name Scope", "Source code", "Source Code", "Launch Stats":
		return true
	}
	return false
}

// holdsExecutions reports whether a line is one of those whose events are counted; the others repeat them.
func (k planeKind) holdsExecutions(l *xspace.Line) bool {
	switch k {
	case hostPlane:
		return true
	case kernels:
		return !derivedLine(l.Name)
	}
	return l.Name == lineOfOperations
}

// globalID returns the number of a TPU plane's core among all of the job's: its core_details stat has it as the global id of
// the chip (5) and of the core (6). Where the two differ it is not known which of them programs mean.
func globalID(p *xspace.Plane) (int64, bool) {
	st := p.Stat("core_details")
	if st == nil || st.Kind != xspace.StatBytes || int64(len(st.Bytes)) != st.Length {
		return 0, false
	}
	var id [2]int64
	for b := st.Bytes; len(b) > 0; {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return 0, false
		}
		if typ == protowire.VarintType && (num == 5 || num == 6) {
			v, _ := protowire.ConsumeVarint(b[n:])
			id[num-5] = int64(v)
		}
		m := protowire.ConsumeFieldValue(num, typ, b[n:])
		if m < 0 {
			return 0, false
		}
		b = b[n+m:]
	}
	return id[0], id[0] == id[1]
}

// deviceOf returns the ordinal in "/device:GPU:3", -1 for other planes.
func deviceOf(plane string) int32 {
	rest, ok := strings.CutPrefix(plane, "/device:")
	if !ok {
		return -1
	}
	_, num, _ := strings.Cut(rest, ":")
	var d int32
	if _, err := fmt.Sscanf(num, "%d", &d); err != nil || d < 0 {
		return 0
	}
	return d
}

// PlaneOf says of a plane of an XSpace what a mark keeps of it, its process and threads apart; ok is false where it holds no
// executions.
func PlaneOf(p *xspace.Plane) (out aligned.Plane, ok bool) {
	kind := kindOf(p)
	if kind == otherPlane {
		return out, false
	}
	out = aligned.Plane{Kind: string(kind), Device: deviceOf(p.Name)}
	if id, ok := globalID(p); ok {
		out.DeviceID = &id
	}
	return out, true
}

// HoldsExecutions reports whether the events of a line are executions: profilers repeat them in lines of their own making.
func HoldsExecutions(p *xspace.Plane, l *xspace.Line) bool { return kindOf(p).holdsExecutions(l) }

// ProgramsInMetadata reports whether the events of a line are executions whose program is named by the metadata that they share.
func ProgramsInMetadata(p *xspace.Plane, l *xspace.Line) bool {
	kind := kindOf(p)
	return kind == operations && kind.holdsExecutions(l)
}
