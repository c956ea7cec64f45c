package combine

import (
	"fmt"
	"path/filepath"

	"github.com/prlx-go/prlx/core/timeline/clockfile"
	"github.com/prlx-go/prlx/core/timeline/offsets"
)

// declareBeside takes offsets that are declared beside a solution that was measured: nodes that the measurements do not know have the
// declared clock, the others the measured one, and where the two contradict each other that is said.
func (t *task) declareBeside(k *known) error {
	f, err := t.readClockFile(t.req.Declared)
	if err != nil {
		return err
	}
	if f.Kind != clockfile.KindDeclared {
		return wrongKind(f, "declared offsets").WithPath(f.Path)
	}
	name := filepath.Base(f.Path)
	if t.req.Method == MethodProbes {
		t.note("%s is not used: the method is %s", name, MethodProbes)
		return nil
	}
	t.noteStrangers(f)
	ref := k.solution.Reference
	d, err := offsets.FromDeclared(f.Declared, t.numberOf, offsets.Options{})
	if err != nil {
		return withPath(err, f.Path)
	}
	if _, ok := d.Node(ref); !ok {
		t.warn("%s is not used: it says nothing of %s, on whose clock the measured offsets are", name, t.nameOf(ref))
		return nil
	}
	if d, err = d.Rebase(ref); err != nil {
		return withPath(err, f.Path)
	}
	t.doc.Warnings = append(t.doc.Warnings, d.Warnings...)
	k.declared = d
	t.compareDeclared(k, name)
	return nil
}

// compareDeclared says which clocks are used of which source, and where the sources contradict each other by more than both allow.
func (t *task) compareDeclared(k *known, name string) {
	measured, declared := 0, 0
	for i := range k.declared.Nodes {
		d := &k.declared.Nodes[i]
		m, both := k.solution.Node(d.Node)
		if d.Node == k.solution.Reference {
			continue
		}
		if !both {
			declared++
			continue
		}
		measured++
		if apart, allowed := disagreement(m, d); apart > allowed {
			t.warn("%s contradicts what was measured of %s: declared %+.3f ms, measured %+.3f ms, up to %.3f ms apart where both allow %.3f ms; the measured clock is used",
				name, t.nameOf(d.Node), float64(d.OffsetNS)/1e6, float64(m.OffsetNS)/1e6, float64(apart)/1e6, float64(allowed)/1e6)
		}
	}
	t.note("%s is given beside measured offsets: %d of its nodes have the measured clock, %d the declared one", name, measured, declared)
}

// disagreement is how far two clocks of a node lie apart where they do so most beyond what their bounds allow together: at the first
// of what was measured, in its middle and at the last.
func disagreement(measured, declared *offsets.NodeOffsets) (apart, allowed int64) {
	from, to, ok := measured.Map.Span()
	if !ok {
		return 0, 0
	}
	for i, at := range []int64{from, from + (to-from)/2, to} {
		y, b, _ := measured.Map.At(at)
		z, c, _ := declared.Map.At(at)
		d := max(y-z, z-y)
		if i == 0 || d-(b+c) > apart-allowed {
			apart, allowed = d, b+c
		}
	}
	return apart, allowed
}

// nameOf is what a node of the clock files is called: as its trace is, else by its number.
func (t *task) nameOf(number int) string {
	for _, n := range t.nodes {
		if n.Number == number {
			return n.ID
		}
	}
	return fmt.Sprintf("node%d", number)
}

// note puts what was decided, and is no reason to worry, into the document.
func (t *task) note(format string, args ...any) {
	t.doc.Notes = append(t.doc.Notes, fmt.Sprintf(format, args...))
}
