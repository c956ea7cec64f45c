package watch_test

import (
	"fmt"
	"testing"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/simulator/simt"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/execute"
	"github.com/prlx-go/prlx/core/simulator/simt/sites"
	"github.com/prlx-go/prlx/core/simulator/watch"
)

// around is a loop around a sum, behind which an address is left of whose line only an offset is computed.
const around = `.version 8.0
.target sm_80
.address_size 64
.visible .entry around(.param .u32 n)
{
	.reg .pred %p<3>;
	.reg .b16 %h<3>;
	.reg .b32 %r<14>;
	.reg .b64 %rd<4>;
	.loc 1 20 1
	ld.param.u32 %r1, [n];
	mov.u32 %r2, %ctaid.x;
	.loc 1 21 1
	mov.u32 %r3, %tid.x;
	and.b32 %r4, %r3, 31;
	or.b32 %r5, %r4, 32;
	.loc 1 22 1
	mov.b32 %r6, 0;
	mov.b32 %r7, 0;
$loop:
	.loc 1 23 1
	setp.lt.u32 %p1, %r7, %r1;
	.loc 1 24 1
	mul.lo.s32 %r8, %r6, 3;
	add.s32 %r9, %r8, %r4;
	.loc 1 25 1
	add.s32 %r7, %r7, 1;
	mov.b32 %r6, %r9;
	.loc 1 26 1
	@%p1 bra $loop;
	.loc 1 27 1
	shl.b32 %r10, %r6, 2;
	cvt.s64.s32 %rd1, %r10;
	.loc 1 28 1
	mul.wide.s32 %rd2, %r10, 4;
	shl.b32 %r11, %r6, 3;
	.loc 1 29 1
	cvt.u16.u32 %h1, %r6;
	setp.eq.u32 %p2, %r11, 7;
	.loc 1 30 1
	mov.u32 %r12, %tid.y;
	.loc 1 31 1
	add.s32 %r13, %r12, 1;
	ret;
}
	.file 1 "/source/around.py"
`

func TestAValueKnowsTheLinesWhoseOutcomeItIs(t *testing.T) {
	p, err := simt.Load(t.Context(), "around.ptx", []byte(around))
	if err != nil {
		t.Fatal(err)
	}
	l := &simt.Launch{
		Kernel: "around", Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{32, 1, 1}, Options: simt.Options{Workers: 1},
		Params: []simt.Argument{{Name: "n", Type: "i32", Bits: 2, Allocation: -1}},
	}
	var seen *watch.Stops
	var places []watch.Place
	for line := uint32(20); line < 32; line++ {
		places = append(places, watch.Place{File: "around.py", Line: line})
	}
	_, err = p.Observe(job.New(t.Context(), job.Options{Workers: 1}), l, nil, func(k *code.Kernel, _ *sites.List, none execute.Observer) execute.Observer {
		return watch.All(none, watch.ObserveStops(k, l, places, 0, func(s *watch.Stops) { seen = s }))
	})
	if err != nil {
		t.Fatal(err)
	}
	for what, want := range map[string]string{
		"20 %r2 true":   "20 mov", // the number of the block
		"21 %r3 true":   "",
		"30 %r12 true":  "", // that of the thread is anybody's
		"31 %r13 true":  "31 add",
		"21 %r4 true":   "21 and, numbers added", // the line adds 32 to it
		"21 %r5 true":   "21 or",
		"23 %p1 true":   "23 setp", // the branch is at another line
		"24 %r8 true":   "",        // a step
		"24 %r9 true":   "24 add",  // the next pass takes a copy
		"24 %r6 false":  "24 add",  // carried around the loop; the zero in front of it is left out
		"25 %r7 true":   "25 add, numbers added",
		"27 %r10 true":  "27 shl", // and what is made wider of it
		"27 %rd1 true":  "27 shl",
		"28 %rd2 true":  "28 mul",
		"28 %r11 true":  "",       // narrower than what the line makes besides
		"29 %h1 true":   "29 cvt", // narrower than what it was
		"29 %r11 false": "",
	} {
		if got := outcomeOf(t, seen, what); got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
}

// outcomeOf spells the outcomes of a value: "24 %r9 true" is what line 24 made.
func outcomeOf(t *testing.T, seen *watch.Stops, what string) string {
	t.Helper()
	for _, s := range seen.Stops {
		for _, v := range s.Values {
			if fmt.Sprintf("%d %s %v", s.Line, v.Register, v.Made) != what {
				continue
			}
			text := ""
			for _, chain := range v.Results {
				for _, at := range chain {
					text += fmt.Sprintf("%d %s", at.Line, at.Op) + map[bool]string{true: ", numbers added"}[at.Steps]
				}
			}
			return text
		}
	}
	t.Fatalf("no value %s", what)
	return ""
}
