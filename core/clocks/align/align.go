// Package align decides, for one node, which clock map each line of its trace goes through, and counts what that does to its
// events.
//
// A trace mixes clocks. Host threads and network probes use the wall clock S of their node (CLOCK_REALTIME); on ROCm, device
// lines and the threads that report API callbacks use the tracer's clock R. Clock snapshots relate R to S, probe rounds or
// declarations relate S to the S of the reference node. So a line on S is mapped S -> reference and a line on R is mapped
// R -> S -> reference; which of the two a line is on is decided per line, never per plane, because XLA merges threads of both
// kinds into /host:CPU.
package align

import (
	"fmt"

	"github.com/prlx-go/prlx/core/trace/aligned"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// Domain is the clock that stamped a line.
type Domain uint8

// The domains.
const (
	Wall   Domain = iota // CLOCK_REALTIME of the node (S)
	Tracer               // the GPU tracer's clock (R)
)

// String returns "wall" or "tracer".
func (d Domain) String() string {
	if d == Tracer {
		return "tracer"
	}
	return "wall"
}

// Timebase is the clock that device lines end up on.
type Timebase uint8

// The time bases.
const (
	HostTime   Timebase = iota // every line on the reference node's wall clock
	TracerTime                 // lines on R go back to their node's R after correction (trace_alignment.md, 4.5.3)
)

// Clocks is what is known about the clocks of one node.
type Clocks struct {
	Tracer        *clock.Map // R -> S of this node; nil when there are no snapshots
	TracerName    string     // whose clock R is, as the snapshots name it; "" the tracer's, whichever it is
	StartTracerNS int64      // R at which offsets of lines on R begin; meaningful when Tracer is set
	Wall          *clock.Map // S of this node -> S of the reference; nil is the identity

	// Stated is, by plane, what a file that prlx has aligned before says of its own times. Where it is set, and Wall is not, nothing
	// moves.
	Stated []Stated
}

// Stated is what is known of the times of a plane that were put on the reference's clock before.
type Stated struct {
	Wall, Tracer *clock.Map // instants to themselves, with their bounds; Tracer of lines that were on the tracer's clock
	Lines        aligned.Lines
}

// stays reports whether the times of the file are left as they are.
func (c *Clocks) stays(processes int) bool {
	return c.Wall == nil && len(c.Stated) > 0 && len(c.Stated) == processes
}

// toReference returns the map of a line's clock onto the reference, with flags that tell snapshots from offsets.
func (c Clocks) toReference(d Domain, t Timebase) *clock.Map {
	wall, tracer := c.Wall.Straightened(), c.Tracer.Straightened()
	if d == Wall {
		return clock.Compose(nil, wall)
	}
	m := clock.Compose(tracer, wall)
	if t == TracerTime {
		m = clock.Compose(m, tracer.Inverse())
	}
	return m
}

func tracerReason(lines, hosts int) string {
	s := fmt.Sprintf("%d lines are on the tracer's clock", lines)
	if hosts > 0 {
		s += fmt.Sprintf(", %d of them host threads whose base equals that of the device lines", hosts)
	}
	return s
}
