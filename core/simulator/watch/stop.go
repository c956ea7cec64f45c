package watch

import (
	"cmp"
	"context"
	"math/bits"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/execute"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
)

// Place is a line of the source at which lanes are looked at.
type Place struct {
	File string `json:"file"` // its path, or the end of it
	Line uint32 `json:"line"`
	Lane *int   `json:"lane"` // nil: all lanes
}

// Stop is a warp that passes a line: what its lanes held when they had executed the instructions of the line.
type Stop struct {
	File   string    `json:"file"`
	Line   uint32    `json:"line"`
	Block  [3]uint32 `json:"block"`
	Warp   int       `json:"warp"` // in the block
	Pass   int       `json:"pass"` // of this warp through the line, from 0
	Active []int     `json:"active"`
	Values []Value   `json:"values"`

	number uint64 // of the block
}

// Value is what lanes held in one register.
type Value struct {
	Register    string      `json:"register"`    // as the PTX calls it; "" where it does not
	Instruction string      `json:"instruction"` // of the line, that made or took it
	Made        bool        `json:"made"`        // by the line; false: it came from elsewhere
	Type        string      `json:"type"`        // "s32", "f32", "ptr", "pred", "b32", ...
	Origin      string      `json:"origin"`      // "argument", "load", "program-id", "constant", "arith", "atomic", "lanes", "carried", "variable", "call"
	Results     [][]Outcome `json:"results"`     // lines whose outcome it is, innermost first, for each instruction that makes it; null: none is known
	Variable    string      `json:"variable"`    // that the source calls it; "": none was found. Who reads the source fills it in
	Name        string      `json:"name"`        // of the argument, the array that was loaded from, the special register
	Where       *Frame      `json:"where"`       // that made it; null: no line is known
	Array       string      `json:"array"`       // that addresses point into; lanes then hold offsets in bytes
	Bits        []uint64    `json:"bits"`        // of each lane of Lanes
	Lanes       []int       `json:"lanes"`
}

// Outcome is a line of the source that makes a value and does not take it itself.
type Outcome struct {
	File  string `json:"file"`
	Line  uint32 `json:"line"`
	Op    string `json:"op"`    // of the instruction that made it: "add"
	Steps bool   `json:"steps"` // it does take it, and only adds numbers of the text: other elements of what is laid out over lanes
}

// Frame is a line of the source.
type Frame struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     uint32 `json:"line"`
	Column   uint32 `json:"column"`
}

// Stops are all stops of a launch, in the order of blocks and warps.
type Stops struct {
	Stops  []Stop   `json:"stops"`
	More   int64    `json:"more"`   // beyond those that are kept
	Places []Place  `json:"places"` // that were asked for
	Absent []string `json:"absent"` // FILE:LINE of those that the kernel has no instruction of
}

const (
	stopMost    = 100 // stops that are kept unless more are asked for
	stopLimit   = 10_000
	valuesMost  = 256 // of a stop
	placesLimit = 64
)

// line is the instructions of one place.
type line struct {
	place  Place
	lanes  uint32
	takes  map[int32][]source // by instruction: registers that come from elsewhere
	makes  map[int32][]source // and those that it writes
	within map[int32]bool
}

// stop is the Observer.
type stop struct {
	kernel *code.Kernel
	lines  []*line
	most   int
	done   func(*Stops)

	mu   sync.Mutex
	seen []Stop
	more int64
}

// ObserveStops observes what lanes hold at lines of the source. At most so many stops are kept, 0: 100; the rest is counted. done gets them
// once all blocks have ended.
func ObserveStops(k *code.Kernel, l *execute.Launch, places []Place, most int, done func(*Stops)) execute.Observer {
	if most <= 0 {
		most = stopMost
	}
	s := &stop{kernel: k, most: min(most, stopLimit), done: done}
	origins := newOrigins(k, l)
	for _, p := range places[:min(len(places), placesLimit)] {
		s.lines = append(s.lines, origins.line(p))
	}
	return s
}

// at is whether a frame of a chain is the place, and which.
func (p *Place) at(chain []site.Frame) *site.Frame {
	for i := range chain {
		if f := &chain[i]; f.Line == p.Line && sameFile(f.File, p.File) {
			return f
		}
	}
	return nil
}

