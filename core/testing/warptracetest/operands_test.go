package warptracetest

import (
	"slices"
	"testing"

	"github.com/prlx-go/prlx/core/recording/site"
)

// each visits operands and what they are computed from.
func each(operands []site.Operand, visit func(o *site.Operand)) {
	for i := range operands {
		visit(&operands[i])
		each(operands[i].Inputs, visit)
	}
}

func TestOperandsSayWhereTheyComeFrom(t *testing.T) {
	programs(t, 8, func(t *testing.T, p *Program, l Launch, r *Recording) {
		seen := map[site.Origin]bool{}
		for i := range p.Sites().Len() {
			s := p.Sites().At(i)
			if s.Compare != site.NoCompare && (len(s.Operands) != 2 || s.Operands[0].Role != "lhs" || s.Operands[1].Role != "rhs") {
				t.Errorf("site %d compares %+v", i, s.Operands)
			}
			each(s.Operands, func(o *site.Operand) {
				seen[o.Origin] = true
				if o.Site == 0 {
					return
				}
				k, ok := p.Sites().ByKey(o.Site)
				want := map[site.Origin][]site.Kind{
					site.FromLoad: {site.Load, site.Predicate}, site.FromAtomic: {site.Atomic}, site.FromShuffle: {site.Value}, site.FromCall: {site.Value},
				}[o.Origin]
				if !ok || !slices.Contains(want, p.Sites().At(k).Kind) || o.Where != p.Sites().At(k).Where() {
					t.Errorf("site %d: operand %q of origin %d points at %+v", i, o.Name, o.Origin, o.Where)
				}
				if k >= i {
					t.Errorf("site %d: operand %q comes from site %d, which is later", i, o.Name, k)
				}
			})
		}
		for _, o := range []site.Origin{site.FromConstant, site.FromArgument, site.FromProgramID, site.FromLoad, site.FromCarried, site.FromShuffle, site.FromArith} {
			if !seen[o] {
				t.Errorf("no operand has origin %d", o)
			}
		}
	})
}

// What a compiler would see of a bug is in the table of the program that has it.
func TestBugsShowInOperands(t *testing.T) {
	for name, check := range map[string]func(before, after *site.Site) bool{
		"bound":   func(before, after *site.Site) bool { return before.Compare == cmpSLT && after.Compare == cmpSLE },
		"mask":    func(before, after *site.Site) bool { return before.Compare == cmpSLT && after.Compare == cmpSLE },
		"compare": func(before, after *site.Site) bool { return before.Compare == cmpSLT && after.Compare == cmpSGT },
		"uninit": func(before, after *site.Site) bool { // the value that it starts with is gone
			return len(before.Operands[1].Inputs) == 1 && len(after.Operands[1].Inputs) == 0 && after.Operands[1].Origin == site.FromCarried
		},
		"precision": func(before, after *site.Site) bool {
			halves := 0
			each(after.Operands, func(o *site.Operand) {
				if o.Type == "half" {
					halves++
				}
			})
			return halves == 1
		},
	} {
		p := NewProgram(Config{Seed: 4})
		buggy, err := p.WithBug(name)
		if err != nil {
			t.Fatal(err)
		}
		k := buggy.Bug.Sites[0]
		if before, after := p.Sites().At(k), buggy.Sites().At(k); !check(before, after) {
			t.Errorf("bug %s: before %+v\nafter %+v", name, *before, *after)
		}
	}
}

// A rebuilt program has the same sites on other lines: matching finds them all.
func TestSitesOfARebuiltProgramAreFound(t *testing.T) {
	for seed := range uint64(12) {
		a, b := NewProgram(Config{Seed: seed}), NewProgram(Config{Seed: seed, Comments: seed + 1})
		m := site.Match(a.Sites(), b.Sites(), site.MatchOptions{})
		moved := 0
		for i := range a.Sites().Len() {
			j, ok := m.AtoB(i)
			if !ok || j != i {
				t.Errorf("seed %d: site %d (%s) became site %d, %v", seed, i, site.FormatLocation(a.Sites().At(i)), j, ok)
			}
			if a.Sites().At(i).Key != b.Sites().At(i).Key {
				moved++
			}
		}
		if moved < a.Sites().Len()/2 {
			t.Errorf("seed %d: %d of %d sites moved", seed, moved, a.Sites().Len())
		}
	}
}
