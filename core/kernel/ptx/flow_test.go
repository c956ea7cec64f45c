package ptx

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// slowPostDominators is the definition: of the blocks that every path from a block to the exit passes, the one that all others of
// them pass after it. A block that cannot reach the exit gets a way out if it is the last such block.
func slowPostDominators(succ [][]int32, ends []bool) []int32 {
	n := len(succ)
	leaves := slices.Clone(ends)
	// avoiding reports from which blocks the exit can be reached without passing a block; -1 passes any.
	avoiding := func(block int) []bool {
		ok := make([]bool, n)
		for changed := true; changed; {
			changed = false
			for v := range n {
				if v == block || ok[v] {
					continue
				}
				reach := leaves[v]
				for _, s := range succ[v] {
					reach = reach || ok[s]
				}
				if reach {
					ok[v], changed = true, true
				}
			}
		}
		return ok
	}
	for {
		ok := avoiding(-1)
		last := -1
		for v := range n {
			if !ok[v] {
				last = v
			}
		}
		if last < 0 {
			break
		}
		leaves[last] = true
	}
	dominates := make([][]bool, n) // [d][v]: d post-dominates v
	for d := range n {
		ok := avoiding(d)
		dominates[d] = make([]bool, n)
		for v := range n {
			dominates[d][v] = !ok[v]
		}
	}
	out := make([]int32, n)
	for v := range n {
		out[v] = -1
		for d := range n {
			if d == v || !dominates[d][v] {
				continue
			}
			nearest := true
			for e := range n {
				if e != v && e != d && dominates[e][v] && !dominates[e][d] {
					nearest = false
				}
			}
			if nearest {
				out[v] = int32(d)
			}
		}
	}
	return out
}

func TestPostDominatorsEqualTheirDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 3000 {
		n := 1 + r.IntN(14)
		succ, ends := make([][]int32, n), make([]bool, n)
		for v := range succ {
			for range r.IntN(4) {
				if s := int32(r.IntN(n)); !slices.Contains(succ[v], s) {
					succ[v] = append(succ[v], s)
				}
			}
			ends[v] = len(succ[v]) == 0 && r.IntN(8) > 0 || r.IntN(10) == 0
		}
		if got, want := postDominators(succ, ends), slowPostDominators(succ, ends); !slices.Equal(got, want) {
			t.Fatalf("round %d: %v, ends %v: %v, want %v", round, succ, ends, got, want)
		}
	}
}

func TestBlocksOfControlFlow(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"if and else": {`
	@%p1 bra ELSE;
	mov.u32 %r1, 1;
	bra.uni END;
ELSE:
	mov.u32 %r1, 2;
END:
	ret;`, "0-1 [2 1] 3; 1-3 [3] 3; 3-4 [3] 3; 4-5 [] -1"},
		"loop with a break": {`
TOP:
	add.s32 %r1, %r1, 1;
	@%p1 bra OUT;
	@!%p2 bra TOP;
OUT:
	ret;`, "0-2 [2 1] 2; 2-3 [0 2] 2; 3-4 [] -1"},
		"early return": {`
	@%p1 ret;
	bar.sync 0;
	ret;`, "0-1 [1] -1; 1-3 [] -1"},
		"guarded exit": {`
	@%p1 exit;
	mov.u32 %r1, 1;`, "0-1 [1] -1; 1-2 [] -1"},
		"trap ends": {`
	@%p1 bra BAD;
	ret;
BAD:
	trap;`, "0-1 [2 1] -1; 1-2 [] -1; 2-3 [] -1"},
		"labels that nobody names": {`
$L__tmp0:
	mov.u32 %r1, 1;
$L__tmp1:
	ret;
$L__func_end0:`, "0-2 [] -1"},
		"a branch to the end": {`
	@%p1 bra END;
	mov.u32 %r1, 1;
END:`, "0-1 [1] -1; 1-2 [] -1"},
		"a table of targets": {`
$L_brx_0: .branchtargets
	A,
	B,
	A;
	brx.idx %r1, $L_brx_0;
A:
	mov.u32 %r1, 1;
	bra.uni END;
B:
	mov.u32 %r1, 2;
END:
	ret;`, "0-1 [1 2] 3; 1-3 [3] 3; 3-4 [3] 3; 4-5 [] -1"},
		"a loop without a way out": {`
	@%p1 bra A;
	ret;
A:
	@%p2 bra B;
	mov.u32 %r1, 1;
B:
	bra A;`, "0-1 [2 1] -1; 1-2 [] -1; 2-3 [4 3] 4; 3-4 [4] 4; 4-5 [2] -1"},
		"both sides at one place": {`
	@%p1 bra NEXT;
NEXT:
	ret;`, "0-1 [1] 1; 1-2 [] -1"},
	} {
		f := body(t, c.text)
		parts := make([]string, len(f.Blocks))
		for i, b := range f.Blocks {
			parts[i] = fmt.Sprintf("%d-%d %v %d", b.First, b.End, b.Succ, b.PostDominator)
		}
		if got := strings.Join(parts, "; "); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
