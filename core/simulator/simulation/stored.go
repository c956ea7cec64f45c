package simulation

import (
	"cmp"
	"slices"

	"github.com/prlx-go/prlx/core/recording/observe/arena"
	"github.com/prlx-go/prlx/core/recording/recorder"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/simulator/simt"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/execute"
	"github.com/prlx-go/prlx/core/simulator/simt/sites"
)

// stored puts together what a kernel that records by itself wrote: its own sums of each warp and statement, and what the host sees of
// arrays, which bytes were written and what is in them.
type stored struct {
	recorder *recorder.Recorder
	arena    *recorder.Arena

	err     error
	numbers []uint32 // of the sites of the machine code: their numbers in the table
	outputs *warptrace.Outputs
}

// ours begins the names of the functions of the recorder.
const ours = "prlx_"

// recording asks the simulator for what it sees of arrays, and tells the kernel where they are.
func (s *stored) recording(asked *recorder.Record) *simt.Recording {
	return &simt.Recording{
		Mode: s.recorder.Mode(), Written: !asked.NoWritten, Only: true, Leave: ours, Apart: asked.Instrumented.Arena + 1, Keep: asked.Outputs, Warp: func(*warptrace.Warp) error { return nil },
		Arrays: func(places []simt.Place) { s.err = s.arena.Prepare(arraysOf(places)) },
		Outputs: func(o *warptrace.Outputs) error {
			s.outputs = o
			return cmp.Or(s.err, s.arena.Collect(s.recorder), s.written())
		},
		Contents: func(c *warptrace.Contents) error {
			for i := range c.Writers {
				c.Writers[i].Site = s.numberOf(c.Writers[i].Site)
			}
			return s.recorder.Contents(c)
		},
	}
}

// arraysOf are the arrays of a launch as an arena has them.
func arraysOf(places []simt.Place) []arena.Array {
	list := make([]arena.Array, len(places))
	for i, p := range places {
		list[i] = arena.Array{ID: p.ID, Base: p.Base, Width: p.ElementBytes, Pieces: []arena.Piece{{From: p.At[0], Bytes: p.Size}}}
		if p.At[1] != 0 {
			list[i].Pieces = append(list[i].Pieces, arena.Piece{From: p.At[1], Bytes: p.Size})
		}
	}
	return list
}

// observers learns the sites of the machine code. One that the table does not have may be the recorder's, and stand for its statement.
func (s *stored) observers(_ *code.Kernel, list *sites.List, who execute.Observer) execute.Observer {
	by := make(map[site.Key]uint32, len(s.arena.Table.Sites))
	for i := range s.arena.Table.Sites {
		by[s.arena.Table.Sites[i].Key] = uint32(i)
	}
	s.numbers = make([]uint32, len(list.Sites))
	for i := range list.Sites {
		n, ok := by[list.Sites[i].Key]
		if !ok {
			n, ok = s.statement(&list.Sites[i])
		}
		if s.numbers[i] = n; !ok {
			s.numbers[i] = warptrace.NoSite
		}
	}
	return who
}

// statement is the first site of the table of the kind and at the place of one.
func (s *stored) statement(one *site.Site) (uint32, bool) {
	at := slices.IndexFunc(s.arena.Table.Sites, func(t site.Site) bool { return t.Kind == one.Kind && slices.Equal(t.Chain, one.Chain) })
	return uint32(max(at, 0)), at >= 0 && (one.Kind == site.GlobalStore || one.Kind == site.Atomic)
}

func (s *stored) numberOf(machine uint32) uint32 {
	if int(machine) < len(s.numbers) {
		return s.numbers[machine]
	}
	return warptrace.NoSite
}

// finish takes what is in the arena where nobody asked for what was written.
func (s *stored) finish() error {
	if s.outputs != nil {
		return nil
	}
	return cmp.Or(s.err, s.arena.Collect(s.recorder))
}

// written writes what the launch wrote.
func (s *stored) written() error {
	s.arena.Stored(s.outputs)
	for i := range s.outputs.Findings {
		s.outputs.Findings[i].Site = s.numberOf(s.outputs.Findings[i].Site)
	}
	return s.recorder.Outputs(s.outputs)
}
