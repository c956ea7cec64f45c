package api

import (
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/prlx-go/prlx/core/diff/slice"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/origin"
	"github.com/prlx-go/prlx/core/recording/recorder"
	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt"
	"github.com/prlx-go/prlx/core/simulator/simulation"
)

// machineOperations lists the operations that need what this Core holds: programs that were loaded, and the caller's memory.
func (c *Core) machineOperations(name string) (op, bool) {
	switch name {
	case "simulate_launch":
		return typed(c.simulateLaunch), true
	case "simulate_load":
		return typed(c.simulateLoad), true
	case "simulate_unload":
		return typed(c.simulateUnload), true
	case "simulate_reach":
		return typed(c.simulateReach), true
	case "simulate_arrays":
		return typed(c.simulateArrays), true
	case "simulate_forget":
		return typed(c.simulateForget), true
	case "arena_prepare":
		return typed(c.prepareArena), true
	case "arena_collect":
		return typed(c.collectArena), true
	}
	return nil, false
}

// SeeMemory tells the Core how to look at memory of the process outside of the Go heap. It must be called before the first
// operation, and what it returns must stay valid while an operation that asked for it runs.
func (c *Core) SeeMemory(view func(address uint64, n int) []byte) { c.view = view }

// program is a PTX module that waits for launches.
type program struct {
	*simt.Program
	hash string        // of its text
	code func() string // the text as recordings hold it
}

// programStore keeps programs until they are unloaded. Ids count up and are never reused.
type programStore struct {
	mu       sync.Mutex
	last     int64
	programs map[int64]*program
}

func (s *programStore) add(p *program) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.programs == nil {
		s.programs = make(map[int64]*program)
	}
	s.last++
	s.programs[s.last] = p
	return s.last
}

func (s *programStore) find(id int64) (*program, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.programs[id]; p != nil {
		return p, nil
	}
	return nil, fault.Usagef("there is no module %d: it was unloaded, or the id is wrong", id)
}

func (s *programStore) remove(id int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.programs[id]
	delete(s.programs, id)
	return ok
}

type simulateLoadRequest struct {
	requestLimits
	Name string `json:"name"` // what errors call it
	PTX  string `json:"ptx"`

	Signatures bool `json:"signatures"` // say what the kernels take
}

// simulateLoadDocument names a module for launches. It never leaves the boundary.
type simulateLoadDocument struct {
	Module  int64    `json:"module"`
	Kernels []string `json:"kernels"`
	Hash    string   `json:"hash"` // of the text

	Signatures []kernelSignature `json:"signatures,omitempty"` // of the kernels
}

// kernelSignature is what a kernel takes, as its PTX declares it.
type kernelSignature struct {
	Params  []declaredParam `json:"params"`
	Block   [3]uint32       `json:"block"`   // .reqntid, zeros: none
	Threads [3]uint32       `json:"threads"` // .maxntid, zeros: none
}

// declaredParam is one .param.
type declaredParam struct {
	Name    string `json:"name"`
	Type    string `json:"type"` // "u64", "f32", "b8"
	Bytes   uint64 `json:"bytes"`
	Pointer bool   `json:"pointer"` // declared to be one; older compilers do not say so
}

// simulateLoad reads a PTX text and keeps it for launches.
func (c *Core) simulateLoad(j *job.Job, r *simulateLoadRequest) (*simulateLoadDocument, error) {
	p, err := simt.Load(j.Context(), r.Name, []byte(r.PTX))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(r.PTX))
	loaded := &program{Program: p, hash: fmt.Sprintf("%x", sum[:16]), code: sync.OnceValue(func() string { return slice.Pack(r.PTX) })}
	doc := &simulateLoadDocument{Kernels: p.Kernels(), Hash: loaded.hash}
	if r.Signatures {
		if doc.Signatures, err = signatures(j, r); err != nil {
			return nil, err
		}
	}
	doc.Module = c.programs.add(loaded)
	return doc, nil
}

// signatures says what the kernels of a text take, in their order.
func signatures(j *job.Job, r *simulateLoadRequest) ([]kernelSignature, error) {
	m, err := ptx.Read(j.Context(), r.Name, []byte(r.PTX))
	if err != nil {
		return nil, err
	}
	var list []kernelSignature
	for _, f := range m.Functions {
		if !f.Entry || f.Extern {
			continue
		}
		s := kernelSignature{Params: []declaredParam{}, Block: f.ReqNTID, Threads: f.MaxNTID}
		for i := range f.Params {
			p := &f.Params[i]
			s.Params = append(s.Params, declaredParam{Name: p.Name, Type: p.Type.String(), Bytes: p.Bytes, Pointer: p.Pointer})
		}
		list = append(list, s)
	}
	return list, nil
}

type simulateUnloadRequest struct {
	Module int64 `json:"module"`
}

type simulateUnloadDocument struct {
	Unloaded bool `json:"unloaded"`
}

// simulateUnload forgets a module; a launch of it that still runs is not disturbed.
func (c *Core) simulateUnload(_ *job.Job, r *simulateUnloadRequest) (*simulateUnloadDocument, error) {
	return &simulateUnloadDocument{Unloaded: c.programs.remove(r.Module)}, nil
}

// maxAllocations bounds the pieces of memory of one launch.
const maxAllocations = 1 << 16

