package simt

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// spinning writes a program in which lanes of a warp wait for each other in any nesting of branches and loops: they take turns with
// a lock, add under it with plain loads and stores, and wait for what others have counted. Whatever the order, the sums are the same.
type spinning struct {
	*rand.Rand
	text  strings.Builder
	label int
	sum   uint32 // of all lanes
	left  int
}

func (s *spinning) put(format string, arguments ...any) {
	fmt.Fprintf(&s.text, format+"\n", arguments...)
}

// block writes statements that some lanes of 32 execute.
func (s *spinning) block(depth int, lanes []uint32) {
	for range 1 + s.IntN(3) {
		if s.left--; s.left < 0 {
			return
		}
		s.label++
		label := s.label
		switch n := s.IntN(6); {
		case n < 2:
			s.locked(label, lanes, n == 0)
		case n < 4 && depth < 4:
			s.choice(label, depth, lanes)
		case n < 5 && depth < 3:
			passes := 1 + s.IntN(3)
			s.put("mov.u32 %%r%d, 0;\nL%d:", 10+depth, label)
			for range passes - 1 { // the passes that the text does not show
				s.sum += added(lanes)
			}
			s.locked(s.fresh(), lanes, true)
			s.put("add.s32 %%r%d, %%r%d, 1;\nsetp.lt.u32 %%p1, %%r%d, %d;\n@%%p1 bra L%d;", 10+depth, 10+depth, 10+depth, passes, label)
		default:
			s.put("add.s32 %%r9, %%r9, %%r31;")
		}
	}
}

func (s *spinning) fresh() int {
	s.label++
	return s.label
}

// added is what lanes add in one pass of a locked statement.
func added(lanes []uint32) (sum uint32) {
	for _, l := range lanes {
		sum += l + 1
	}
	return sum
}

// locked adds the number of a lane to a word, one lane at a time: with the lock taken in a loop of its own, or tried in one that
// does the work where it has it.
func (s *spinning) locked(label int, lanes []uint32, apart bool) {
	s.sum += added(lanes)
	work := "ld.volatile.global.u32 %r2, [%rd1+4];\nadd.s32 %r2, %r2, %r31;\nadd.s32 %r2, %r2, 1;\nst.volatile.global.u32 [%rd1+4], %r2;\nmembar.gl;\natom.global.exch.b32 %r1, [%rd1], 0;"
	if apart {
		s.put("S%d:\natom.global.cas.b32 %%r1, [%%rd1], 0, 1;\nsetp.ne.u32 %%p1, %%r1, 0;\n@%%p1 bra S%d;\n%s", label, label, work)
		return
	}
	s.put("S%d:\natom.global.cas.b32 %%r1, [%%rd1], 0, 1;\nsetp.ne.u32 %%p1, %%r1, 0;\n@%%p1 bra S%d;\n%s\nbra E%d;\nE%d:", label, label, work, label, label)
}

// choice writes a branch by a bit of the lane; at its end, one arm may wait for a lane of the other one.
func (s *spinning) choice(label, depth int, lanes []uint32) {
	bit := uint32(1) << s.IntN(5)
	var yes, no []uint32
	for _, l := range lanes {
		if l&bit != 0 {
			yes = append(yes, l)
		} else {
			no = append(no, l)
		}
	}
	waits := len(yes) > 0 && len(no) > 0 && s.IntN(2) == 0
	s.put("and.b32 %%r3, %%r31, %d;\nsetp.eq.u32 %%p2, %%r3, 0;\n@%%p2 bra N%d;", bit, label)
	s.block(depth+1, yes)
	flag := 8 + 4*label
	if waits {
		s.put("red.global.add.u32 [%%rd1+%d], 1;", flag)
	}
	s.put("bra J%d;\nN%d:", label, label)
	s.block(depth+1, no)
	if waits {
		s.put("W%d:\nld.volatile.global.u32 %%r4, [%%rd1+%d];\nsetp.ne.u32 %%p3, %%r4, %d;\n@%%p3 bra W%d;", label, flag, len(yes), label)
	}
	s.put("J%d:", label)
}

// Lanes that hold a lock, or that others wait for, go on wherever they are. PRLX_STRUCTURED_PROGRAMS asks for a hundredth of so many.
func TestRandomProgramsInWhichLanesWaitForEachOtherEnd(t *testing.T) {
	n := uint64(40)
	if text := os.Getenv("PRLX_STRUCTURED_PROGRAMS"); text != "" {
		if _, err := fmt.Sscanf(text, "%d", &n); err != nil {
			t.Fatalf("PRLX_STRUCTURED_PROGRAMS is %q: %v", text, err)
		}
		n = n/100 + 1
	}
	for seed := range n {
		s := &spinning{Rand: rand.New(rand.NewPCG(seed, 5)), left: 8}
		lanes := make([]uint32, 32)
		for l := range lanes {
			lanes[l] = uint32(l)
		}
		s.block(0, lanes)
		data := make([]byte, 1024)
		l := testLaunch(1, 32, data, 0)
		l.Options.ScheduleSeed, l.Options.MaxInstructions = seed%7, 50_000_000
		p := mustLoad(t, entry(s.text.String()))
		r, err := p.Run(nil, l)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, s.text.String())
		}
		if got := wordsOf(data); len(r.Findings) != 0 || got[0] != 0 || got[1] != s.sum {
			t.Fatalf("seed %d: lock %d, sum %d, want 0 and %d; findings %+v\n%s", seed, got[0], got[1], s.sum, r.Findings, s.text.String())
		}
	}
}
