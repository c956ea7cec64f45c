package combine

import (
	"fmt"
	"path/filepath"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/clocks/offsets"
)

// declareBeside takes offsets that are declared beside a solution that was measured. Which of the two a node's clock rests on is decided as
// between any sources.
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
	return nil
}

// sayDeclaredBeside says how many nodes have the clock that is declared beside a measured one.
func (t *task) sayDeclaredBeside(k *known) {
	if k.declared == nil {
		return
	}
	measured, declared := 0, 0
	for _, n := range t.nodes {
		if _, ok := k.declared.Node(n.Number); !ok || n == t.nodes[t.ref] {
			continue
		}
		switch n.Result.Method {
		case MethodDeclared:
			declared++
		case MethodProbes:
			measured++
		}
	}
	t.note("%s is given beside measured offsets: %d of its nodes have the measured clock, %d the declared one", filepath.Base(t.req.Declared), measured, declared)
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
