package xspace

import (
	"context"
	"encoding/json"
	"math"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/trace/clock"
	"github.com/prlx-go/prlx/core/trace/source"
)

// finish resolves the stats of planes and reads what they and the snapshots plane say about clocks and the process.
func (s *scanner) finish(ctx context.Context) error {
	for i := range s.space.Planes {
		if err := s.resolveStats(ctx, &s.space.Planes[i]); err != nil {
			return err
		}
	}
	s.environment()
	if err := s.snapshots(ctx); err != nil {
		return err
	}
	s.space.onTracer()
	return nil
}

func (s *scanner) resolveStats(ctx context.Context, p *Plane) error {
	if len(p.Stats) == 0 {
		return nil
	}
	ids := make(map[int64]bool, len(p.Stats))
	for i := range p.Stats {
		ids[p.Stats[i].MetadataID] = true
		if p.Stats[i].Kind == statRef {
			ids[int64(p.Stats[i].Uint)] = true
		}
	}
	names, err := LoadStatNames(ctx, s.src, p, NameOptions{IDs: ids, LimitBytes: s.opt.MaxTextBytes})
	if err != nil {
		return err
	}
	for i := range p.Stats {
		p.Stats[i].resolve(names)
	}
	return nil
}

// environment copies the well-known stats. The first plane of a name counts; later ones come from merged files.
func (s *scanner) environment() {
	sp := s.space
	if p := sp.Plane(PlaneTaskEnvironment); p != nil {
		sp.ProfileStartNS = s.instant(p, statProfileStart)
		sp.ProfileStopNS = s.instant(p, statProfileStop)
	}
	if p := sp.Plane(planeHostCPU); p != nil {
		sp.ProcessID = p.statText(statProcessID)
	}
	if p := sp.Plane(planeMetadata); p != nil {
		sp.JaxVersion, sp.JaxlibVersion = p.statText("jax_version"), p.statText("jaxlib_version")
		if sp.ProcessID == "" {
			sp.ProcessID = p.statText(statProcessID)
		}
	}
	for _, p := range sp.Planes {
		if p.StatsOmitted > 0 {
			sp.find("plane %d (%s) has %d stats, the first %d were read", p.Index, p.Name, int64(len(p.Stats))+p.StatsOmitted, len(p.Stats))
		}
	}
}

func (p *Plane) statText(name string) string {
	if st := p.Stat(name); st != nil {
		return st.Text()
	}
	return ""
}

func (s *scanner) instant(p *Plane, name string) int64 {
	st := p.Stat(name)
	if st == nil {
		return 0
	}
	v, ok := st.Integer()
	if !ok || v < 0 {
		s.space.find("plane %d (%s): stat %s is not an instant in ns (%q)", p.Index, p.Name, name, st.Text())
		return 0
	}
	return v
}

// snapshots reads the clock pairs of the first plane named /host:snapshots.
func (s *scanner) snapshots(ctx context.Context) error {
	sp := s.space
	for i := range sp.Planes {
		if sp.Planes[i].Name == planeSnapshots {
			name := sp.Planes[i].statText(statClockName)
			if sp.SnapshotPlanes++; sp.SnapshotPlanes == 1 || !source.IsTracer(sp.SnapshotsClock) && source.IsTracer(name) {
				sp.SnapshotsPlane, sp.SnapshotsClock = i, name
			}
		}
	}
	if sp.SnapshotsPlane < 0 {
		return s.snapshotsInMetadata()
	}
	p := &sp.Planes[sp.SnapshotsPlane]
	if sp.SnapshotPlanes > 1 {
		sp.find("%d planes are named %s; the first one of a tracer's clock counts", sp.SnapshotPlanes, planeSnapshots)
	}
	sp.SnapshotsAbsolute = true
	for k := range p.Lines {
		if err := s.snapshotLine(ctx, p, &p.Lines[k]); err != nil {
			return err
		}
	}
	if sp.SnapshotsLost > 0 {
		sp.find("plane %d (%s): %d events are not clock snapshots (no stat %s, or out of range)", p.Index, p.Name, sp.SnapshotsLost, statTracerROCm)
	}
	if sp.SnapshotsNamed = sp.SnapshotsClock != ""; !sp.SnapshotsNamed {
		sp.SnapshotsClock = source.TracerROCm
	}
	return nil
}

