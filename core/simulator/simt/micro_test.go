package simt

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/execute"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// micro is a kernel of testdata/micro. Its masks were worked out by hand from the text: per warp, what passes every instruction
// that branches, stores, ends or looks at other lanes, as "name active" or, where lanes can decide, "name active/taken".
type micro struct {
	name  string
	block [3]uint32
	words int
	value func(t uint32) (word int, v uint32) // what thread t leaves; word -1: nothing
	more  func(t uint32) (word int, v uint32) // another word that it leaves
	warps [][]string
	alone bool // lanes do not see each other, so that one lane a warp does the same
}

var micros = []micro{
	{
		name: "lane0_idle", block: [3]uint32{32, 1, 1}, words: 32, alone: true,
		value: func(t uint32) (int, uint32) {
			if t == 0 {
				return 0, 7
			}
			return int(t), t + 100
		},
		warps: [][]string{{"bra ffffffff/00000001", "st ffffffff", "ret ffffffff"}},
	},
	{
		name: "nested", block: [3]uint32{32, 1, 1}, words: 32, alone: true,
		value: func(t uint32) (int, uint32) { return int(t), t/8 + 11 },
		warps: [][]string{{
			"bra ffffffff/ffff0000", "bra 0000ffff/0000ff00", "bra ffff0000/ff000000", "st ffffffff", "ret ffffffff",
		}},
	},
	{
		name: "early_exit", block: [3]uint32{32, 1, 1}, words: 32, alone: true,
		value: func(t uint32) (int, uint32) {
			if t&4 != 0 {
				return -1, 0
			}
			return int(t), 2 - t&1
		},
		warps: [][]string{{
			"ret ffffffff/f0f0f0f0", "bra 0f0f0f0f/05050505", "st 0a0a0a0a", "exit 0a0a0a0a", "st 05050505", "ret 05050505",
		}},
	},
	{
		name: "loop", block: [3]uint32{32, 1, 1}, words: 32, alone: true,
		value: func(t uint32) (int, uint32) { return int(t), (t & 3) * (t&3 + 1) / 2 },
		warps: [][]string{{
			"bra ffffffff/11111111", "bra eeeeeeee/cccccccc", "bra cccccccc/88888888", "bra 88888888/00000000", "st ffffffff", "ret ffffffff",
		}},
	},
	{
		name: "breaks", block: [3]uint32{32, 1, 1}, words: 32, alone: true,
		value: func(t uint32) (int, uint32) {
			n := uint32(0)
			for i := range uint32(4) {
				if i == t&3 {
					continue
				}
				if i > t>>2 {
					break
				}
				n++
			}
			return int(t), n
		},
		// Lanes that continue wait for those that do not, and nobody waits for lanes that broke out.
		warps: [][]string{{
			"bra ffffffff/11111111", "bra eeeeeeee/00000000", "bra ffffffff/ffffffff", // i = 0
			"bra ffffffff/22222222", "bra dddddddd/0000000d", "bra fffffff2/fffffff2", // i = 1
			"bra fffffff2/44444440", "bra bbbbbbb2/000000b2", "bra ffffff40/ffffff40", // i = 2
			"bra ffffff40/88888800", "bra 77777740/00000740", "bra fffff800/00000000", // i = 3
			"st ffffffff", "ret ffffffff",
		}},
	},
	{
		name: "switch", block: [3]uint32{32, 1, 1}, words: 32, alone: true,
		value: func(t uint32) (int, uint32) { return int(t), []uint32{11, 1, 20, 30}[t&3] },
		warps: [][]string{{"brx ffffffff", "add 33333333", "st ffffffff", "ret ffffffff"}},
	},
	{
		name: "divergent_call", block: [3]uint32{32, 1, 1}, words: 32, alone: true,
		value: func(t uint32) (int, uint32) {
			v := 3 * t
			if t%2 == 0 {
				v += 500
			}
			if t >= 12 {
				v += 1000
			}
			return int(t), v
		},
		warps: [][]string{{
			"bra ffffffff/fffff000",
			"call 00000fff", "bra 00000fff/00000555", "ret 00000aaa", "add 00000555", "ret 00000555",
			"call fffff000", "bra fffff000/55555000", "ret aaaaa000", "add 55555000", "ret 55555000", "add fffff000",
			"st ffffffff", "ret ffffffff",
		}},
	},
	{
		name: "mask2d", block: [3]uint32{8, 12, 1}, words: 96, alone: true,
		value: func(t uint32) (int, uint32) {
			if t%8 < 5 && t/8 < 7 {
				return int(t), 1
			}
			return -1, 0
		},
		warps: [][]string{
			{"bra ffffffff/e0e0e0e0", "bra 1f1f1f1f/00000000", "st 1f1f1f1f", "ret ffffffff"},
			{"bra ffffffff/e0e0e0e0", "bra 1f1f1f1f/1f000000", "st 001f1f1f", "ret ffffffff"},
			{"bra ffffffff/e0e0e0e0", "bra 1f1f1f1f/1f1f1f1f", "ret ffffffff"},
		},
	},
	{
		name: "shuffle", block: [3]uint32{32, 1, 1}, words: 32,
		value: func(t uint32) (int, uint32) {
			if t < 16 {
				return int(t), (t^1)*100 + t
			}
			return int(t), t
		},
		warps: [][]string{{"bra ffffffff/ffff0000", "shfl 0000ffff", "activemask ffffffff", "st ffffffff", "ret ffffffff"}},
	},
	{
		name: "atomics", block: [3]uint32{32, 1, 1}, words: 33,
		value: func(t uint32) (int, uint32) {
			if t%3 != 0 {
				return -1, 0
			}
			sum := uint32(0)
			for i := uint32(0); i < t; i += 3 {
				sum += i
			}
			return int(t) + 1, sum
		},
		warps: [][]string{{"bra ffffffff/b6db6db6", "atom 49249249", "st 49249249", "ret ffffffff"}},
	},
	{
		name: "shared", block: [3]uint32{64, 1, 1}, words: 64,
		value: func(t uint32) (int, uint32) {
			if t%32 == 0 {
				return int(t), 63 - t + 1000
			}
			return int(t), 63 - t
		},
		warps: [][]string{
			{"st ffffffff", "bar ffffffff", "bar ffffffff", "bra ffffffff/fffffffe", "st 00000001", "st ffffffff", "ret ffffffff"},
			{"st ffffffff", "bar ffffffff", "bar ffffffff", "bra ffffffff/fffffffe", "st 00000001", "st ffffffff", "ret ffffffff"},
		},
	},
	{
		name: "shortcut", block: [3]uint32{48, 1, 1}, words: 48, alone: true,
		value: func(t uint32) (int, uint32) {
			if t > 3 && t < 20 || t == 30 {
				return int(t), 1
			}
			return int(t), 0
		},
		warps: [][]string{
			{
				"bra ffffffff/0000000f", "bra fffffff0/000ffff0", "bra fff0000f/bff0000f", "st ffffffff", "ret ffffffff",
			},
			{"bra 0000ffff/00000000", "bra 0000ffff/00000000", "bra 0000ffff/0000ffff", "st 0000ffff", "ret 0000ffff"},
		},
	},
	{
		name: "way_out_trap", block: [3]uint32{32, 1, 1}, words: 32,
		value: func(t uint32) (int, uint32) {
			if o := t ^ 1; o > 10 {
				return int(t), 3 * o
			}
			return int(t), t ^ 1 + 1
		},
		warps: [][]string{{"bra ffffffff/000007ff", "bra fffff800/00000000", "shfl ffffffff", "st ffffffff", "ret ffffffff"}},
	},
	{
		name: "way_out_return", block: [3]uint32{32, 1, 1}, words: 32 + 28,
		value: func(t uint32) (int, uint32) {
			switch o := t ^ 1; {
			case t > 27:
				return int(t), 7777
			case o > 3:
				return int(t), 3 * o
			default:
				return int(t), o + 1
			}
		},
		more: func(t uint32) (int, uint32) {
			switch {
			case t > 27:
				return -1, 0
			case t > 3:
				return int(t + 32), 3 * t
			}
			return int(t + 32), 7
		},
		warps: [][]string{{
			"bra ffffffff/0000000f", "bra fffffff0/0ffffff0", "st f0000000", "st 0000000f", "st 0ffffff0",
			"shfl 0fffffff", "st 0fffffff", "ret ffffffff",
		}},
	},
	{
		name: "way_out_loop", block: [3]uint32{32, 1, 1}, words: 64,
		value: func(t uint32) (int, uint32) {
			switch o := t ^ 2; {
			case t >= 7 && t <= 9:
				return int(t), 9 - t
			case o == 9:
				return int(t), 0 // what lane 9 held when it left in the first pass
			case o == 8:
				return int(t), 2
			case o == 7:
				return int(t), 2
			case t&1 != 0:
				return int(t), 3
			}
			return int(t), 26
		},
		more: func(t uint32) (int, uint32) {
			if t&1 != 0 {
				return -1, 0
			}
			return int(t + 32), 5
		},
		// Lanes 9, 8 and 7 leave in the passes 0, 1 and 2.
		warps: [][]string{{
			"bra ffffffff/00000000", "bra ffffffff/00000200", "bra fffffdff/aaaaa8aa", "st 55555555", "st 00000200",
			"bra fffffdff/00000000", "bra fffffdff/00000100", "bra fffffcff/aaaaa8aa", "st 55555455", "st 00000100",
			"bra fffffcff/00000000", "bra fffffcff/00000080", "bra fffffc7f/aaaaa82a", "st 55555455", "st 00000080",
			"bra fffffc7f/fffffc7f", "shfl fffffc7f", "st fffffc7f", "ret ffffffff",
		}},
	},
	{
		name: "way_out_call", block: [3]uint32{32, 1, 1}, words: 32,
		value: func(t uint32) (int, uint32) {
			switch o := t ^ 3; {
			case t < 4 && t&1 == 0:
				return int(t), 9999
			case t > 27 && t&1 != 0:
				return -1, 0
			case t == 28 || t == 30: // the other lane is gone
				return int(t), 0
			case t == 1 || t == 3:
				return int(t), 0
			case o&1 == 0:
				return int(t), 1
			case o < 8:
				return int(t), o + 200
			default:
				return int(t), o + 100
			}
		},
		warps: [][]string{{
			"bra ffffffff/55555555",
			"call aaaaaaaa", "bra aaaaaaaa/000000aa", "exit aaaaaa00/a0000000", "ret 0aaaaa00", "ret 000000aa",
			"bra 55555555/00000005", "call 00000005", "st 00000005", "exit 00000005", // what does not come back goes first
			"shfl 5ffffffa", "st 5ffffffa", "ret 5ffffffa",
		}},
	},
}

