package combine

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
)

// TestRepairMovesClocksWithinTheirBounds: declared clocks that are wrong by less than their bound, and by more.
func TestRepairMovesClocksWithinTheirBounds(t *testing.T) {
	inputs, _, tr := jax(t, "p2")
	n := tr.Nodes[1]
	for name, c := range map[string]struct {
		wrong, bound int64
		repaired     bool
	}{"within": {600_000, 900_000, true}, "beyond": {600_000, 100_000, false}} {
		dir := t.TempDir()
		declared := put(t, dir, "clocks.toml", []byte(fmt.Sprintf("[nodes]\nnode0 = { offset_ns = 0 }\nnode1 = { offset_ns = %d, drift_ppm = %d, bound_ns = %d, at_ns = %d }\n",
			n.Offset+c.wrong, n.Drift/1000, c.bound, tr.Anchor)))
		doc := combined(t, 2, Request{Inputs: inputs, Declared: declared, Method: MethodDeclared, Repair: true, Output: filepath.Join(dir, "run")})
		r := doc.Repaired
		if r == nil || r.Before == 0 || len(r.Moved) != 1 || r.Moved[0].MayNS != c.bound {
			t.Fatalf("%s: %+v", name, r)
		}
		if by := r.Moved[0].ByNS; by <= 0 || by > c.bound {
			t.Errorf("%s: moved by %d ns within a bound of %d", name, by, c.bound)
		}
		if (r.After == 0) != c.repaired || (len(r.Left) == 0) != c.repaired {
			t.Errorf("%s: %d left, %d listed", name, r.After, len(r.Left))
		}
		if got, want := doc.Nodes[1].BoundNS.Max, c.bound+r.Moved[0].ByNS; got < want || got > want+10 {
			t.Errorf("%s: the bound is %d ns, want that of before and what it was moved by, %d", name, got, want)
		}
		if c.repaired && doc.Collectives.After.Violated != 0 {
			t.Errorf("%s: %+v", name, doc.Collectives.After)
		}
	}
	doc := combined(t, 2, Request{Inputs: inputs, Repair: true, Output: filepath.Join(t.TempDir(), "run")})
	if r := doc.Repaired; r == nil || r.Before != 0 || r.After != 0 || len(r.Moved) != 0 {
		t.Errorf("clocks by collectives need no repair: %+v", r)
	}
}

func TestWhereNothingCanBeRepairedThatIsSaid(t *testing.T) {
	inputs, _, _ := jax(t, "p2")
	no := false
	for want, req := range map[string]Request{
		"nothing was repaired: there is one node":     {Inputs: inputs[:1]},
		"nothing was repaired: no clock is corrected": {Inputs: inputs, ApplyAlignment: &no},
	} {
		req.Repair, req.Output = true, filepath.Join(t.TempDir(), "run")
		if doc := combined(t, 1, req); doc.Repaired != nil || !slices.Contains(doc.Warnings, want) {
			t.Errorf("%+v, warnings %q, want %q", doc.Repaired, doc.Warnings, want)
		}
	}
}
