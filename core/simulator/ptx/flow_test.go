package ptx

import (
	"fmt"
	"strings"
	"testing"
)

func TestBlocksOfControlFlow(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"if and else": {`
	@%p1 bra ELSE;
	mov.u32 %r1, 1;
	bra.uni END;
ELSE:
	mov.u32 %r1, 2;
END:
	ret;`, "0-1 [2 1] false; 1-3 [3] false; 3-4 [3] false; 4-5 [] true"},
		"loop with a break": {`
TOP:
	add.s32 %r1, %r1, 1;
	@%p1 bra OUT;
	@!%p2 bra TOP;
OUT:
	ret;`, "0-2 [2 1] false; 2-3 [0 2] false; 3-4 [] true"},
		"early return": {`
	@%p1 ret;
	bar.sync 0;
	ret;`, "0-1 [1] true; 1-3 [] true"},
		"guarded exit": {`
	@%p1 exit;
	mov.u32 %r1, 1;`, "0-1 [1] true; 1-2 [] true"},
		"trap ends": {`
	@%p1 bra BAD;
	ret;
BAD:
	trap;`, "0-1 [2 1] false; 1-2 [] true; 2-3 [] true"},
		"labels that nobody names": {`
$L__tmp0:
	mov.u32 %r1, 1;
$L__tmp1:
	ret;
$L__func_end0:`, "0-2 [] true"},
		"a branch to the end": {`
	@%p1 bra END;
	mov.u32 %r1, 1;
END:`, "0-1 [1] true; 1-2 [] true"},
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
	ret;`, "0-1 [1 2] false; 1-3 [3] false; 3-4 [3] false; 4-5 [] true"},
		"a loop without a way out": {`
	@%p1 bra A;
	ret;
A:
	@%p2 bra B;
	mov.u32 %r1, 1;
B:
	bra A;`, "0-1 [2 1] false; 1-2 [] true; 2-3 [4 3] false; 3-4 [4] false; 4-5 [2] false"},
		"both sides at one place": {`
	@%p1 bra NEXT;
NEXT:
	ret;`, "0-1 [1] false; 1-2 [] true"},
	} {
		f := body(t, c.text)
		parts := make([]string, len(f.Blocks))
		for i, b := range f.Blocks {
			parts[i] = fmt.Sprintf("%d-%d %v %v", b.First, b.End, b.Succ, b.Leaves)
		}
		if got := strings.Join(parts, "; "); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