// sameFile takes the end of a path for the path, from a slash on.
func sameFile(full, end string) bool {
	full, end = path.Clean(strings.ReplaceAll(full, `\`, "/")), path.Clean(strings.ReplaceAll(end, `\`, "/"))
	return full == end || strings.HasSuffix(full, "/"+strings.TrimPrefix(end, "/"))
}

// Wants looks at the instructions of the lines.
func (s *stop) Wants(at int32) bool {
	for _, l := range s.lines {
		if l.within[at] {
			return true
		}
	}
	return false
}

// Open takes a block that begins.
func (s *stop) Open(b *execute.Block) execute.BlockObserver {
	return &stopBlock{of: s, open: make([]opened, b.Running.Warps*len(s.lines))}
}

// Close takes what was seen of a block.
func (s *stop) Close(_ context.Context, b *execute.Block, seen execute.BlockObserver) error {
	o := seen.(*stopBlock)
	for i := range o.open {
		o.end(i)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen, s.more = append(s.seen, o.seen...), s.more+o.more
	if len(s.seen) > 4*s.most {
		s.cut()
	}
	return nil
}

// cut keeps the first stops in the order of blocks, warps and passes, so that workers make no difference.
func (s *stop) cut() {
	slices.SortStableFunc(s.seen, func(a, b Stop) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.Warp, b.Warp), strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Pass, b.Pass))
	})
	if n := len(s.seen); n > s.most {
		s.more += int64(n - s.most)
		s.seen = slices.Clip(s.seen[:s.most])
	}
}

// Finish hands over what was seen.
func (s *stop) Finish(*execute.Running, *execute.Result) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut()
	out := &Stops{Stops: append([]Stop{}, s.seen...), More: s.more, Places: []Place{}, Absent: []string{}}
	for _, l := range s.lines {
		out.Places = append(out.Places, l.place)
		if len(l.within) == 0 {
			out.Absent = append(out.Absent, l.place.text())
		}
	}
	s.done(out)
	return nil
}

// stopBlock follows the warps of one block.
type stopBlock struct {
	of   *stop
	open []opened // by warp and line
	seen []Stop
	more int64
}

// opened is a stop under way.
type opened struct {
	stop   *Stop
	last   int32
	active uint32
	passes int
	kept   map[code.Register]bool
}

// end ends a stop under way.
func (o *stopBlock) end(i int) {
	if p := &o.open[i]; p.stop != nil {
		if len(o.seen) < o.of.most {
			o.seen = append(o.seen, *p.stop)
		} else {
			o.more++
		}
		p.stop = nil
	}
}

// Before keeps what an instruction takes from elsewhere. A line is passed again where one of its instructions comes again, or other lanes come.
func (o *stopBlock) Before(b *execute.Block, w *execute.Warp, at int32, active, taken uint32) {
	for n, l := range o.of.lines {
		if !l.within[at] || active&l.lanes == 0 {
			continue
		}
		i := w.Index*len(o.of.lines) + n
		p := &o.open[i]
		if p.stop != nil && (at <= p.last || p.active != active) {
			o.end(i)
		}
		if p.stop == nil {
			grid := b.Running.Request.Grid
			index := [3]uint32{
				uint32(b.Linear % uint64(grid[0])), uint32(b.Linear / uint64(grid[0]) % uint64(grid[1])), uint32(b.Linear / uint64(grid[0]) / uint64(grid[1])),
			}
			f := l.place.at(o.of.kernel.Where(at))
			p.stop = &Stop{File: f.File, Line: f.Line, Block: index, Warp: w.Index, Pass: p.passes, Active: lanesOf(active & l.lanes), Values: []Value{}, number: b.Linear}
			p.passes++
			p.active, p.kept = active, map[code.Register]bool{}
		}
		p.last = at
		for k := range l.takes[at] {
			s := &l.takes[at][k]
			if !p.kept[s.register] {
				p.kept[s.register] = true
				o.keep(b, w, p, s, active&l.lanes)
			}
		}
	}
}

// After keeps what an instruction made.
func (o *stopBlock) After(b *execute.Block, w *execute.Warp, at int32, _, taken uint32) {
	for n, l := range o.of.lines {
		p := &o.open[w.Index*len(o.of.lines)+n]
		if !l.within[at] || taken&l.lanes == 0 || p.stop == nil {
			continue
		}
		for k := range l.makes[at] {
			o.keep(b, w, p, &l.makes[at][k], taken&l.lanes)
		}
	}
}

// keep adds the value of a register to a stop.
func (o *stopBlock) keep(b *execute.Block, w *execute.Warp, p *opened, s *source, lanes uint32) {
	if len(p.stop.Values) >= valuesMost {
		return
	}
	v := s.value
	v.Lanes = lanesOf(lanes)
	v.Bits = make([]uint64, 0, len(v.Lanes))
	for _, l := range v.Lanes {
		v.Bits = append(v.Bits, bitsOf(w, s.register, l)&s.mask)
	}
	if s.register.Bank == lane.R64 {
		v.point(b.Running)
	}
	p.stop.Values = append(p.stop.Values, v)
}

func bitsOf(w *execute.Warp, r code.Register, l int) uint64 {
	switch r.Bank {
	case lane.R64:
		return w.Regs.R64[r.Index][l]
	case lane.P:
		return uint64(w.Regs.P[r.Index] >> l & 1)
	}
	return uint64(w.Regs.R32[r.Index][l])
}

// lanesOf lists the lanes of a mask.
func lanesOf(mask uint32) []int {
	lanes := make([]int, 0, bits.OnesCount32(mask))
	for ; mask != 0; mask &= mask - 1 {
		lanes = append(lanes, bits.TrailingZeros32(mask))
	}
	return lanes
}