type simulateLaunchRequest struct {
	requestLimits
	Module          int64                `json:"module"`
	Kernel          string               `json:"kernel"`
	Launch          uint64               `json:"launch"` // its number in the session
	Grid            [3]uint32            `json:"grid"`
	Block           [3]uint32            `json:"block"`
	Cluster         [3]uint32            `json:"cluster"`
	SharedBytes     uint64               `json:"shared_bytes"`
	Params          []simulateParam      `json:"params"`
	Allocations     []simulateAllocation `json:"allocations"`
	Table           int64                `json:"table"` // of simulate_arrays: what else loaded pointers may lead to; 0 none
	Seed            uint64               `json:"seed"`
	Stop            bool                 `json:"stop"`
	NaN             bool                 `json:"nan"`
	Races           *bool                `json:"races"` // absent: true
	GlobalRaces     bool                 `json:"global_races"`
	WarpRaces       bool                 `json:"warp_races"`
	Views           bool                 `json:"views"`
	Freed           []simulateFreed      `json:"freed"`       // what were arrays once
	Convergence     *bool                `json:"convergence"` // absent: true
	Counts          *bool                `json:"counts"`      // absent: true
	MaxFindings     int                  `json:"max_findings"`
	MaxInstructions *uint64              `json:"max_instructions"` // absent: as many as a launch has by itself; 0: no limit
	Heap            uint64               `json:"heap"`             // bytes that malloc takes from; 0: as they are, 8 MiB at first
	Record          *recorder.Record     `json:"record"`
	Watch           *simulation.Watch    `json:"watch"`
	Origin          *origin.Origin       `json:"origin"` // null: no compiler of graphs made the kernel
}

// simulateParam is one .param of the kernel.
type simulateParam struct {
	Name       string   `json:"name"`
	Type       string   `json:"type"`
	Bits       uint64   `json:"bits"`
	Allocation int      `json:"allocation"` // index into allocations, -1 none
	Data       []byte   `json:"data"`       // of a parameter of more than 8 bytes, all of it
	View       []uint64 `json:"view"`       // of a pointer: where the elements of its view begin and end; absent: not known
	Shape      []uint64 `json:"shape"`      // of the array that a pointer was passed for; absent: not known
	Strides    []int64  `json:"strides"`    // in elements
	Special    string   `json:"special"`    // what the compiler took for granted of it, "" nothing
}

// simulateAllocation is a piece of the caller's memory.
type simulateAllocation struct {
	Name     string `json:"name"`
	Address  uint64 `json:"address"`
	Bytes    int    `json:"bytes"`
	ReadOnly bool   `json:"read_only"`

	Unwritten bool `json:"unwritten"` // nobody wrote it before the launch
}

// simulateFreed is a range of addresses at which an array was that is gone.
type simulateFreed struct {
	Name    string `json:"name"`
	Address uint64 `json:"address"`
	Bytes   uint64 `json:"bytes"`
}

// simulateLaunch runs one launch on the caller's memory.
func (c *Core) simulateLaunch(j *job.Job, r *simulateLaunchRequest) (*simulation.Document, error) {
	p, err := c.programs.find(r.Module)
	if err != nil {
		return nil, err
	}
	l, err := c.launch(r)
	if err != nil {
		return nil, err
	}
	about := simulation.About{Number: r.Launch, ModuleHash: p.hash, Producer: "prlx " + Version, Code: p.code, Origin: r.Origin}
	return simulation.Run(j, p.Program, l, about, r.Record, r.Watch)
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
func (c *Core) launch(r *simulateLaunchRequest) (*simt.Launch, error) {
	l := &simt.Launch{
		Kernel: r.Kernel, Grid: r.Grid, Block: r.Block, Cluster: r.Cluster, SharedBytes: r.SharedBytes,
		Options: simt.Options{
			ScheduleSeed: r.Seed, StopAtFirst: r.Stop, MaxFindings: r.MaxFindings, NaN: r.NaN, NoRaces: !onUnless(r.Races),
			GlobalRaces: r.GlobalRaces, WarpRaces: r.WarpRaces, Views: r.Views, NoConvergence: !onUnless(r.Convergence), NoCounts: !onUnless(r.Counts), MaxInstructions: mostInstructions(r.MaxInstructions),
			Heap: r.Heap,
		},
	}
	if len(r.Allocations) > maxAllocations {
		return nil, fault.New(fault.Limit, "the launch has %d pieces of memory, at most %d are possible", len(r.Allocations), maxAllocations)
	}
	var err error
	if l.Memory, err = c.allocations(r.Allocations); err != nil {
		return nil, err
	}
	if r.Table != 0 {
		t, err := c.standing.find(r.Table)
		if err != nil {
			return nil, err
		}
		l.Standing = t
	}
	for _, p := range r.Params {
		if p.Allocation < -1 || p.Allocation >= len(l.Memory) {
			return nil, fault.Usagef("%s: there is no piece of memory %d", p.Name, p.Allocation)
		}
		if p.View != nil && (len(p.View) != 2 || p.View[0] > p.View[1]) {
			return nil, fault.Usagef("%s: a view has a begin and an end", p.Name)
		}
		l.Params = append(l.Params, simt.Argument(p))
	}
	if len(r.Freed) > maxAllocations {
		return nil, fault.New(fault.Limit, "the launch names %d freed arrays, at most %d are possible", len(r.Freed), maxAllocations)
	}
	for _, f := range r.Freed {
		l.Freed = append(l.Freed, simt.Freed(f))
	}
	return l, nil
}