// witness writes down what warps pass.
type witness struct {
	k     *code.Kernel
	warps map[int][]string
	paths map[int]map[int][]string // by warp and lane: the branches that the lane passed and what it decided
}

func (s *witness) Wants(at int32) bool {
	switch in := &s.k.Code[at]; in.Kind {
	case code.KindBranch, code.KindSwitch, code.KindStore, code.KindAtomic, code.KindWarp, code.KindBarrier, code.KindCall, code.KindExit, code.KindReturn:
		return true
	case code.KindLane: // adds under divergence
		text := s.k.Text(at)
		return strings.HasPrefix(text, "add.s32 %r3, %r3, 1") && s.k.Name == "switch" ||
			strings.HasPrefix(text, "add.s32") && s.k.Name == "divergent_call"
	}
	return false
}

func (s *witness) Open(*execute.Block) execute.BlockObserver                          { return s }
func (s *witness) Close(context.Context, *execute.Block, execute.BlockObserver) error { return nil }
func (s *witness) Finish(*execute.Running, *Result) error                             { return nil }
func (s *witness) After(*execute.Block, *execute.Warp, int32, uint32, uint32) {
}

func (s *witness) Before(_ *execute.Block, w *execute.Warp, at int32, active, taken uint32) {
	in := &s.k.Code[at]
	o := s.k.Origin(at)
	name := o.PTX().Op.Name
	line := fmt.Sprintf("%s %08x", name, active)
	if in.Guard >= 0 {
		line += fmt.Sprintf("/%08x", taken)
	}
	s.warps[w.Index] = append(s.warps[w.Index], line)
	if s.paths[w.Index] == nil {
		s.paths[w.Index] = map[int][]string{}
	}
	for rest := active; rest != 0; rest &= rest - 1 {
		l := bits.TrailingZeros32(rest)
		s.paths[w.Index][l] = append(s.paths[w.Index][l], fmt.Sprintf("%s %d %d", name, o.Inst, taken>>l&1))
	}
}

