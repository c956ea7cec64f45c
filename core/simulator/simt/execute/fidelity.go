package execute

import (
	"slices"

	"github.com/prlx-go/prlx/core/simulator/simt/code"
)

// fidelity is what of a launch was approximated: of what the kernel could do that which it did.
func fidelity(k *code.Kernel, counts []count) (f Fidelity) {
	var ran uint64
	for i, a := range k.Approximations {
		n := timesApproximated(&a, counts)
		if n == 0 {
			continue
		}
		ran |= 1 << min(i, 63)
		f.Approximated = append(f.Approximated, Approximated{Text: a.Name, How: a.How, Where: k.Where(a.At), Count: n})
	}
	for _, a := range k.Arrivals {
		n := counts[a.At].issued
		if n == 0 || a.From&ran == 0 {
			continue
		}
		d := Decision{Use: a.Use.String(), Text: k.Text(a.At), Function: k.Origin(a.At).Function.Name, Where: k.Where(a.At), Count: n}
		for i, from := range k.Approximations {
			if a.From&ran>>min(i, 63)&1 != 0 && timesApproximated(&from, counts) > 0 && !slices.Contains(d.From, from.Name) {
				d.From = append(d.From, from.Name)
			}
		}
		f.Decides = append(f.Decides, d)
	}
	return f
}

// timesApproximated is how often an instruction gave a result that may differ from a GPU's.
func timesApproximated(a *code.Approximation, counts []count) uint64 {
	if a.Sometimes {
		return counts[a.At].approximated
	}
	return counts[a.At].issued
}
