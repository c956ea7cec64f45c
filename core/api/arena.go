package api

import (
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/observe/arena"
	"github.com/prlx-go/prlx/core/recording/origin"
	"github.com/prlx-go/prlx/core/recording/recorder"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/simulator/device"
)

// arenaRequest is about the arena of one launch of a kernel that records by itself, which somebody else launches: a driver of a GPU, or anyone who
// has the kernel. The same request prepares the arena before the launch and makes a recording of what is in it afterwards.
type arenaRequest struct {
	requestLimits
	Address uint64          `json:"address"` // of the arena, in memory of this process
	Bytes   int             `json:"bytes"`
	Record  recorder.Record `json:"record"`

	Kernel     string          `json:"kernel"`
	Launch     uint64          `json:"launch"` // its number in the session
	Grid       [3]uint32       `json:"grid"`
	Block      [3]uint32       `json:"block"`
	Cluster    [3]uint32       `json:"cluster"`
	Lanes      uint32          `json:"lanes"`       // of a warp: 32 or 64; 0: 32
	Arch       string          `json:"arch"`        // "sm_90"
	ArchNumber uint32          `json:"arch_number"` // 90
	Hash       string          `json:"hash"`        // of what was compiled
	Code       string          `json:"code"`        // what was compiled, as recordings hold it; "" none
	Names      []string        `json:"names"`       // of all parameters of the kernel, those that the compiler added included
	Arguments  []arenaArgument `json:"arguments"`   // those of the user, before the launch
	Arrays     []arenaArray    `json:"arrays"`      // that the launch may write
	Origin     *origin.Origin  `json:"origin"`      // null: no compiler of graphs made the kernel
}

// arenaArgument is an argument as recordings have it.
type arenaArgument struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`    // "*fp16", "i32"
	Value   string   `json:"value"`   // of a scalar, in text
	Digest  uint64   `json:"digest"`  // of an array: a hash over its contents, 0 not known
	Shape   []uint64 `json:"shape"`   // absent: not known
	Strides []int64  `json:"strides"` // in elements
	Offset  uint64   `json:"offset"`  // bytes from where the memory of an array begins to its first element
	Aligned uint64   `json:"aligned"` // the largest power of two up to 16 that divides the address, 0 not known
	Special string   `json:"special"` // what the compiler took for granted of it, "" nothing
	Points  uint64   `json:"points"`  // entries of a table of pointers
}

// arenaArray is an array where the kernel finds it.
type arenaArray struct {
	ID    uint32      `json:"id"`    // its place among the parameters
	Base  uint64      `json:"base"`  // what offsets in it count from
	Width uint32      `json:"width"` // bytes of its elements; 0: not known
	At    [][2]uint64 `json:"at"`    // pieces of memory that belong to it: address and bytes
}

// prepareArenaDocument never leaves the boundary.
type prepareArenaDocument struct {
	Front uint64 `json:"front"` // so many bytes at the beginning are what the kernel has to find; all others are zeros
	Warps uint64 `json:"warps"` // that there is room for
}

// prepareArena writes what a kernel finds in its arena, which must be zeros.
func (c *Core) prepareArena(_ *job.Job, r *arenaRequest) (*prepareArenaDocument, error) {
	a, err := c.arena(r, r.launch())
	if err != nil {
		return nil, err
	}
	if err := a.Prepare(r.arrays()); err != nil {
		return nil, err
	}
	doc := &prepareArenaDocument{}
	doc.Front, doc.Warps = a.Plan.Front(uint64(len(a.Memory)))
	return doc, nil
}

// collectArena makes a recording of what a kernel left in its arena.
func (c *Core) collectArena(_ *job.Job, r *arenaRequest) (*recorder.Recorded, error) {
	launch := r.launch()
	if err := r.Origin.Check(); err != nil {
		return nil, err
	}
	a, err := c.arena(r, launch)
	if err != nil {
		return nil, err
	}
	a.Plan.Arrays = r.arrays()
	return recorder.Write(launch, &r.Record, a)
}

// arena is that of a request.
func (c *Core) arena(r *arenaRequest, l *recorder.Launch) (*recorder.Arena, error) {
	if l.Lanes != 0 && l.Lanes != 32 && l.Lanes != 64 {
		return nil, fault.Usagef("a warp of %d lanes: expected 32 or 64", l.Lanes)
	}
	if len(r.Arrays) > device.MaxMemory {
		return nil, fault.New(fault.Limit, "the launch names %d arrays, at most %d are possible", len(r.Arrays), device.MaxMemory)
	}
	held, err := c.device.Pieces([]device.Memory{{Name: "the arena", Address: r.Address, Bytes: r.Bytes}})
	if err != nil {
		return nil, err
	}
	return recorder.NewArena(l, &r.Record, r.Names, held[0].Bytes)
}

func (r *arenaRequest) launch() *recorder.Launch {
	l := &recorder.Launch{
		Kernel: r.Kernel, Grid: r.Grid, Block: r.Block, Cluster: r.Cluster, Lanes: r.Lanes, Arch: r.Arch, ArchNumber: r.ArchNumber, Number: r.Launch,
		ModuleHash: r.Hash, Producer: "prlx " + Version, Origin: r.Origin,
	}
	if r.Code != "" {
		l.Code = func() string { return r.Code }
	}
	for i := range r.Arguments {
		l.Arguments = append(l.Arguments, warptrace.Argument(r.Arguments[i]))
	}
	return l
}

func (r *arenaRequest) arrays() []arena.Array {
	list := make([]arena.Array, len(r.Arrays))
	for i := range r.Arrays {
		a := &r.Arrays[i]
		list[i] = arena.Array{ID: a.ID, Base: a.Base, Width: a.Width}
		for _, piece := range a.At {
			list[i].Pieces = append(list[i].Pieces, arena.Piece{From: piece[0], Bytes: piece[1]})
		}
	}
	return list
}
