package device

import (
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/origin"
	"github.com/prlx-go/prlx/core/recording/recorder"
	"github.com/prlx-go/prlx/core/simulator/simt"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
	"github.com/prlx-go/prlx/core/simulator/simulation"
)

// Launch is one launch on the caller's memory.
type Launch struct {
	Module      int64     `json:"module"`
	Kernel      string    `json:"kernel"`
	Called      string    `json:"called"` // what people call the kernel; "": as the PTX does
	Launch      uint64    `json:"launch"` // its number in the session
	Grid        [3]uint32 `json:"grid"`
	Block       [3]uint32 `json:"block"`
	Cluster     [3]uint32 `json:"cluster"`
	SharedBytes uint64    `json:"shared_bytes"`
	Params      []Param   `json:"params"`
	Allocations []Memory  `json:"allocations"`
	Table       int64     `json:"table"` // of simulate_arrays: what else pointers may lead to; 0 none
	// Permutes the order of blocks and warps; 0 is ascending. Results that depend on it are races.
	Seed uint64 `json:"seed" takes:"number" default:"0" rare:"yes" group:"machine"`
	// End at the first finding. In Python the launch raises `FindingError`; without it a launch with findings ends with a
	// `FindingWarning`.
	Stop bool `json:"stop" takes:"switch" group:"checks"`
	// Report instructions that make a NaN of numbers.
	NaN bool `json:"nan" takes:"switch" rare:"yes" group:"checks"`
	// Look for races and uninitialised reads in shared memory.
	Races *bool `json:"races" takes:"switch" default:"true" off:"--no-races: do not look for races and uninitialised reads in shared memory" rare:"yes" group:"checks"`
	// Look for races between blocks in global memory, too. Blocks that meet there then run one after the other.
	GlobalRaces bool `json:"global_races" takes:"switch" rare:"yes" group:"checks"`
	// Look for races between lanes of one warp in shared memory, too.
	WarpRaces bool `json:"warp_races" takes:"switch" rare:"yes" group:"checks"`
	// Look for accesses beside the view of an array that was passed, too. Its shape and strides say which part of the array that is.
	Views bool `json:"views" takes:"switch" rare:"yes" group:"checks"`
	// Look for reads of arrays of the table that nobody has written.
	Uninitialised bool    `json:"uninitialised"`
	Freed         []Freed `json:"freed"` // what were arrays once
	// Look for instructions that a GPU may execute with a part of a warp, though they need all of it. They are `mma`, `wmma` and
	// `ldmatrix`.
	Convergence *bool `json:"convergence" takes:"switch" default:"true" off:"--no-convergence: do not look for instructions that a GPU may execute with a part of a warp" rare:"yes" group:"checks"`
	// Count instructions, branches and traffic per line.
	Counts *bool `json:"counts" takes:"switch" default:"true" off:"--no-counts: do not count per line" rare:"yes" group:"machine"`
	// Distinct findings that are kept of a launch. The rest is counted.
	MaxFindings int `json:"max_findings" takes:"whole" default:"1000" rare:"yes" group:"checks"`
	// Warp instructions after which a launch ends with an error; 0: no limit. The error names the line; 10^10 take minutes.
	MaxInstructions *uint64           `json:"max_instructions" takes:"number" unset:"10^10" rare:"yes" group:"machine"`
	Heap            uint64            `json:"heap"` // bytes that malloc takes from; 0: as they are, 8 MiB at first
	Record          *recorder.Record  `json:"record"`
	Watch           *simulation.Watch `json:"watch"`
	Origin          *origin.Origin    `json:"origin"` // null: no compiler of graphs made the kernel
}

// Param is one .param of the kernel.
type Param struct {
	Name       string   `json:"name"`
	Type       string   `json:"type"`
	Bits       uint64   `json:"bits"`
	Allocation int      `json:"allocation"` // index into allocations, -1 none, -2 the array of the table in which bits is an address, if there is one
	Data       []byte   `json:"data"`       // of a parameter of more than 8 bytes, all of it
	View       []uint64 `json:"view"`       // of a pointer: where the elements of its view begin and end; absent: not known
	Shape      []uint64 `json:"shape"`      // of the array that a pointer was passed for; absent: not known
	Strides    []int64  `json:"strides"`    // in elements
	Special    string   `json:"special"`    // what the compiler took for granted of it, "" nothing
}

