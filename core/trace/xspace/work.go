package xspace

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/trace/source"
	"github.com/prlx-go/prlx/core/trace/work"
)

// readWork reads what devices did from the device planes of an XSpace, and from its host planes the calls that launch and the steps.
func readWork(j *job.Job, path string, opt work.Options) (*work.Found, error) {
	src, said, err := openWork(j.Context(), path, opt)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	j.Progress().SetStage("read")
	j.Progress().SetTotal(src.Size())
	found, err := Work(j.Context(), src, opt, j.Progress().Add)
	if err == nil && said != nil {
		found.Losses.Truncated, found.Losses.TruncatedAt = true, said.KeptBytes
		found.Warn(said.Sentence())
	}
	return found, err
}

func openWork(ctx context.Context, path string, opt work.Options) (src *file.Source, said *source.Salvaged, err error) {
	if opt.Salvage && opt.Stream == nil {
		return source.OpenSalvaged(ctx, path, salvageSpace)
	}
	src, err = opt.Open(ctx, path)
	return src, nil, err
}

// Work reads what devices did.
func Work(ctx context.Context, src *file.Source, opt work.Options, progress func(int64)) (*work.Found, error) {
	space, err := scanTrace(ctx, src, ScanOptions{Progress: progress})
	if err != nil {
		return nil, err
	}
	x := &spaceReader{g: work.New(src.Path(), opt), space: space, procs: make([]uint16, len(space.Planes))}
	x.g.Origins = []work.Origin{{Set: true, AbsoluteNS: x.baseNS()}}
	if err := x.planes(); err != nil {
		return nil, err
	}
	err = Events(ctx, src, space, x.want, x.visit)
	for _, finding := range space.Findings {
		x.g.Warn(finding)
	}
	x.g.Losses.Events = x.events
	return x.g, err
}

// spaceReader turns the events of an XSpace into rows.
type spaceReader struct {
	g      *work.Found
	space  *Space
	procs  []uint16 // by plane
	events int64

	line   *Line // of the last event, and what is known of it
	at     int64 // its times, ps after the base
	usable bool
	role   work.Role
	lane   uint16
	proc   uint16
	device bool
}

func isDevice(p *Plane) bool { return strings.Contains(p.Name, "/device:") }

// wanted reports whether a plane says something about kernels: a device, or a host, whose calls launch them.
func wanted(p *Plane) bool {
	return isDevice(p) || strings.Contains(p.Name, planeHostCPU) || strings.Contains(p.Name, "CUPTI") || strings.Contains(p.Name, "ROCTRACER")
}

// absolute is the time of a line in ns, absolute where the file says enough.
func (x *spaceReader) absolute(l *Line) int64 {
	if l.TimestampNS < AbsoluteNS {
		return l.TimestampNS + x.space.ProfileStartNS
	}
	return l.TimestampNS
}

// baseNS is the time of the earliest line of a device.
func (x *spaceReader) baseNS() int64 {
	base, found := int64(0), false
	for i := range x.space.Planes {
		p := &x.space.Planes[i]
		for k := range p.Lines {
			if l := &p.Lines[k]; isDevice(p) && l.Events > 0 {
				if at := x.absolute(l); !found || at < base {
					base, found = at, true
				}
			}
		}
	}
	return base
}

// planes makes a process of every plane. Planes of one host share correlation ids.
func (x *spaceReader) planes() error {
	groups := map[string]uint16{}
	for i := range x.space.Planes {
		p := &x.space.Planes[i]
		if !wanted(p) || p.Events == 0 {
			continue
		}
		id, err := x.g.Process(0, []byte(strconv.Itoa(i)))
		if err != nil {
			return err
		}
		x.procs[i] = id
		proc := &x.g.Processes[id]
		proc.Rank, proc.Name = -1, p.Name
		at := strings.Index(p.Name, "/device:")
		if at < 0 {
			at = max(0, strings.Index(p.Name, "/host:"))
		} else {
			proc.Device = work.DeviceOf(p.Name[at:])
		}
		if proc.Host = strings.Trim(p.Name[:at], " ·/"); proc.Host == "" && len(x.space.Hostnames) == 1 {
			proc.Host = x.space.Hostnames[0]
		}
		if m := work.RankText.FindStringSubmatch(proc.Host); m != nil {
			proc.Rank = work.Number(m[1])
		}
		group, ok := groups[proc.Host]
		if !ok {
			group = uint16(len(groups))
			groups[proc.Host] = group
		}
		proc.Group = group
	}
	return nil
}

