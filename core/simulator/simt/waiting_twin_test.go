package simt

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// pollWords is how many flags a program has, in the words of out; behind them come a lock and what is added under it.
const (
	pollWords  = 12
	pollLock   = pollWords
	pollSum    = pollWords + 1
	pollShared = 4 // flags of each block, in shared memory
)

// pollOp is one thing that a thread does.
type pollOp struct {
	kind   byte // 's' signal, 'w' wait, 'l' add under a lock, 'b' barrier of the block
	shared bool
	flag   int
	atLeast,
	way int // wait: how it looks
}

// polling is a random program: what each warp of each block does, one lane of it or all. Flags only grow and locks are given back, so whatever the
// order, the same threads come to the end, and the others wait at the same flags.
type polling struct {
	*rand.Rand
	blocks, warps int
	ops           [][]pollOp // by block and warp
	all           []bool     // likewise: all lanes
	label         int
}

// newPolling writes a program by an order in which its threads can do all of it; of most programs an operation is missing then, or one
// waits for more, so that some hang.
func newPolling(seed uint64) *polling {
	s := &polling{Rand: rand.New(rand.NewPCG(seed, 43))}
	s.blocks, s.warps = 1+s.IntN(6), 1+s.IntN(3)
	roles := s.blocks * s.warps
	s.ops = make([][]pollOp, roles)
	for range roles {
		s.all = append(s.all, s.IntN(4) == 0)
	}
	var words [pollWords]int
	shared := make([][pollShared]int, s.blocks)
	for range 6 * roles {
		role := s.IntN(roles)
		block := role / s.warps
		op := pollOp{shared: s.IntN(3) == 0, way: s.IntN(5), flag: s.IntN(pollWords)}
		count := &words[op.flag]
		if op.shared {
			op.flag %= pollShared
			count = &shared[block][op.flag]
		}
		switch n := s.IntN(12); {
		case n < 4:
			op.kind = 's'
			if *count++; s.all[role] {
				*count += 31
			}
		case n < 9:
			if op.kind, op.atLeast = 'w', *count; *count == 0 {
				continue
			}
		case n < 11:
			op.kind = 'l'
		default:
			op.kind = 'b'
			for w := range s.warps {
				if other := block*s.warps + w; other != role {
					s.ops[other] = append(s.ops[other], op)
				}
			}
		}
		s.ops[role] = append(s.ops[role], op)
	}
	if role := s.IntN(roles); s.IntN(8) > 0 && len(s.ops[role]) > 0 {
		at := s.IntN(len(s.ops[role]))
		if s.ops[role][at].kind == 'w' {
			s.ops[role][at].atLeast++
		} else {
			s.ops[role] = slices.Delete(s.ops[role], at, at+1)
		}
	}
	return s
}

// text is the program in PTX.
func (s *polling) text() string {
	var out strings.Builder
	put := func(format string, arguments ...any) { fmt.Fprintf(&out, format+"\n", arguments...) }
	put(".shared .align 4 .b8 flags[%d];\nmov.u32 %%r20, flags;\nmov.u32 %%r21, %%ctaid.x;\nshr.u32 %%r22, %%r31, 5;\nand.b32 %%r23, %%r31, 31;", 4*pollShared)
	put("mad.lo.u32 %%r24, %%r21, %d, %%r22;\nshl.b32 %%r1, %%r31, 2;\nadd.u32 %%r1, %%r1, %%r20;\nmov.u32 %%r2, 0;", s.warps)
	put("setp.lt.u32 %%p1, %%r31, %d;\n@%%p1 st.shared.u32 [%%r1], %%r2;\nbar.sync 0;", pollShared)
	for i := range s.ops {
		put("setp.eq.u32 %%p1, %%r24, %d;\n@%%p1 bra ROLE%d;", i, i)
	}
	put("bra END;")
	for i, ops := range s.ops {
		put("ROLE%d:", i)
		if !s.all[i] {
			put("setp.ne.u32 %%p1, %%r23, 0;\n@%%p1 bra END;")
		}
		for _, op := range ops {
			s.label++
			s.write(put, op)
		}
		put("bra END;")
	}
	put("END:")
	return entry(out.String())
}

func (s *polling) write(put func(string, ...any), op pollOp) {
	space, at := "global", fmt.Sprintf("%%rd1+%d", 4*op.flag)
	if op.shared {
		space, at = "shared", fmt.Sprintf("%%r20+%d", 4*op.flag)
	}
	switch op.kind {
	case 's':
		put("membar.gl;\natom.%s.add.u32 %%r3, [%s], 1;", space, at)
	case 'w':
		look := fmt.Sprintf([]string{
			"ld.volatile.%s.u32 %%r3, [%s];", "ld.acquire.gpu.%s.u32 %%r3, [%s];", "atom.%s.add.u32 %%r3, [%s], 0;", "atom.%s.cas.b32 %%r3, [%s], 0, 0;",
			"add.s32 %%r9, %%r9, 1;\nld.volatile.%s.u32 %%r3, [%s];",
		}[op.way], space, at)
		put("W%d:\n%s\nsetp.lt.u32 %%p2, %%r3, %d;\n@%%p2 bra W%d;", s.label, look, op.atLeast, s.label)
	case 'l':
		put("S%d:\natom.global.cas.b32 %%r3, [%%rd1+%d], 0, 1;\nsetp.ne.u32 %%p2, %%r3, 0;\n@%%p2 bra S%d;", s.label, 4*pollLock, s.label)
		put("ld.volatile.global.u32 %%r4, [%%rd1+%d];\nadd.u32 %%r4, %%r4, %%r24;\nadd.u32 %%r4, %%r4, 1;\nst.volatile.global.u32 [%%rd1+%d], %%r4;", 4*pollSum, 4*pollSum)
		put("membar.gl;\natom.global.exch.b32 %%r3, [%%rd1+%d], 0;", 4*pollLock)
	case 'b':
		put("barrier.sync 0;")
	}
}