// snapshotsInMetadata reads the clock pairs that prlx leaves among the metadata of a session where it can add no plane: SnapshotPairs as JSON.
func (s *scanner) snapshotsInMetadata() error {
	sp := s.space
	p := sp.Plane(planeMetadata)
	if p == nil || p.Stat(statSnapshots) == nil {
		return nil
	}
	var said struct {
		Clock string `json:"tracer_clock_name"`
		Pairs []struct {
			SysNS    int64 `json:"sys_clock_ns"`
			TracerNS int64 `json:"tracer_clock_ns"`
		} `json:"pairs"`
	}
	if err := json.Unmarshal([]byte(p.statText(statSnapshots)), &said); err != nil || said.Clock == "" {
		sp.find("plane %d (%s): stat %s holds no readings of clocks", p.Index, p.Name, statSnapshots)
		return nil
	}
	if len(said.Pairs) > s.opt.MaxSnapshots {
		return fault.New(fault.Limit, "xspace: plane %d (%s) has more than %d snapshots", p.Index, p.Name, s.opt.MaxSnapshots).WithPath(s.src.Path())
	}
	sp.SnapshotsClock, sp.SnapshotsNamed, sp.SnapshotsAbsolute = said.Clock, true, true
	for _, one := range said.Pairs {
		if one.SysNS < AbsoluteNS {
			sp.SnapshotsLost++
			continue
		}
		sp.Snapshots = append(sp.Snapshots, clock.Pair{X: one.TracerNS, Y: one.SysNS})
	}
	if sp.SnapshotsLost > 0 {
		sp.find("plane %d (%s): %d readings of stat %s have no date", p.Index, p.Name, sp.SnapshotsLost, statSnapshots)
	}
	return nil
}

func (s *scanner) snapshotLine(ctx context.Context, p *Plane, l *Line) error {
	sp := s.space
	added := int64(0)
	if l.Events == 0 {
		return nil
	}
	if l.TimestampNS < AbsoluteNS {
		if added = sp.ProfileStartNS; added == 0 {
			sp.SnapshotsAbsolute = false
		}
	}
	if len(sp.Snapshots) == 0 {
		sp.SnapshotsLineTimestampNS, sp.SnapshotsAddedNS = l.TimestampNS, added
	} else if added != sp.SnapshotsAddedNS {
		sp.find("plane %d (%s), line %d: its base is of another kind than the first line's; its snapshots are not used", p.Index, p.Name, l.Index)
		sp.SnapshotsLost += l.Events
		return nil
	}
	return EventsOf(ctx, s.src, p, l, EventOptions{}, func(e *Event) error {
		r, width, ok := int64(0), int64(0), false
		for it := e.Stats(); it.Next(); {
			if st := it.Stat(); st.Name == statTracerROCm || st.Name == statTracerClock && sp.SnapshotsClock != "" {
				r, ok = st.Integer()
			} else if st.Name == statBracket {
				width, _ = st.Integer()
			}
		}
		wall := l.TimestampNS + added + roundPS(e.OffsetPS)
		if !ok || e.Aggregated || wall < 0 || l.TimestampNS > math.MaxInt64/2 || l.TimestampNS < -math.MaxInt64/2 {
			sp.SnapshotsLost++
			return nil
		}
		if len(sp.Snapshots) >= s.opt.MaxSnapshots {
			return fault.New(fault.Limit, "xspace: plane %d (%s) has more than %d snapshots", p.Index, p.Name, s.opt.MaxSnapshots).WithPath(s.src.Path())
		}
		sp.Snapshots = append(sp.Snapshots, clock.Pair{X: r, Y: wall, WidthNS: max(0, width)})
		return nil
	})
}

// roundPS converts ps to the nearest ns.
func roundPS(ps int64) int64 {
	q, r := ps/1000, ps%1000
	if r >= 500 {
		q++
	} else if r < -500 {
		q--
	}
	return q
}
