package rows

import (
	"strconv"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/work"
)

// readWork reads what devices did, the calls that launched it, and ranges as marks.
func readWork(j *job.Job, path string, opt work.Options, open opener) (*work.Found, error) {
	ctx := j.Context()
	src, err := opt.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	w := &worker{found: work.New(path, opt), lanes: map[Lane]uint16{}, numbers: map[uint64]uint32{}, groups: map[int64]uint16{}}
	j.Progress().SetStage("read")
	if err := w.read(j, src, open); err != nil {
		return nil, err
	}
	return w.found, nil
}

// worker turns rows into kernels, launches and marks.
type worker struct {
	found   *work.Found
	host    string
	lanes   map[Lane]uint16
	numbers map[uint64]uint32 // of names of kernels, by their keys
	groups  map[int64]uint16  // of pids

	last     Lane
	lastLane uint16
	known    bool
}

// read reads the rows, and then says from when they count and whose they are.
func (w *worker) read(j *job.Job, src *file.Source, open opener) error {
	var clock Clock
	ctx := j.Context()
	b, err := open(ctx, src, &clock)
	if err != nil {
		return err
	}
	f, err := b.Facts(ctx)
	if err != nil {
		return err
	}
	if len(f.Hosts) > 0 {
		w.host = f.Hosts[0]
	}
	ask := Ask{Roles: func(r Role) bool { return r != Other }}
	if err := b.Read(ctx, ask, w.row); err != nil {
		return err
	}
	base := f.StartNS + clock.OriginNS
	w.found.Origins = []work.Origin{{Set: true, AbsoluteNS: base, BaseNS: base}}
	names := b.Names()
	for _, said := range [][]string{f.Warnings, names.Warnings, f.Losses, names.Losses} {
		for _, warning := range said {
			w.found.Warn(warning)
		}
	}
	w.rank(f.Rank)
	return nil
}

// row takes one row.
func (w *worker) row(r *Row) error {
	g := w.found
	g.Losses.Events++
	if (r.Role == Copy || r.Role == Fill) && !g.Options.Copies {
		g.Losses.Copies++
		return nil
	}
	if !r.Timed {
		if r.Role <= Graph {
			g.Losses.Unusable++
		}
		return nil
	}
	if r.Role == Other || r.Role == Range && r.DurPS == 0 { // a mark, or the name of something
		return nil
	}
	lane, err := w.lane(r.Lane)
	if err != nil {
		return err
	}
	switch r.Role {
	case Call:
		g.Launch(r.AtPS, uint32(r.Correlation), g.Lanes[lane].Process, r.Graphs)
		return nil
	case Range:
		mark := work.RawMark{Process: g.Lanes[lane].Process, Lane: work.NoLane, Start: r.AtPS, End: r.AtPS + r.DurPS}
		if r.Lane.Device >= 0 {
			mark.Lane = lane
		}
		return g.Mark(mark, []byte(r.Name))
	case Kernel:
		number, err := w.number(r)
		if err != nil {
			return err
		}
		return g.Numbered(number, r.AtPS, r.DurPS, lane, uint32(r.Correlation), r.Blocks)
	}
	return g.Kernel([]byte(r.Name), r.AtPS, r.DurPS, lane, uint32(r.Correlation), 0)
}

// number is that of the name of a kernel.
func (w *worker) number(r *Row) (uint32, error) {
	if n, ok := w.numbers[r.Key]; ok && r.Key != 0 {
		return n, nil
	}
	n, err := w.found.Names.Number(w.found.Path, []byte(r.Name))
	if err == nil && r.Key != 0 {
		w.numbers[r.Key] = n
	}
	return n, err
}

// lane finds the queue of a device, or the place of a thread.
func (w *worker) lane(k Lane) (uint16, error) {
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

// process finds or describes a device as one process used it, or a process of the host. Those of one pid share correlation ids.
func (w *worker) process(k Lane) (uint16, error) {
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
	one.Rank, one.Group, one.Host = -1, group, w.host
	if k.Device >= 0 {
		one.Device = "GPU " + strconv.FormatInt(k.Device, 10)
	}
	return p, nil
}

// rank gives all processes the rank that the file says, where one process used devices.
func (w *worker) rank(rank *int64) {
	pids := map[int64]bool{}
	for k := range w.lanes {
		if k.Device >= 0 {
			pids[k.PID] = true
		}
	}
	if rank == nil || len(pids) > 1 {
		return
	}
	for i := range w.found.Processes {
		w.found.Processes[i].Rank = int(*rank)
	}
}
