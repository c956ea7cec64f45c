package kernels

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/timeline/source/xspace"
)

// readXSpace reads the device planes of an XSpace, and of its host planes the calls that launch and the steps.
func readXSpace(j *job.Job, path string, opt Options) (*Trace, error) {
	ctx := j.Context()
	src, err := file.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	j.Progress().SetStage("read")
	j.Progress().SetTotal(src.Size())
	g, err := gatherXSpace(ctx, src, opt, j.Progress().Add)
	if err != nil {
		return nil, err
	}
	return g.finish(ctx, "xspace")
}

func gatherXSpace(ctx context.Context, src *file.Source, opt Options, progress func(int64)) (*gather, error) {
	space, err := xspace.ScanTrace(ctx, src, xspace.ScanOptions{Progress: progress})
	if err != nil {
		return nil, err
	}
	x := &spaceReader{g: newGather(src.Path(), opt), space: space, procs: make([]uint16, len(space.Planes))}
	x.g.origins = []origin{{set: true, absolute: x.baseNS()}}
	if err := x.planes(); err != nil {
		return nil, err
	}
	err = xspace.Events(ctx, src, space, x.want, x.visit)
	for _, finding := range space.Findings {
		x.g.warn(finding)
	}
	x.g.losses.Events = x.events
	return x.g, err
}

// spaceReader turns the events of an XSpace into rows.
type spaceReader struct {
	g      *gather
	space  *xspace.Space
	procs  []uint16 // by plane
	events int64

	line   *xspace.Line // of the last event, and what is known of it
	at     int64        // its times, ps after the base
	usable bool
	role   role
	lane   uint16
	proc   uint16
	device bool
}

func isDevice(p *xspace.Plane) bool { return strings.Contains(p.Name, "/device:") }

// wanted reports whether a plane says something about kernels: a device, or a host, whose calls launch them.
func wanted(p *xspace.Plane) bool {
	return isDevice(p) || strings.Contains(p.Name, xspace.PlaneHostCPU) || strings.Contains(p.Name, "CUPTI") || strings.Contains(p.Name, "ROCTRACER")
}

// absolute is the time of a line in ns, absolute where the file says enough.
func (x *spaceReader) absolute(l *xspace.Line) int64 {
	if l.TimestampNS < xspace.AbsoluteNS {
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
		id, err := x.g.process(0, []byte(strconv.Itoa(i)))
		if err != nil {
			return err
		}
		x.procs[i] = id
		proc := &x.g.procs[id]
		proc.rank, proc.name = -1, p.Name
		at := strings.Index(p.Name, "/device:")
		if at < 0 {
			at = max(0, strings.Index(p.Name, "/host:"))
		} else {
			proc.device = deviceOf(p.Name[at:])
		}
		if proc.host = strings.Trim(p.Name[:at], " ·/"); proc.host == "" && len(x.space.Hostnames) == 1 {
			proc.host = x.space.Hostnames[0]
		}
		if m := rankText.FindStringSubmatch(proc.host); m != nil {
			proc.rank = number(m[1])
		}
		group, ok := groups[proc.host]
		if !ok {
			group = uint16(len(groups))
			groups[proc.host] = group
		}
		proc.group = group
	}
	return nil
}

func (x *spaceReader) want(p *xspace.Plane, l *xspace.Line) bool {
	return wanted(p) && (!isDevice(p) || lineRole(l.Name) != ignoredLine)
}

// enter looks at a line when its first event is visited.
func (x *spaceReader) enter(p *xspace.Plane, l *xspace.Line) error {
	x.line, x.proc, x.device = l, x.procs[p.Index], isDevice(p)
	x.role = lineRole(l.Name)
	diff := x.absolute(l) - x.g.origins[0].absolute
	const most = 1 << 52 // ns; in ps it still leaves half the axis
	if x.usable = diff < most && diff > -most; x.usable {
		x.at = diff * 1000
	}
	if !x.device {
		return nil
	}
	lane, err := x.g.lane(x.proc, []byte(strconv.FormatInt(l.ID, 10)+"/"+l.Label()))
	if err != nil {
		return err
	}
	x.lane = lane
	x.g.lanes[lane].stream = streamOf(l)
	return nil
}

// streamOf shortens "Stream #16(Kernel)" to what names the queue: copies and kernels of one stream are one.
func streamOf(l *xspace.Line) string {
	name := l.Label()
	if rest, ok := strings.CutPrefix(name, "Stream #"); ok {
		if n := leadingDigits(rest); n > 0 {
			return rest[:n]
		}
	}
	return name
}

func (x *spaceReader) visit(p *xspace.Plane, l *xspace.Line, e *xspace.Event) error {
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
		if x.device && x.role == kernelLine {
			x.g.losses.Unusable++
		}
		return nil
	}
	at := x.at + e.OffsetPS
	end := at + max(0, e.DurationPS)
	if !x.device {
		return x.host(e, at, end)
	}
	switch x.role {
	case moduleLine:
		return x.g.mark(rawMark{kind: XLAModule, proc: x.proc, lane: x.lane, start: at, end: end}, []byte(e.Name()))
	case stepLine:
		return x.g.mark(rawMark{kind: XLAStep, proc: x.proc, lane: x.lane, start: at, end: end}, []byte(e.Name()))
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
	if isCopy && !x.g.opt.Copies {
		x.g.losses.Copies++
		return nil
	}
	return x.g.kernel(operation(e.Name()), at, e.DurationPS, x.lane, corr, 0)
}

// operation is the name of a kernel: of an HLO instruction ("%fusion.3 = f32[8]{0} fusion(...)") what stands before its text.
func operation(name string) []byte {
	if op, _, ok := strings.Cut(name, " = "); ok && strings.HasPrefix(op, "%") {
		return []byte(op[1:])
	}
	return []byte(name)
}

// host takes an event of a host: a call with a correlation id, a step, or nothing of interest.
func (x *spaceReader) host(e *xspace.Event, at, end int64) error {
	for it := e.Stats(); it.Next(); {
		st := it.Stat()
		switch st.Name {
		case "correlation_id":
			if n, ok := st.Integer(); ok {
				x.g.launch(at, uint32(n), x.proc, bytes.Contains([]byte(e.Name()), []byte("GraphLaunch")))
			}
			return nil
		case "step_num":
			n, ok := st.Integer()
			if !ok || n < 0 {
				return nil
			}
			return x.g.mark(rawMark{kind: XLAStep, proc: x.proc, lane: noLane, start: at, end: end}, fmt.Appendf(nil, "%s %d", e.Name(), n))
		}
	}
	return nil
}