// loadMicro reads a kernel of testdata/micro, the only one of its file.
func loadMicro(t testing.TB, name string) *Program {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "micro", name+".ptx"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Load(context.Background(), name+".ptx", text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const untouched = 0xdeadbeef

// launchMicro is the launch of a micro kernel on an array of its own.
func (m *micro) launch(data []byte) *Launch {
	return &Launch{
		Kernel: m.name, Grid: [3]uint32{1, 1, 1}, Block: m.block,
		Params: []Argument{{Name: "out", Type: "*i32", Bits: 0x10000, Allocation: 0}},
		Memory: []memory.Allocation{{Name: "out", Host: 0x10000, Bytes: data}},
	}
}

// run executes a micro kernel with some lanes of each warp only.
func (m *micro) run(t *testing.T, lanes uint32, options Options) (*witness, []byte, *Result) {
	t.Helper()
	p := loadMicro(t, m.name)
	k, err := p.bound(m.name)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 4*m.words)
	for i := range m.words {
		binary.LittleEndian.PutUint32(data[4*i:], untouched)
	}
	if m.name == "atomics" {
		binary.LittleEndian.PutUint32(data, 0)
	}
	l := m.launch(data)
	l.Options = options
	s := &witness{k: k, warps: map[int][]string{}, paths: map[int]map[int][]string{}}
	l.Options.Lanes = lanes
	result, err := execute.Run(nil, k, p.variables, l, s)
	if err != nil {
		t.Fatal(err)
	}
	return s, data, result
}

func TestMasksAreThoseWorkedOutByHand(t *testing.T) {
	for _, m := range micros {
		for _, seed := range []uint64{0, 1, 2} {
			t.Run(fmt.Sprintf("%s/seed %d", m.name, seed), func(t *testing.T) {
				s, data, result := m.run(t, ^uint32(0), Options{ScheduleSeed: seed})
				for w, want := range m.warps {
					if got := s.warps[w]; !slices.Equal(got, want) {
						t.Errorf("warp %d passed\n%s\nwant\n%s", w, strings.Join(got, "\n"), strings.Join(want, "\n"))
					}
				}
				for _, f := range result.Findings {
					t.Errorf("finding %s: %s: %s", f.Check, f.Text, f.Message)
				}
				want := m.expected()
				for i := range m.words {
					if got := binary.LittleEndian.Uint32(data[4*i:]); got != want[i] {
						t.Errorf("word %d is %d, want %d", i, got, want[i])
					}
				}
			})
		}
	}
}

// expected is the array that a micro kernel leaves.
func (m *micro) expected() []uint32 {
	want := make([]uint32, m.words)
	for i := range want {
		want[i] = untouched
	}
	for i := range m.block[0] * m.block[1] * m.block[2] {
		if word, v := m.value(i); word >= 0 {
			want[word] = v
		}
		if m.more == nil {
			continue
		}
		if word, v := m.more(i); word >= 0 {
			want[word] = v
		}
	}
	if m.name == "atomics" {
		want[0] = 0 + 3 + 6 + 9 + 12 + 15 + 18 + 21 + 24 + 27 + 30
	}
	return want
}

// Whatever masks a warp runs under, each lane goes its own way: it passes the same branches with the same decisions as when it
// is the only lane of its warp, and leaves the same.
func TestLanesDoWhatTheyWouldDoAlone(t *testing.T) {
	for _, m := range micros {
		if !m.alone {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			together, _, _ := m.run(t, ^uint32(0), Options{})
			for l := range 32 {
				alone, data, _ := m.run(t, 1<<l, Options{})
				for w := range m.warps {
					want, got := together.paths[w][l], alone.paths[w][l]
					if !slices.Equal(got, want) {
						t.Errorf("warp %d, lane %d alone passes %v, with others %v", w, l, got, want)
					}
					if len(alone.paths[w]) > 1 {
						t.Errorf("warp %d: %d lanes ran, want lane %d alone", w, len(alone.paths[w]), l)
					}
				}
				want := m.expected()
				for i := range m.block[0] * m.block[1] * m.block[2] {
					word, _ := m.value(i)
					if word < 0 || int(i%32) != l {
						continue
					}
					if got := binary.LittleEndian.Uint32(data[4*word:]); got != want[word] {
						t.Errorf("alone, lane %d leaves %d, with others %d", l, got, want[word])
					}
				}
			}
		})
	}
}
