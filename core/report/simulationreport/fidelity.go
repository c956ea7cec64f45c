package simulationreport

import (
	"fmt"
	"path"

	"github.com/prlx-go/prlx/core/diff/simulated"
	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/simulator/simulation"
)

// maxFidelity is how many instructions and decisions of a kernel a page lists, and how many refusals.
const maxFidelity = 20

// fidelityPart says how far the results of a kernel can be trusted.
type fidelityPart struct {
	Verdict      string
	Approximated []string
	Decides      []string
}

func fidelityOf(f *simulation.Fidelity) *fidelityPart {
	switch {
	case f == nil:
		return nil
	case f.Exact:
		return &fidelityPart{Verdict: "Exact: nothing was approximated."}
	}
	part := &fidelityPart{Verdict: "Approximated values decided no address, no branch, no predicate and no barrier: a GPU goes the same ways, whatever the last bits are."}
	if len(f.Decides) > 0 {
		part.Verdict = "Values that may come from approximations decided something: a GPU may go other ways."
	}
	for i := range f.Approximated {
		if a := &f.Approximated[i]; i < maxFidelity {
			part.Approximated = append(part.Approximated, clean(fmt.Sprintf("%s%s, %s: %s", a.Instruction, atPlace(a.File, a.Line), figure.Plural(a.Count, "time", "times"), a.How), maxText))
		}
	}
	for i := range f.Decides {
		if d := &f.Decides[i]; i < maxFidelity {
			part.Decides = append(part.Decides, clean(fmt.Sprintf("%s%s, %s: %s", article(d.Use), atPlace(d.File, d.Line), figure.Plural(d.Count, "time", "times"), d.Instruction), maxText))
		}
	}
	if more := f.More + max(len(f.Approximated)-maxFidelity, 0) + max(len(f.Decides)-maxFidelity, 0); more > 0 {
		part.Verdict += " " + figure.Plural(more, "more entry is", "more entries are") + " not shown."
	}
	return part
}

func atPlace(file string, line uint32) string {
	if line == 0 {
		return ""
	}
	return fmt.Sprintf(" at %s:%d", path.Base(file), line)
}

func article(use string) string {
	if use == "address" {
		return "an " + use
	}
	return "a " + use
}

// refused lists launches that were not executed.
func (p *page) refused(d *simulated.Document) {
	for i := range d.Refused {
		r := &d.Refused[i]
		if i == maxFidelity {
			p.Refused = append(p.Refused, figure.Plural(len(d.Refused)-i, "more", "more"))
			break
		}
		p.Refused = append(p.Refused, clean(fmt.Sprintf("%s, %s: %s", r.Kernel, figure.Plural(r.Count, "launch", "launches"), r.Message), maxText))
	}
}
