package api

import (
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/simulator/device"
)

// simulateArraysRequest says which arrays came and which went since the last one.
type simulateArraysRequest struct {
	Table  int64           `json:"table"` // 0: a new one
	Add    []device.Memory `json:"add"`
	Remove []uint64        `json:"remove"` // their addresses

	Written []uint64 `json:"written"` // addresses of arrays that were added unwritten, and that the caller writes
}

// simulateArraysDocument names the table for launches. It never leaves the boundary.
type simulateArraysDocument struct {
	Table  int64 `json:"table"`
	Arrays int   `json:"arrays"` // that are in it
}

// simulateArrays changes a table of arrays that kernels may reach through pointers which they load.
func (c *Core) simulateArrays(_ *job.Job, r *simulateArraysRequest) (*simulateArraysDocument, error) {
	table, arrays, err := c.device.Map(r.Table, r.Add, r.Remove, r.Written)
	if err != nil {
		return nil, err
	}
	return &simulateArraysDocument{Table: table, Arrays: arrays}, nil
}

type simulateForgetRequest struct {
	Table int64 `json:"table"`
}

type simulateForgetDocument struct {
	Forgotten bool `json:"forgotten"`
}

// simulateForget forgets a table of arrays; a launch that still runs is not disturbed.
func (c *Core) simulateForget(_ *job.Job, r *simulateForgetRequest) (*simulateForgetDocument, error) {
	return &simulateForgetDocument{Forgotten: c.device.Forget(r.Table)}, nil
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
	p, err := c.device.Module(r.Module)
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
