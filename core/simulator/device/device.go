// Package device is the simulator as a driver sees a GPU: modules that are loaded, memory that kernels may reach, launches, variables, and nothing of
// any program around it. Two doors lead to it by the same operations of core/api: pybind, for the process that loaded the extension, and
// a pipe beside shared memory, for processes without Python.
package device

import (
	"context"
	"sync"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/recording/recorder"
	"github.com/prlx-go/prlx/core/simulator/ptx"
	"github.com/prlx-go/prlx/core/simulator/simt"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// Device is what a driver talks to. Its methods may be called at any time.
type Device struct {
	view    View
	modules store[*Module]
	tables  store[*memory.Standing]
}

// View is the memory of n bytes at an address, as the caller of the device has it. What it returns must stay valid while a call that asked for it
// runs.
type View func(address uint64, n int) []byte

// See tells the device how to look at memory of its caller. It comes before everything else.
func (d *Device) See(view View) { d.view = view }

// Module is a PTX module that waits for launches.
type Module struct {
	*simt.Program
	Hash string        // of its text
	Code func() string // the text as recordings hold it
}

// Load reads a PTX text and keeps it until it is unloaded. The name is what errors call it.
func (d *Device) Load(ctx context.Context, name, text string) (id int64, m *Module, err error) {
	p, err := simt.Load(ctx, name, []byte(text))
	if err != nil {
		return 0, nil, err
	}
	m = &Module{Program: p, Hash: recorder.ModuleHash(text), Code: sync.OnceValue(func() string { return ptx.Pack(text) })}
	return d.modules.add(m), m, nil
}

// Module is a module that was loaded.
func (d *Device) Module(id int64) (*Module, error) {
	if m, ok := d.modules.find(id); ok {
		return m, nil
	}
	return nil, fault.Usagef("there is no module %d: it was unloaded, or the id is wrong", id)
}

// Unload forgets a module; a launch of it that still runs is not disturbed.
func (d *Device) Unload(id int64) bool { return d.modules.remove(id) }

// store keeps things until they are removed. Ids count up and are never reused.
type store[T any] struct {
	mu   sync.Mutex
	last int64
	held map[int64]T
}

func (s *store[T]) add(v T) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.held = make(map[int64]T)
	}
	s.last++
	s.held[s.last] = v
	return s.last
}

func (s *store[T]) find(id int64) (T, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.held[id]
	return v, ok
}

func (s *store[T]) remove(id int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.held[id]
	delete(s.held, id)
	return ok
}
