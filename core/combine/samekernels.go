package combine

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/nccl/operation"
	"github.com/prlx-go/prlx/core/trace/source"
)

// SameKernels is what the kernels of a library, seen by a profiler and by the library's own recording of the same process, say of their clocks.
type SameKernels struct {
	Recording string `json:"recording"` // node
	Trace     string `json:"trace"`     // node
	Verdict   string `json:"verdict"`   // agree, contradict, ambiguous, or not compared
	Because   string `json:"because"`   // why they were not compared; else ""
	Kernels   int    `json:"kernels"`   // that both show
	OffsetNS  int64  `json:"offset_ns"` // by how much later the trace has them
	BoundNS   int64  `json:"bound_ns"`  // how far off that can be
	MovedNS   int64  `json:"moved_ns"`  // by how much the recording was moved
}

// The values of SameKernels.Verdict.
const (
	kernelsAgree      = "agree"
	kernelsContradict = "contradict"
	kernelsAmbiguous  = "ambiguous"
	kernelsUnseen     = "not compared"
)

const (
	leastKernels   = 3       // that both must show
	mostTraced     = 256     // of the trace that are compared, from its first on
	mostExecuted   = 1 << 20 // of the recording
	mostCompared   = 1 << 26 // pairs
	leastAgreement = 0.95    // of kernels whose functions must be the same, and whose instants must fit
	sameWithinNS   = 20_000  // by how much profilers see the start of a kernel otherwise than the kernel itself
	tooFarNS       = 100_000 // the offsets of one alignment may be apart by so much at most
)

// compareKernels looks for the alignment of both sequences in which functions are the same and instants are apart by one offset.
func compareKernels(traced, executed []source.Execution) SameKernels {
	out := SameKernels{Verdict: kernelsUnseen}
	traced, executed = traced[:min(len(traced), mostTraced)], executed[:min(len(executed), mostExecuted)]
	if len(traced) < leastKernels || len(executed) < leastKernels {
		out.Because = "one of both shows too few kernels of NCCL"
		return out
	}
	n := min(len(traced), max(leastKernels, mostCompared/len(executed)))
	least := max(leastKernels, min(n, len(executed))/2) // that lie beside each other: one of both was recorded in a window of the other
	best, other := alignment{spread: math.MaxInt64}, alignment{spread: math.MaxInt64}
	for shift := -(n - least); shift <= len(executed)-least; shift++ {
		a, ok := laid(traced[:n], executed, shift)
		if !ok {
			continue
		}
		switch {
		case a.better(&best):
			best, other = a, best
		case a.better(&other):
			other = a
		}
	}
	if best.kernels == 0 {
		out.Because = "no stretch of both shows the same functions in one order"
		return out
	}
	out.Kernels, out.OffsetNS, out.BoundNS = best.kernels, best.offset, best.spread+best.bound
	if out.BoundNS += sameWithinNS; abs(out.OffsetNS) <= out.BoundNS {
		out.Verdict = kernelsAgree
		return out
	}
	out.Verdict = kernelsContradict
	if other.kernels*2 >= best.kernels && other.spread <= 4*best.spread+sameWithinNS {
		out.Verdict = kernelsAmbiguous
	}
	return out
}

// alignment is one way to lay two sequences beside each other.
type alignment struct {
	kernels       int
	offset        int64 // the median of the traced start less the executed one
	spread, bound int64 // how far the offsets of almost all are from it; how well the recording knows its own
}

// better prefers the alignment whose instants fit; of those that fit alike, the one that covers more, then the smaller offset.
func (a *alignment) better(b *alignment) bool {
	if b.kernels == 0 {
		return true
	}
	if fits, theirs := a.spread <= sameWithinNS, b.spread <= sameWithinNS; fits && theirs {
		if a.kernels*2 >= b.kernels && b.kernels*2 >= a.kernels {
			return abs(a.offset) < abs(b.offset)
		}
		return a.kernels > b.kernels
	}
	return cmp.Or(cmp.Compare(a.spread, b.spread), cmp.Compare(b.kernels, a.kernels)) < 0
}

// laid lays the first traced kernel beside the one at shift of those executed; false: their functions differ, or their distances.
func laid(traced, executed []source.Execution, shift int) (alignment, bool) {
	from, to := max(0, -shift), min(len(traced), len(executed)-shift)
	differ, most := 0, int(float64(to-from)*(1-leastAgreement))
	a := alignment{kernels: to - from}
	if a.kernels < leastKernels {
		return a, false
	}
	offsets := make([]int64, 0, a.kernels)
	for i := from; i < to; i++ {
		x, y := &traced[i], &executed[i+shift]
		if x.Function != y.Function || len(offsets) > 0 && abs(x.StartNS-y.StartNS-offsets[0]) > 2*tooFarNS {
			if differ++; differ > most {
				return a, false
			}
			continue
		}
		offsets = append(offsets, x.StartNS-y.StartNS)
		if y.BoundNS >= 0 {
			a.bound = max(a.bound, y.BoundNS)
		} else {
			a.bound = max(a.bound, operation.SeenNS)
		}
	}
	slices.Sort(offsets)
	a.offset = offsets[len(offsets)/2]
	for i, o := range offsets {
		offsets[i] = abs(o - a.offset)
	}
	slices.Sort(offsets)
	a.kernels = len(offsets)
	a.spread = offsets[int(float64(len(offsets)-1)*leastAgreement)]
	return a, a.spread <= tooFarNS && a.kernels >= leastKernels
}

func abs(ns int64) int64 {
	if ns < 0 {
		return -ns
	}
	return ns
}

// libraryFunction is the function of a kernel of NCCL or RCCL by its name, in the words of recordings, in lower case; "" where the name says none.
func libraryFunction(name string) string {
	lower := strings.ToLower(name)
	if !source.Communicates([]byte(lower)) {
		return ""
	}
	_, rest, ok := strings.Cut(lower, "kernel_")
	if !ok {
		return ""
	}
	function, _, _ := strings.Cut(rest, "_")
	function, _, _ = strings.Cut(function, "(")
	return oneKernel(function)
}

// oneKernel is the function whose kernel executes a function: several are made of sends and receives.
func oneKernel(function string) string {
	switch function = strings.ToLower(function); function {
	case "alltoall", "gather", "scatter", "send", "recv":
		return "sendrecv"
	}
	return function
}
