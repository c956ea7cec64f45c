package nsys

import (
	"context"
	"math"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/sqlite"
	"github.com/prlx-go/prlx/core/trace/work"
)

// readWork reads what GPUs did, the calls that launched it, and NVTX ranges as marks.
func readWork(j *job.Job, path string, opt work.Options) (*work.Found, error) {
	ctx := j.Context()
	src, err := file.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	b, err := open(ctx, src)
	if err != nil {
		return nil, err
	}
	names, err := b.names(ctx)
	if err != nil {
		return nil, err
	}
	t := &trace{}
	if err := t.facts(ctx, b); err != nil {
		return nil, err
	}
	w := &worker{found: work.New(path, opt), names: names, t: t, lanes: map[lane]uint16{}, numbers: map[int64]uint32{}, groups: map[int64]uint16{}}
	w.found.Origins = []work.Origin{{Set: true, AbsoluteNS: t.Said.StartNS, BaseNS: t.Said.StartNS}}
	for _, warning := range t.Said.Warnings {
		w.found.Warn(warning)
	}
	j.Progress().SetStage("read")
	j.Progress().SetTotal(int64(len(b.views)))
	for _, v := range b.views {
		if err := w.table(ctx, b, v); err != nil {
			return nil, err
		}
		j.Progress().Add(1)
	}
	w.rank()
	return w.found, nil
}

// worker turns rows into kernels, launches and marks.
type worker struct {
	found   *work.Found
	names   *names
	t       *trace
	lanes   map[lane]uint16
	numbers map[int64]uint32 // of names of kernels, by StringIds
	groups  map[int64]uint16 // of pids

	last     lane
	lastLane uint16
	known    bool
}

func (w *worker) table(ctx context.Context, b *book, v *view) error {
	g := w.found
	copies := v.role == copyRow || v.role == fillRow
	return b.db.Read(ctx, v.table, func(r *sqlite.Row) error {
		g.Losses.Events++
		if copies && !g.Options.Copies {
			g.Losses.Copies++
			return nil
		}
		at, dur, timed := v.time(r)
		if !timed {
			if v.role.onDevice() {
				g.Losses.Unusable++
			}
			return nil
		}
		lane, err := w.lane(v.lane(r))
		if err != nil {
			return err
		}
		proc := g.Lanes[lane].Process
		corr := uint32(r.Int(v.correlation))
		switch v.role {
		case callRow:
			g.Launch(at, corr, proc, strings.Contains(w.names.strings[r.Int(v.called)], "GraphLaunch"))
			return nil
		case rangeRow:
			if dur == 0 { // a mark, or the name of something
				return nil
			}
			return g.Mark(work.RawMark{Process: proc, Lane: work.NoLane, Start: at, End: at + dur}, []byte(v.name(r, w.names)))
		case kernelRow:
			number, err := w.number(v, r)
			if err != nil {
				return err
			}
			return g.Numbered(number, at, dur, lane, corr, v.blocks(r))
		}
		return g.Kernel([]byte(v.name(r, w.names)), at, dur, lane, corr, 0)
	})
}

// number is that of the name of a kernel.
func (w *worker) number(v *view, r *sqlite.Row) (uint32, error) {
	id := r.Int(v.demangled)
	if n, ok := w.numbers[id]; ok && v.demangled >= 0 {
		return n, nil
	}
	n, err := w.found.Names.Number(w.found.Path, []byte(v.name(r, w.names)))
	if err == nil {
		w.numbers[id] = n
	}
	return n, err
}

// blocks is how many thread blocks a kernel has, 0 where nobody knows.
func (v *view) blocks(r *sqlite.Row) uint32 {
	if v.grid < 0 {
		return 0
	}
	product := int64(1)
	for i := range 3 {
		product *= min(max(r.Int(v.grid+i), 0), math.MaxUint32)
		product = min(product, math.MaxUint32>>1)
	}
	return uint32(product)
}

// lane finds the queue of a stream, or the place of a thread.
func (w *worker) lane(k lane) (uint16, error) {
	if w.known && k == w.last {
		return w.lastLane, nil
	}
	lane, ok := w.lanes[k]
	if !ok {
		p, err := w.process(k)
		if err != nil {
			return 0, err
		}
		if lane, err = w.found.Lane(p, []byte(strconv.FormatInt(k.Context, 10)+"/"+strconv.FormatInt(k.Number, 10))); err != nil {
			return 0, err
		}
		w.found.Lanes[lane].Stream = strconv.FormatInt(k.Number, 10)
		w.lanes[k] = lane
	}
	w.last, w.lastLane, w.known = k, lane, true
	return lane, nil
}

// process finds or describes a GPU as one process used it, or a process of the host. Those of one pid share correlation ids.
func (w *worker) process(k lane) (uint16, error) {
	p, err := w.found.Process(0, []byte(strconv.FormatInt(k.PID, 10)+"/"+strconv.FormatInt(k.Device, 10)))
	if err != nil {
		return 0, err
	}
	group, ok := w.groups[k.PID]
	if !ok {
		group = uint16(len(w.groups))
		w.groups[k.PID] = group
	}
	one := &w.found.Processes[p]
	one.Rank, one.Group = -1, group
	if len(w.t.Said.Hosts) > 0 {
		one.Host = w.t.Said.Hosts[0]
	}
	if k.Device >= 0 {
		one.Device = "GPU " + strconv.FormatInt(k.Device, 10)
	}
	return p, nil
}

// rank gives all processes the rank that the environment says, where one process used GPUs.
func (w *worker) rank() {
	pids := map[int64]bool{}
	for k := range w.lanes {
		if k.Device >= 0 {
			pids[k.PID] = true
		}
	}
	if w.t.Said.Rank == nil || len(pids) > 1 {
		return
	}
	for i := range w.found.Processes {
		w.found.Processes[i].Rank = int(*w.t.Said.Rank)
	}
}
