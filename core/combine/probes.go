package combine

import (
	"context"
	"fmt"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/clocks/offsets"
	"github.com/prlx-go/prlx/core/fault"
)

// probes is what a set of probe files holds: stamps or windows, never both.
type probes struct {
	stamps  []clockfile.Stamp
	windows []*clockfile.Windows
	metas   []clockfile.NodeMeta
	probers []clockfile.Prober

	read  int // stamps of all files
	halve int // how often the slower of every two stamps of a pair was left out, for there were more than are solved
}

// mostStamps is how many probe stamps are solved together.
const mostStamps = clockfile.MaxRows

// add adds the stamps of a file. Of more than most the fastest are kept, over the whole time and of all pairs of nodes alike.
func (p *probes) add(stamps []clockfile.Stamp, most int) {
	p.read += len(stamps)
	for range p.halve {
		stamps = fasterHalf(stamps)
	}
	for p.stamps = append(p.stamps, stamps...); len(p.stamps) > most && len(p.stamps) > 1; p.halve++ {
		before := len(p.stamps)
		if p.stamps = fasterHalf(p.stamps); len(p.stamps) == before { // one of each pair
			return
		}
	}
}

// fasterHalf leaves out the slower of every two stamps, one after the other, of a node and whom it probed.
func fasterHalf(stamps []clockfile.Stamp) []clockfile.Stamp {
	first := map[[2]int32]int{} // of two: where it is kept
	kept := make([]clockfile.Stamp, 0, len(stamps)/2+1)
	for _, s := range stamps {
		k := [2]int32{s.Src, s.Dst}
		i, ok := first[k]
		switch {
		case !ok:
			first[k] = len(kept)
			kept = append(kept, s)
		default:
			if s.LongestTrip() < kept[i].LongestTrip() {
				kept[i] = s
			}
			delete(first, k)
		}
	}
	return kept
}

// readProbes reads probe files with read.
func readProbes(paths []string, read func(path string) (*clockfile.File, error)) (*probes, error) {
	p := &probes{}
	for _, path := range paths {
		f, err := read(path)
		if err != nil {
			return nil, err
		}
		switch f.Kind {
		case clockfile.KindStamps:
			p.add(f.Stamps, mostStamps)
			p.probers = append(p.probers, f.Probers...)
			p.metas = append(p.metas, f.Starts...)
		case clockfile.KindWindows:
			if len(f.Windows.Rows) == 0 && f.Windows.Meta.StartWalltimeNS == 0 { // a prober whom nobody answered, of either kind
				continue
			}
			p.windows = append(p.windows, f.Windows)
			if f.Windows.Meta != (clockfile.NodeMeta{}) {
				p.metas = append(p.metas, f.Windows.Meta)
			}
		default:
			return nil, wrongKind(f, "raw probe stamps or probe windows").WithPath(path)
		}
		if len(p.stamps) > 0 && len(p.windows) > 0 {
			return nil, fault.New(fault.Incompatible, "the probe files hold both raw stamps and windows").WithPath(path).WithHint("give one kind")
		}
	}
	return p, nil
}

func (p *probes) solve(ctx context.Context, opt offsets.Options) (*offsets.Solution, error) {
	if len(p.windows) > 0 {
		return offsets.SolveWindows(ctx, p.windows, opt)
	}
	s, err := offsets.SolveStamps(ctx, p.stamps, opt)
	if err == nil {
		s.Starts = p.metas
		if p.halve > 0 {
			s.Warnings = append(s.Warnings, fmt.Sprintf("of %d probe stamps %d are used, the fastest of every %d of a pair of nodes, over the whole time: no more are solved together",
				p.read, len(p.stamps), 1<<p.halve))
		}
	}
	return s, err
}
