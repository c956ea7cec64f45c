package api

import (
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/observe/arena"
	"github.com/prlx-go/prlx/core/recording/origin"
	"github.com/prlx-go/prlx/core/recording/recorder"
	"github.com/prlx-go/prlx/core/recording/warptrace"
	"github.com/prlx-go/prlx/core/simulator/device"
	"github.com/prlx-go/prlx/core/simulator/ptx"
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
	Arch       string          `json:"arch"`        // "sm_90", "gfx942"
	ArchNumber uint32          `json:"arch_number"` // 90; of GPUs of AMD 0
	Code       string          `json:"code"`        // what was compiled: PTX, or assembly of AMD; "" not known
	Names      []string        `json:"names"`       // of all parameters of the kernel, those that the compiler added included
	Arguments  []arenaArgument `json:"arguments"`   // those of the user, before the launch
	Arrays     []arenaArray    `json:"arrays"`      // that the launch may write
	Origin     *origin.Origin  `json:"origin"`      // null: no compiler of graphs made the kernel
	Held       []arenaHeld     `json:"held"`        // what the memory behind arguments held, ascending by id; as far as somebody looked
	NotHeld    string          `json:"not_held"`    // why nobody looked, where that was asked for; "" nothing to say
}

// arenaArgument is an argument as whoever launches has it.
type arenaArgument struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`    // "*fp16", "i32"
	Bits    uint64   `json:"bits"`    // the value; of a pointer the address
	Shape   []uint64 `json:"shape"`   // absent: not known
	Strides []int64  `json:"strides"` // in elements
	Offset  uint64   `json:"offset"`  // bytes from where the memory of an array begins to its first element
	Special string   `json:"special"` // what the compiler took for granted of it, "" nothing
}

// arenaArray is an array where the kernel finds it.
type arenaArray struct {
	ID   uint32      `json:"id"`   // its place among the parameters
	Type string      `json:"type"` // "*fp16"
	Base uint64      `json:"base"` // what offsets in it count from
	At   [][2]uint64 `json:"at"`   // pieces of memory that belong to it: address and bytes
}

// arenaHeld is what the memory behind an argument held (runtime/device/contents.ptx).
type arenaHeld struct {
	ID              uint32 `json:"id"` // its place among the parameters
	Bytes           uint64 `json:"bytes"`
	Before          uint64 `json:"before"` // the launch: digest
	AddressesBefore uint64 `json:"addresses_before"`
	After           uint64 `json:"after"` // the launch
	AddressesAfter  uint64 `json:"addresses_after"`
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

type usedArenaRequest struct {
	requestLimits
	Address uint64 `json:"address"` // of the first bytes of an arena, in memory of this process
	Bytes   int    `json:"bytes"`   // so many
}

// usedArenaDocument never leaves the boundary.
type usedArenaDocument struct {
	Used [][2]uint64 `json:"used"` // parts of the arena: offset and bytes
}

// usedArena says which parts of an arena have something in them, so that no others need be brought from where a kernel wrote it.
func (c *Core) usedArena(_ *job.Job, r *usedArenaRequest) (*usedArenaDocument, error) {
	held, err := c.device.Pieces([]device.Memory{{Name: "the arena", Address: r.Address, Bytes: r.Bytes}})
	if err != nil {
		return nil, err
	}
	used, err := arena.Used(held[0].Bytes)
	return &usedArenaDocument{used}, err
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
	held, err := r.held(launch.Arguments)
	if err != nil {
		return nil, err
	}
	return recorder.Write(launch, &r.Record, a, held, r.NotHeld)
}

// held is what the memory behind arguments held after the launch. Of that before, the arguments take note: where addresses may be in it, it is
// another one in each run.
func (r *arenaRequest) held(arguments []warptrace.Argument) (list []warptrace.Held, err error) {
	for i := range r.Held {
		h := &r.Held[i]
		if int(h.ID) >= len(arguments) || i > 0 && h.ID <= r.Held[i-1].ID {
			return nil, fault.Usagef("held: argument %d is not there, or not behind the one before", h.ID)
		}
		of := &arguments[h.ID]
		if h.AddressesBefore == 0 {
			of.Before = h.Before
		}
		list = append(list, warptrace.Held{ID: h.ID, Name: of.Name, Type: of.Type, Bytes: h.Bytes, Digest: h.After, Addresses: h.AddressesAfter})
	}
	return list, nil
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
		Producer: "prlx " + Version, Origin: r.Origin,
	}
	if r.Code != "" {
		l.ModuleHash = recorder.ModuleHash(r.Code)
	}
	if r.ArchNumber != 0 && r.Code != "" { // nobody here reads the code of other GPUs
		l.Code = func() string { return ptx.Pack(r.Code) }
	}
	for i := range r.Arguments {
		l.Arguments = append(l.Arguments, r.Arguments[i].recorded())
	}
	return l
}

// recorded is the argument as recordings have it: addresses are left out, they change from run to run.
func (a *arenaArgument) recorded() warptrace.Argument {
	to := warptrace.Argument{Name: a.Name, Type: a.Type, Shape: a.Shape, Strides: a.Strides, Offset: a.Offset, Special: a.Special}
	if strings.HasPrefix(a.Type, "*") {
		to.Aligned = recorder.Alignment(a.Bits)
	} else {
		to.Value = recorder.ScalarText(a.Type, a.Bits)
	}
	return to
}

func (r *arenaRequest) arrays() []arena.Array {
	list := make([]arena.Array, len(r.Arrays))
	for i := range r.Arrays {
		a := &r.Arrays[i]
		list[i] = arena.Array{ID: a.ID, Base: a.Base, Width: warptrace.ElementBytes(a.Type)}
		for _, piece := range a.At {
			list[i].Pieces = append(list[i].Pieces, arena.Piece{From: piece[0], Bytes: piece[1]})
		}
	}
	return list
}
