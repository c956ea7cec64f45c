package api

import (
	"sync"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/simulator/simt/memory"
)

// standingStore keeps tables of arrays until they are forgotten. Ids count up and are never reused.
type standingStore struct {
	mu     sync.Mutex
	last   int64
	tables map[int64]*memory.Standing
}

func (s *standingStore) find(id int64) (*memory.Standing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tables[id]; t != nil {
		return t, nil
	}
	return nil, fault.Usagef("there is no table of arrays %d: it was forgotten, or the id is wrong", id)
}

func (s *standingStore) add() (int64, *memory.Standing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tables == nil {
		s.tables = make(map[int64]*memory.Standing)
	}
	s.last++
	t := new(memory.Standing)
	s.tables[s.last] = t
	return s.last, t
}

func (s *standingStore) remove(id int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.tables[id]
	delete(s.tables, id)
	return ok
}

// simulateArraysRequest says which arrays came and which went since the last one.
type simulateArraysRequest struct {
	Table  int64                `json:"table"` // 0: a new one
	Add    []simulateAllocation `json:"add"`
	Remove []uint64             `json:"remove"` // their addresses
}

// simulateArraysDocument names the table for launches. It never leaves the boundary.
type simulateArraysDocument struct {
	Table  int64 `json:"table"`
	Arrays int   `json:"arrays"` // that are in it
}

// simulateArrays changes a table of arrays that kernels may reach through pointers which they load.
func (c *Core) simulateArrays(_ *job.Job, r *simulateArraysRequest) (*simulateArraysDocument, error) {
	add, err := c.allocations(r.Add)
	if err != nil {
		return nil, err
	}
	doc := &simulateArraysDocument{Table: r.Table}
	var t *memory.Standing
	if r.Table == 0 {
		doc.Table, t = c.standing.add()
	} else if t, err = c.standing.find(r.Table); err != nil {
		return nil, err
	}
	doc.Arrays = t.Change(add, r.Remove)
	return doc, nil
}

type simulateForgetRequest struct {
	Table int64 `json:"table"`
}

type simulateForgetDocument struct {
	Forgotten bool `json:"forgotten"`
}

// simulateForget forgets a table of arrays; a launch that still runs is not disturbed.
func (c *Core) simulateForget(_ *job.Job, r *simulateForgetRequest) (*simulateForgetDocument, error) {
	return &simulateForgetDocument{Forgotten: c.standing.remove(r.Table)}, nil
}

// allocations are pieces of the caller's memory.
func (c *Core) allocations(list []simulateAllocation) ([]memory.Allocation, error) {
	found := make([]memory.Allocation, 0, len(list))
	for i := range list {
		a := &list[i]
		if a.Bytes < 0 || (a.Bytes > 0 && (a.Address == 0 || a.Address+uint64(a.Bytes) < a.Address)) {
			return nil, fault.Usagef("%s: %d bytes at address %#x are not a piece of memory", a.Name, a.Bytes, a.Address)
		}
		if c.view == nil {
			return nil, fault.New(fault.Internal, "this core sees no memory of its process")
		}
		found = append(found, memory.Allocation{Name: a.Name, Host: a.Address, Bytes: c.view(a.Address, a.Bytes), ReadOnly: a.ReadOnly, Unwritten: a.Unwritten})
	}
	return found, nil
}

// simulateReachRequest asks where the accesses of a kernel can lead.
type simulateReachRequest struct {
	requestLimits
	Module int64  `json:"module"`
	Kernel string `json:"kernel"`
}

// simulateReachDocument says it, as simt.Program.Reach does. It never leaves the boundary.
type simulateReachDocument struct {
	Sets     []uint64 `json:"sets"`
	Declared uint64   `json:"declared"`
}

// simulateReach says which arrays a launch of a kernel need not name: those that none of its accesses can lead to.
func (c *Core) simulateReach(_ *job.Job, r *simulateReachRequest) (*simulateReachDocument, error) {
	p, err := c.programs.find(r.Module)
	if err != nil {
		return nil, err
	}
	doc := &simulateReachDocument{}
	doc.Sets, doc.Declared, err = p.Reach(r.Kernel)
	if err != nil {
		return nil, err
	}
	return doc, nil
}