// pollThread is a thread as the twin sees it: its operations and how far it is.
type pollThread struct {
	role, block, at int
	waits           bool // at a barrier
}

// outcome is what a program leaves: its words, and the flags at which threads wait for ever; -1 is a barrier, -2 a flag in shared memory.
type outcome struct {
	words []uint32
	waits []int
}

// run executes the program by threads that take one step each in turn, as long as any can.
func (s *polling) run() outcome {
	words, shared := make([]uint32, pollWords+2), make([][pollShared]uint32, s.blocks)
	var threads []*pollThread
	for role := range s.ops {
		lanes := 1
		if s.all[role] {
			lanes = 32
		}
		for range lanes {
			threads = append(threads, &pollThread{role: role, block: role / s.warps})
		}
	}
	for moved := true; moved; {
		moved = false
		for _, t := range threads {
			if t.at == len(s.ops[t.role]) || t.waits {
				continue
			}
			op := s.ops[t.role][t.at]
			flag := &words[op.flag]
			if op.shared {
				flag = &shared[t.block][op.flag]
			}
			switch op.kind {
			case 's':
				*flag++
			case 'w':
				if *flag < uint32(op.atLeast) {
					continue
				}
			case 'l':
				words[pollSum] += uint32(t.role) + 1
			case 'b':
				t.waits, moved = true, true
				continue
			}
			t.at++
			moved = true
		}
		for block := range s.blocks {
			left := slices.DeleteFunc(slices.Clone(threads), func(t *pollThread) bool { return t.block != block || t.at == len(s.ops[t.role]) })
			if len(left) == 0 || slices.ContainsFunc(left, func(t *pollThread) bool { return !t.waits }) {
				continue
			}
			for _, t := range left {
				t.waits, t.at, moved = false, t.at+1, true
			}
		}
	}
	waits := map[int]bool{}
	for _, t := range threads {
		switch {
		case t.at == len(s.ops[t.role]):
		case t.waits:
			waits[-1] = true
		case s.ops[t.role][t.at].shared:
			waits[-2] = true
		default:
			waits[s.ops[t.role][t.at].flag] = true
		}
	}
	return outcome{words, slices.Sorted(maps.Keys(waits))}
}

var (
	pollsText   = regexp.MustCompile(`polls? out\[(\d+)\]`)
	pollsShared = regexp.MustCompile(`polls? shared memory`)
	waitsText   = regexp.MustCompile(`at barrier 0`)
)

// simulated is what the simulator makes of a program.
func (s *polling) simulated(t *testing.T, text string, seed uint64) (outcome, error) {
	data := make([]byte, 4*(pollWords+2))
	l := testLaunch(uint32(s.blocks), uint32(32*s.warps), data, 0)
	l.Options.ScheduleSeed, l.Options.MaxInstructions, l.Options.NoRaces = seed%5, 3_000_000, true
	r, err := mustLoad(t, text).Run(nil, l)
	if err != nil {
		return outcome{}, err
	}
	waits := map[int]bool{}
	for _, f := range r.Findings {
		if f.Check != "deadlock" {
			return outcome{}, fmt.Errorf("a finding of another check: %s: %s", f.Check, f.Message)
		}
		if m := pollsText.FindStringSubmatch(f.Message); m != nil {
			flag, _ := strconv.Atoi(m[1])
			waits[flag] = true
		}
		if pollsShared.MatchString(f.Message) {
			waits[-2] = true
		}
		if waitsText.MatchString(f.Message) {
			waits[-1] = true
		}
	}
	return outcome{wordsOf(data), slices.Sorted(maps.Keys(waits))}, nil
}

// Programs whose threads wait for each other at flags, locks and barriers leave what threads leave that take one step at a time, and where some
// wait for ever, each flag at which they do is named and no other. PRLX_WAITING_PROGRAMS says how many programs, and from which on.
func TestProgramsThatPollAgreeWithThreadsThatStepInTurn(t *testing.T) {
	n, from := uint64(3000), uint64(0)
	if text := os.Getenv("PRLX_WAITING_PROGRAMS"); text != "" {
		if _, err := fmt.Sscanf(text+":0", "%d:%d", &n, &from); err != nil {
			t.Fatalf("PRLX_WAITING_PROGRAMS is %q: %v", text, err)
		}
	} else if testing.Short() {
		n = 200
	}
	hung, wrong := 0, 0
	for seed := from; seed < from+n && wrong < 5; seed++ {
		s := newPolling(seed)
		text := s.text()
		want := s.run()
		got, err := s.simulated(t, text, seed)
		if len(want.waits) > 0 {
			hung++
		}
		if err != nil || !slices.Equal(got.words, want.words) || !slices.Equal(got.waits, want.waits) {
			wrong++
			t.Errorf("seed %d: %v; words %v, waits at %v; want %v and %v\n%s", seed, err, got.words, got.waits, want.words, want.waits, text)
		}
	}
	t.Logf("%d programs, of which %d hang", n, hung)
	if n >= 1000 && (uint64(hung) < n/10 || uint64(hung) > n*9/10) {
		t.Errorf("%d of %d programs hang: the test is of one kind only", hung, n)
	}
}
