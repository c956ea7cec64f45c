package combine

import (
	"context"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/timeline/clockfile"
	"github.com/prlx-go/prlx/core/timeline/offsets"
)

// probes is what a set of probe files holds: stamps or windows, never both.
type probes struct {
	stamps  []clockfile.Stamp
	windows []*clockfile.Windows
	metas   []clockfile.NodeMeta
	probers []clockfile.Prober
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
			if len(p.stamps)+len(f.Stamps) > clockfile.MaxRows {
				return nil, fault.New(fault.Limit, "more than %d probe stamps in all", clockfile.MaxRows).WithPath(path)
			}
			p.stamps = append(p.stamps, f.Stamps...)
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
	}
	return s, err
}
