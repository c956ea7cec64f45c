package llir

import (
	"strings"

	"github.com/prlx-go/prlx/core/fault"
)

// verify checks the structure of a text that was made of a module: it reads again, every function has the instructions that it had, in
// the same blocks, and between them nothing but ours, which refer to names that exist.
func (m *module) verify(text string) error {
	made, err := read(text)
	if err != nil {
		return err
	}
	by := make(map[string]*function, len(made.Functions))
	for _, f := range made.Functions {
		if by[f.Name] != nil {
			return fault.New(fault.Internal, "function %s is there twice", f.Name)
		}
		by[f.Name] = f
	}
	for _, f := range m.Functions {
		g := by[f.Name]
		if g == nil || len(g.Params) != len(f.Params) || len(g.Blocks) != len(f.Blocks) {
			return fault.New(fault.Internal, "function %s is not what it was", f.Name)
		}
		for b := range f.Blocks {
			if err := made.sameBlock(m, f, g, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// sameBlock checks a block of the text that was made.
func (m *module) sameBlock(before *module, f, g *function, b int) error {
	old, now := &f.Blocks[b], &g.Blocks[b]
	wrong := func(in *inst, what string) error {
		return fault.New(fault.Internal, "function %s, block %q: %s %s", f.Name, old.Label, what, in.Op)
	}
	if old.Label != now.Label {
		return fault.New(fault.Internal, "function %s: block %q became %q", f.Name, old.Label, now.Label)
	}
	k := old.First
	for i := now.First; i < now.End; i++ {
		in := &g.Insts[i]
		if strings.HasPrefix(in.Name, "%"+ours) || in.Op == "call" && strings.HasPrefix(callee(in), ours) {
			if in.Op == "call" && !m.declared[callee(in)] {
				return wrong(in, "nobody declares what is called by a")
			}
			if k < old.End && f.Insts[k].Op == "phi" {
				return wrong(in, "in front of a phi stands a")
			}
			if err := g.known(in); err != nil {
				return err
			}
			continue
		}
		if k >= old.End || m.whole(in) != before.whole(&f.Insts[k]) {
			return wrong(in, "changed is a")
		}
		k++
	}
	if k != old.End {
		return fault.New(fault.Internal, "function %s, block %q lost an instruction", f.Name, old.Label)
	}
	return nil
}

// whole is an instruction with everything that belongs to it.
func (m *module) whole(in *inst) string { return m.text[m.lines[in.line].from:m.lines[in.last].to] }

// known checks that the names which an instruction of ours uses are those of values.
func (f *function) known(in *inst) error {
	for rest := in.Rest; ; {
		i := strings.IndexByte(rest, '%')
		if i < 0 {
			return nil
		}
		n := i + 1 + localEnd(rest[i+1:])
		if _, ok := f.defined[rest[i:n]]; !ok {
			return fault.New(fault.Internal, "function %s: nothing is called %s", f.Name, rest[i:n])
		}
		rest = rest[n:]
	}
}