// Freed is a range of addresses at which an array was that is gone.
type Freed struct {
	Name    string `json:"name"`
	Address uint64 `json:"address"`
	Bytes   uint64 `json:"bytes"`
}

// lookedUp is Param.Allocation of a caller who does not know which parameters are pointers: a driver.
const lookedUp = -2

// Run runs a launch. Who records is in the recording.
func (d *Device) Run(j *job.Job, r *Launch, producer string) (*simulation.Document, error) {
	m, err := d.Module(r.Module)
	if err != nil {
		return nil, err
	}
	l, err := d.launch(r)
	if err != nil {
		return nil, err
	}
	about := simulation.About{Number: r.Launch, Called: r.Called, ModuleHash: m.Hash, Producer: producer, Code: m.Code, Origin: r.Origin}
	return simulation.Run(j, m.Program, l, about, r.Record, r.Watch)
}

// onUnless is a switch that is on where the request does not say.
func onUnless(given *bool) bool { return given == nil || *given }

// mostInstructions is a limit of instructions as the simulator takes it.
func mostInstructions(given *uint64) uint64 {
	switch {
	case given == nil:
		return 0
	case *given == 0:
		return simt.Unlimited
	}
	return *given
}

// launch turns a request into a launch; the memory that it names is the caller's.
func (d *Device) launch(r *Launch) (*simt.Launch, error) {
	l := &simt.Launch{
		Kernel: r.Kernel, Grid: r.Grid, Block: r.Block, Cluster: r.Cluster, SharedBytes: r.SharedBytes,
		Options: simt.Options{
			ScheduleSeed: r.Seed, StopAtFirst: r.Stop, MaxFindings: r.MaxFindings, NaN: r.NaN, NoRaces: !onUnless(r.Races),
			GlobalRaces: r.GlobalRaces, WarpRaces: r.WarpRaces, Views: r.Views, NoConvergence: !onUnless(r.Convergence), NoCounts: !onUnless(r.Counts),
			MaxInstructions: mostInstructions(r.MaxInstructions), Heap: r.Heap,
		},
	}
	if len(r.Allocations) > MaxMemory {
		return nil, fault.New(fault.Limit, "the launch has %d pieces of memory, at most %d are possible", len(r.Allocations), MaxMemory)
	}
	if len(r.Freed) > MaxMemory {
		return nil, fault.New(fault.Limit, "the launch names %d freed arrays, at most %d are possible", len(r.Freed), MaxMemory)
	}
	var err error
	if l.Memory, err = d.Pieces(r.Allocations); err != nil {
		return nil, err
	}
	if r.Table != 0 {
		if l.Standing, err = d.table(r.Table); err != nil {
			return nil, err
		}
	}
	if l.Params, err = arguments(r, l); err != nil {
		return nil, err
	}
	for _, f := range r.Freed {
		l.Freed = append(l.Freed, simt.Freed(f))
	}
	return l, nil
}

// arguments are the parameters of a launch. What only an address is known of becomes memory of the launch where an array of its table has that
// address, each array once.
func arguments(r *Launch, l *simt.Launch) ([]simt.Argument, error) {
	var list []simt.Argument
	places := map[uint64]int{}
	for _, p := range r.Params {
		if p.Allocation == lookedUp {
			p.Allocation = -1
			if a, ok := arrayAt(l.Standing, p.Bits); ok && len(p.Data) == 0 {
				at, known := places[a.Host]
				if !known {
					at = len(l.Memory)
					places[a.Host] = at
					l.Standing.Written(a.Host) // perhaps by this launch: later ones are not asked
					a.Unwritten = a.Unwritten && r.Uninitialised
					l.Memory = append(l.Memory, a)
				}
				p.Allocation = at
			}
		}
		if p.Allocation < -1 || p.Allocation >= len(l.Memory) {
			return nil, fault.Usagef("%s: there is no piece of memory %d", p.Name, p.Allocation)
		}
		if p.View != nil && (len(p.View) != 2 || p.View[0] > p.View[1]) {
			return nil, fault.Usagef("%s: a view has a begin and an end", p.Name)
		}
		list = append(list, simt.Argument(p))
	}
	return list, nil
}

func arrayAt(t *memory.Standing, address uint64) (memory.Allocation, bool) {
	if t == nil || address == 0 {
		return memory.Allocation{}, false
	}
	return t.At(address)
}