func (x *spaceReader) want(p *Plane, l *Line) bool {
	return wanted(p) && (!isDevice(p) || work.RoleOf(l.Name) != work.IgnoredLine)
}

// enter looks at a line when its first event is visited.
func (x *spaceReader) enter(p *Plane, l *Line) error {
	x.line, x.proc, x.device = l, x.procs[p.Index], isDevice(p)
	x.role = work.RoleOf(l.Name)
	diff := x.absolute(l) - x.g.Origins[0].AbsoluteNS
	const most = 1 << 52 // ns; in ps it still leaves half the axis
	if x.usable = diff < most && diff > -most; x.usable {
		x.at = diff * 1000
	}
	if !x.device {
		return nil
	}
	lane, err := x.g.Lane(x.proc, []byte(strconv.FormatInt(l.ID, 10)+"/"+l.Label()))
	if err != nil {
		return err
	}
	x.lane = lane
	x.g.Lanes[lane].Stream = streamOf(l)
	return nil
}

// streamOf shortens "Stream #16(Kernel)" to what names the queue: copies and kernels of one stream are one.
func streamOf(l *Line) string {
	name := l.Label()
	if rest, ok := strings.CutPrefix(name, "Stream #"); ok {
		if n := work.LeadingDigits(rest); n > 0 {
			return rest[:n]
		}
	}
	return name
}

func (x *spaceReader) visit(p *Plane, l *Line, e *Event) error {
	if x.line != l {
		if err := x.enter(p, l); err != nil {
			return err
		}
	}
	x.events++
	if e.Aggregated {
		return nil
	}
	const most = 1 << 62
	if !x.usable || e.OffsetPS > most/2 || e.OffsetPS < -most/2 || e.DurationPS > most/4 {
		if x.device && x.role == work.KernelLine {
			x.g.Losses.Unusable++
		}
		return nil
	}
	at := x.at + e.OffsetPS
	end := at + max(0, e.DurationPS)
	if !x.device {
		return x.host(e, at, end)
	}
	switch x.role {
	case work.ModuleLine:
		return x.g.Mark(work.RawMark{Kind: work.XLAModule, Process: x.proc, Lane: x.lane, Start: at, End: end}, []byte(e.Name()))
	case work.StepLine:
		return x.g.Mark(work.RawMark{Kind: work.XLAStep, Process: x.proc, Lane: x.lane, Start: at, End: end}, []byte(e.Name()))
	}
	corr, isCopy := uint32(0), false
	for it := e.Stats(); it.Next(); {
		switch st := it.Stat(); st.Name {
		case "correlation_id":
			if n, ok := st.Integer(); ok {
				corr = uint32(n)
			}
		case "memcpy_details", "memset_details":
			isCopy = true
		}
	}
	if isCopy && !x.g.Options.Copies {
		x.g.Losses.Copies++
		return nil
	}
	return x.g.Kernel(operation(e.Name()), at, e.DurationPS, x.lane, corr, 0)
}

// operation is the name of a kernel: of an HLO instruction ("%fusion.3 = f32[8]{0} fusion(...)") what stands before its text.
func operation(name string) []byte {
	if op, _, ok := strings.Cut(name, " = "); ok && strings.HasPrefix(op, "%") {
		return []byte(op[1:])
	}
	return []byte(name)
}

// host takes an event of a host: a call with a correlation id, a step, or nothing of interest.
func (x *spaceReader) host(e *Event, at, end int64) error {
	for it := e.Stats(); it.Next(); {
		st := it.Stat()
		switch st.Name {
		case "correlation_id":
			if n, ok := st.Integer(); ok {
				x.g.Launch(at, uint32(n), x.proc, bytes.Contains([]byte(e.Name()), []byte("GraphLaunch")))
			}
			return nil
		case "step_num":
			n, ok := st.Integer()
			if !ok || n < 0 {
				return nil
			}
			return x.g.Mark(work.RawMark{Kind: work.XLAStep, Process: x.proc, Lane: work.NoLane, Start: at, End: end}, fmt.Appendf(nil, "%s %d", e.Name(), n))
		}
	}
	return nil
}
