package chrometrace

import (
	"cmp"
	"slices"

	"github.com/prlx-go/prlx/core/trace/work"
)

// pair makes events of begins and ends: on each thread an end closes the latest begin that is open.
func (c *workReader) pair() error {
	h := c.halves
	slices.SortFunc(h, func(a, b half) int {
		switch {
		case a.of != b.of:
			if a.of == c.g {
				return -1
			}
			return 1
		case a.lane != b.lane:
			return cmp.Compare(a.lane, b.lane)
		case a.ps != b.ps:
			return cmp.Compare(a.ps, b.ps)
		case a.begin != b.begin: // an end at the time of a begin belongs to the one before
			if b.begin {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.number, b.number))
	})
	var open []half
	for i := range h {
		x := &h[i]
		if i > 0 && (h[i-1].of != x.of || h[i-1].lane != x.lane) {
			unpaired(open)
			open = open[:0]
		}
		if x.of != c.g && x.of != c.other {
			continue
		}
		if x.begin {
			open = append(open, *x)
			continue
		}
		if len(open) == 0 {
			continue // ends something that nobody wanted
		}
		b := open[len(open)-1]
		open = open[:len(open)-1]
		g := b.of
		var err error
		switch b.what {
		case uselessClass:
		case hostMark, deviceMark:
			m := work.RawMark{Process: g.Lanes[b.lane].Process, Lane: b.lane, Start: b.ps, End: x.ps}
			if b.what == hostMark {
				m.Lane = work.NoLane
			}
			err = g.Mark(m, []byte(g.Texts.All[b.name]))
		default:
			err = g.Numbered(b.name, b.ps, x.ps-b.ps, b.lane, b.corr, 0)
		}
		if err != nil {
			return err
		}
	}
	unpaired(open)
	c.halves = nil
	return nil
}

// unpaired counts begins without an end.
func unpaired(open []half) {
	for i := range open {
		if open[i].what == kernelClass || open[i].what == unknownClass {
			open[i].of.Losses.Unpaired++
		}
	}
}
