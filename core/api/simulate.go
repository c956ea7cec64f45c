package api

import (
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/recorder"
	"github.com/prlx-go/prlx/core/simulator/device"
	"github.com/prlx-go/prlx/core/simulator/fatbinary"
	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt/target"
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
	case "simulate_variable":
		return typed(c.simulateVariable), true
	case "serve_device":
		return typed(c.serveDevice), true
	case "simulate_target":
		return typed(c.simulateTarget), true
	case "arena_prepare":
		return typed(c.prepareArena), true
	case "arena_used":
		return typed(c.usedArena), true
	case "arena_collect":
		return typed(c.collectArena), true
	case "tape_open":
		return typed(c.openTape), true
	case "tape_place":
		return typed(c.defineTapePlace), true
	case "tape_step":
		return typed(c.beginTapeStep), true
	case "tape_save":
		return typed(c.saveTape), true
	case "tape_close":
		return typed(c.closeTape), true
	}
	return nil, false
}

// SeeMemory tells the Core how to look at memory of the process outside of the Go heap. It must be called before the first
// operation, and what it returns must stay valid while an operation that asked for it runs.
func (c *Core) SeeMemory(view func(address uint64, n int) []byte) { c.device.See(view) }

type simulateLoadRequest struct {
	requestLimits
	Name  string `json:"name"`  // what errors call it
	PTX   string `json:"ptx"`   // the text
	Image []byte `json:"image"` // instead of it: a container in which a compiler embedded it

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
	Params   []declaredParam `json:"params"`
	Block    [3]uint32       `json:"block"`    // .reqntid, zeros: none
	Threads  [3]uint32       `json:"threads"`  // .maxntid, zeros: none
	Shared   uint64          `json:"shared"`   // bytes of static shared memory
	Local    uint64          `json:"local"`    // bytes of local memory of a thread
	Constant uint64          `json:"constant"` // bytes of constant memory
}

// declaredParam is one .param.
type declaredParam struct {
	Name    string `json:"name"`
	Type    string `json:"type"` // "u64", "f32", "b8"
	Bytes   uint64 `json:"bytes"`
	Align   uint32 `json:"align"`
	Pointer bool   `json:"pointer"` // declared to be one; older compilers do not say so
}

// simulateLoad reads a PTX text and keeps it for launches.
func (c *Core) simulateLoad(j *job.Job, r *simulateLoadRequest) (*simulateLoadDocument, error) {
	if r.Image != nil {
		var err error
		if r.PTX, err = fatbinary.PTX(r.Name, r.Image, target.SM80.Number); err != nil {
			return nil, err
		}
	}
	id, m, err := c.device.Load(j.Context(), r.Name, r.PTX)
	if err != nil {
		return nil, err
	}
	if r.Image != nil {
		m.Hash = recorder.ModuleHash(fatbinary.Anywhere(r.PTX)) // a program that was moved is the same
	}
	doc := &simulateLoadDocument{Module: id, Kernels: m.Kernels(), Hash: m.Hash}
	if r.Signatures {
		if doc.Signatures, err = signatures(j, r); err != nil {
			c.device.Unload(id)
			return nil, err
		}
	}
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
		s := kernelSignature{
			Params: []declaredParam{}, Block: f.ReqNTID, Threads: f.MaxNTID,
			Shared: m.StaticBytes(f, ptx.Shared), Local: m.StaticBytes(f, ptx.Local), Constant: m.StaticBytes(f, ptx.Const),
		}
		for i := range f.Params {
			p := &f.Params[i]
			s.Params = append(s.Params, declaredParam{Name: p.Name, Type: p.Type.String(), Bytes: p.Bytes, Align: max(p.Align, 1), Pointer: p.Pointer})
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
	return &simulateUnloadDocument{Unloaded: c.device.Unload(r.Module)}, nil
}

type simulateLaunchRequest struct {
	requestLimits
	device.Launch
}

// simulateLaunch runs one launch on the caller's memory.
func (c *Core) simulateLaunch(j *job.Job, r *simulateLaunchRequest) (*simulation.Document, error) {
	return c.device.Run(j, &r.Launch, "prlx "+Version)
}

// simulateVariableRequest moves bytes between a variable of a module and the caller's memory.
type simulateVariableRequest struct {
	Module  int64  `json:"module"`
	Name    string `json:"name"`
	Offset  uint64 `json:"offset"`  // in the variable
	Address uint64 `json:"address"` // of the caller's memory
	Bytes   int    `json:"bytes"`   // that are moved; 0: the variable is asked for its size
	Write   bool   `json:"write"`   // into the variable, else out of it
}

type simulateVariableDocument struct {
	Bytes uint64 `json:"bytes"` // that the variable has
}

// simulateVariable reads or writes a .global or .const variable of a module.
func (c *Core) simulateVariable(_ *job.Job, r *simulateVariableRequest) (*simulateVariableDocument, error) {
	n, err := c.device.Variable(r.Module, r.Name, r.Offset, device.Memory{Name: "the caller's memory", Address: r.Address, Bytes: r.Bytes}, r.Write)
	if err != nil {
		return nil, err
	}
	return &simulateVariableDocument{Bytes: n}, nil
}

// simulateTargetDocument is what is true of the GPU that the simulator is.
type simulateTargetDocument struct {
	Name string `json:"name"` // "sm_80"
	target.Limits
}

// simulateTarget says it.
func (c *Core) simulateTarget(_ *job.Job, _ *requestLimits) (*simulateTargetDocument, error) {
	return &simulateTargetDocument{Name: target.SM80.Name, Limits: target.SM80.Limits()}, nil
}
