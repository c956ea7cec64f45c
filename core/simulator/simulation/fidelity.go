package simulation

import (
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/simulator/simt"
)

// Fidelity says how far the answer of a launch can be trusted. What is not named in it is exact, bit for bit; what the simulator does not
// execute ends a launch with an error.
type Fidelity struct {
	Exact        bool           `json:"exact"`        // nothing was approximated
	Approximated []Approximated `json:"approximated"` // by instruction and line
	Decides      []Decision     `json:"decides"`      // where values that may come from these decided something
	More         int            `json:"more"`         // of both, beyond those listed
}

// Approximated is an instruction whose results may differ from a GPU's.
type Approximated struct {
	Instruction string `json:"instruction"` // "ex2.approx.ftz.f32"
	How         string `json:"how"`
	File        string `json:"file,omitempty"` // in the user's code
	Line        uint32 `json:"line,omitempty"`
	Count       uint64 `json:"count"` // executions by warps
}

// Decision is what values decided that may come from approximations.
type Decision struct {
	Use         string   `json:"use"` // "address" | "branch" | "predicate" | "barrier"
	Instruction string   `json:"instruction"`
	File        string   `json:"file,omitempty"`
	Line        uint32   `json:"line,omitempty"`
	Count       uint64   `json:"count"`
	From        []string `json:"from"` // the instructions that approximate
}

// maxFidelity bounds each list.
const maxFidelity = 100

// fidelity puts what happened at one line together: loops that a compiler unrolled have an instruction many times.
func fidelity(f *simt.Fidelity) Fidelity {
	doc := Fidelity{Exact: len(f.Approximated) == 0, Approximated: []Approximated{}, Decides: []Decision{}}
	for _, a := range f.Approximated {
		file, line := placeOf(a.Where)
		at := slices.IndexFunc(doc.Approximated, func(b Approximated) bool { return b.Instruction == a.Text && b.File == file && b.Line == line })
		switch {
		case at >= 0:
			doc.Approximated[at].Count += a.Count
		case len(doc.Approximated) == maxFidelity:
			doc.More++
		default:
			doc.Approximated = append(doc.Approximated, Approximated{Instruction: a.Text, How: a.How, File: file, Line: line, Count: a.Count})
		}
	}
	for _, d := range f.Decides {
		if strings.HasPrefix(d.Function, ours) { // the recorder looks at values; the kernel goes the same way whatever it sees
			continue
		}
		file, line := placeOf(d.Where)
		at := slices.IndexFunc(doc.Decides, func(b Decision) bool { return b.Use == d.Use && b.File == file && b.Line == line && line > 0 })
		switch {
		case at >= 0:
			doc.Decides[at].Count += d.Count
			for _, from := range d.From {
				if !slices.Contains(doc.Decides[at].From, from) {
					doc.Decides[at].From = append(doc.Decides[at].From, from)
				}
			}
		case len(doc.Decides) == maxFidelity:
			doc.More++
		default:
			doc.Decides = append(doc.Decides, Decision{Use: d.Use, Instruction: d.Text, File: file, Line: line, Count: d.Count, From: d.From})
		}
	}
	return doc
}

func placeOf(where []site.Frame) (file string, line uint32) {
	if at := site.User(where); at != nil {
		return at.File, at.Line
	}
	return "", 0
}
