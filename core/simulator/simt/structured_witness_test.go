package simt

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/execute"
)

// lineWitness writes down what one block passes, by line.
type lineWitness struct {
	k       *code.Kernel
	watched map[int]bool
	blocks  map[uint64]map[int][]passed
}

func (s *lineWitness) lineOf(at int32) int {
	in := s.k.Origin(at).PTX()
	if s.k.Code[at].Hidden || in == nil {
		return 0
	}
	return int(in.Line)
}

func (s *lineWitness) Wants(at int32) bool { return s.watched[s.lineOf(at)] }

func (s *lineWitness) Open(*execute.Block) execute.BlockObserver { return s }

func (s *lineWitness) Close(context.Context, *execute.Block, execute.BlockObserver) error { return nil }

func (s *lineWitness) Finish(*execute.Running, *Result) error                     { return nil }
func (s *lineWitness) After(*execute.Block, *execute.Warp, int32, uint32, uint32) {}
func (s *lineWitness) Before(b *execute.Block, _ *execute.Warp, at int32, active, taken uint32) {
	if s.blocks[b.Linear] == nil {
		s.blocks[b.Linear] = map[int][]passed{}
	}
	line := s.lineOf(at)
	s.blocks[b.Linear][line] = append(s.blocks[b.Linear][line], passed{active, taken})
}

// checkStructured runs one program both ways and says how they differ, "" not at all.
func checkStructured(t *testing.T, seed uint64) (difference, text string) {
	s := newStructured(seed)
	text = s.text.String()
	const grid = structuredGrid
	threads := []int{32, 32, 20, 5}[s.IntN(4)]
	watched := map[int]bool{}
	for _, f := range s.functions {
		for i := range f.ops {
			if line := f.ops[i].line; line != 0 {
				watched[line] = true
			}
		}
	}
	data := make([]byte, 4*(structuredCounter+grid*32*structuredWords+grid*32*structuredSpins))
	p := mustLoad(t, text)
	k, err := p.bound("k")
	if err != nil {
		return err.Error(), text
	}
	witness := &lineWitness{k: k, watched: watched, blocks: map[uint64]map[int][]passed{}}
	l := testLaunch(grid, uint32(threads), data, 0)
	l.Options.Workers, l.Options.MaxInstructions = 1, 10_000_000
	if s.spins { // fewer take less time; with too few, lanes give way in a loop around an atomic
		l.Options.Patience = 1000
	}
	r, err := execute.Run(nil, k, p.variables, l, witness)
	if err != nil {
		return err.Error(), text
	}
	found := map[foundAt]sight{}
	for _, f := range r.Findings {
		for _, function := range p.module.Functions {
			if function.Name == f.Function {
				found[foundAt{int(function.Insts[f.Inst].Line), f.Check}] = sight{f.Count, f.Lanes}
			}
		}
	}
	want := map[foundAt]sight{}
	for block := range grid {
		w := newTwinWarp(s, block, threads)
		w.run()
		for at, s := range w.found {
			if old, known := want[at]; known {
				s = sight{s.count + old.count, old.lanes}
			}
			want[at] = s
		}
		for line := range watched {
			got, want := witness.blocks[uint64(block)][line], w.passed[line]
			if s.form == scattered { // the order of two calls of a function is open
				slices.SortFunc(got, comparePassed)
				slices.SortFunc(want, comparePassed)
			}
			if s.form != scatteredLoops && !slices.Equal(got, want) {
				return fmt.Sprintf("block %d, line %d: passed %08x, want %08x", block, line, got, want), text
			}
		}
		if got := binary.LittleEndian.Uint32(data[4*block:]); got != w.counter {
			return fmt.Sprintf("block %d: counter %d, want %d", block, got, w.counter), text
		}
		for i := range w.words {
			for word, want := range w.words[i] {
				at := 4 * (structuredCounter + (block*32+i)*structuredWords + word)
				if got := binary.LittleEndian.Uint32(data[at:]); got != want {
					return fmt.Sprintf("block %d, lane %d, word %d: %08x, want %08x", block, i, word, got, want), text
				}
			}
		}
	}
	for at, want := range want {
		if found[at] != want {
			return fmt.Sprintf("line %d: %s %+v, want %+v", at.line, at.check, found[at], want), text
		}
	}
	if len(found) != len(want) {
		return fmt.Sprintf("findings %+v, want %+v", found, want), text
	}
	return "", text
}

func newTwinWarp(s *structured, block, threads int) *twinWarp {
	w := &twinWarp{passed: map[int][]passed{}, found: map[foundAt]sight{}, words: make([][structuredWords]uint32, threads)}
	entry := s.functions[len(s.functions)-1]
	for i := range threads {
		c := &cell{}
		for j := range c.r {
			c.r[j] = uint32((block*32+i)*structuredSeed(j) + j)
		}
		w.lanes = append(w.lanes, &twinLane{f: entry, number: i, cells: map[*structuredFunction]*cell{entry: c}, warp: w})
		w.born |= 1 << i
	}
	return w
}

// Programs made of blocks, loops, switches and calls, with ways out of all of them, do what each lane does that follows the source
// by itself; where lanes look at each other, those are there that the source brings there. PRLX_STRUCTURED_PROGRAMS says how many
// programs, and from which seed on: "1000000:5000". From 4294967296 on, programs have lanes that spin on what others of their warp write.
func TestStructuredProgramsAgreeWithLanesThatRunAlone(t *testing.T) {
	n, from := uint64(1500), uint64(0)
	if text := os.Getenv("PRLX_STRUCTURED_PROGRAMS"); text != "" {
		if _, err := fmt.Sscanf(text+":0", "%d:%d", &n, &from); err != nil {
			t.Fatalf("PRLX_STRUCTURED_PROGRAMS is %q: %v", text, err)
		}
	} else if testing.Short() {
		n = 100
	}
	var seeds []uint64
	for seed := from; seed < from+n; seed++ {
		seeds = append(seeds, seed)
	}
	if os.Getenv("PRLX_STRUCTURED_PROGRAMS") == "" {
		for seed := range n / 3 {
			seeds = append(seeds, structuredSpinSeeds+seed)
		}
	}
	wrong := 0
	for _, seed := range seeds {
		if difference, text := checkStructured(t, seed); difference != "" {
			t.Errorf("seed %d: %s", seed, difference)
			if wrong++; wrong == 1 {
				t.Logf("\n%s", numbered(text))
			}
			if wrong > 10 {
				t.FailNow()
			}
		}
	}
	t.Logf("%d programs", len(seeds))
}

// Programs in which the two sides once differed. In those from 100,000,000 on the twin made an operation of the way to the next pass of a
// loop where the text has none, and let lanes wait there and not at the head itself, where they go on with others that come to it. In
// those from 4304967296 on it was open when lanes that gave way have another turn; in the last two the simulator gave them one when a lane
// came to the joint return of the kernel, which counts as its end.
func TestStructuredProgramsThatDiffered(t *testing.T) {
	for _, seed := range []uint64{
		21529, 34678, 100022467, 100127727, 100135822, 100240930, 100263089, 100303801, 200000041,
		4304979902, 4305017085, 4305031354, 4305177065, 4400261476,
	} {
		if difference, text := checkStructured(t, seed); difference != "" {
			t.Errorf("seed %d: %s\n%s", seed, difference, numbered(text))
		}
	}
}

func numbered(text string) (out string) {
	line := 1
	for part := range strings.Lines(text) {
		out += strconv.Itoa(line) + "\t" + part
		line++
	}
	return out
}
