package simulation

import (
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/simulator/simt"
	"github.com/prlx-go/prlx/core/simulator/simt/code"
	"github.com/prlx-go/prlx/core/simulator/simt/execute"
	"github.com/prlx-go/prlx/core/simulator/simt/lane"
	"github.com/prlx-go/prlx/core/simulator/simt/sites"
	"github.com/prlx-go/prlx/core/simulator/watch"
)

// Watch says what else is looked at while a launch runs.
type Watch struct {
	Touched bool           `json:"touched"` // which blocks touch which elements of which array
	Layouts []watch.Layout `json:"layouts"` // of the allocations, by their order; may be short
	Breaks  []watch.Place  `json:"breaks"`  // lines at which lanes are looked at
	Stops   int            `json:"stops"`   // that are kept, 0: 100
}

// maxBreaks bounds the lines at which a launch stops.
const maxBreaks = 64

// watched is what is seen of one launch; nil sees nothing.
type watched struct {
	asked   *Watch
	launch  *simt.Launch
	touched *watch.Touched
	stops   *watch.Stops
	with    func(k *code.Kernel, list *sites.List, recorder execute.Observer) execute.Observer
}

// watched prepares for a launch.
func (w *Watch) watched(l *simt.Launch) (*watched, error) {
	seen := &watched{asked: w, launch: l}
	if w == nil || !w.Touched && len(w.Breaks) == 0 {
		return seen, nil
	}
	if len(w.Breaks) > maxBreaks {
		return nil, fault.Usagef("breaks: %d lines, at most %d are possible", len(w.Breaks), maxBreaks)
	}
	for _, p := range w.Breaks {
		if p.Lane != nil && (*p.Lane < 0 || *p.Lane >= lane.Lanes) {
			return nil, fault.Usagef("breaks: there is no lane %d", *p.Lane).WithHint("a warp has the lanes 0 to %d", lane.Lanes-1)
		}
		if p.File == "" || p.Line == 0 {
			return nil, fault.Usagef("breaks: expected a line of a file, got line %d of %q", p.Line, p.File).WithHint("FILE:LINE, or FILE:LINE:LANE")
		}
	}
	seen.with = seen.observers
	return seen, nil
}

// observers are all who look at the launch.
func (s *watched) observers(k *code.Kernel, _ *sites.List, recorder execute.Observer) execute.Observer {
	var touched, stops execute.Observer
	if s.asked.Touched {
		touched = watch.ObserveTouch(k, s.launch, s.asked.Layouts, func(t *watch.Touched) { s.touched = t })
	}
	if len(s.asked.Breaks) > 0 {
		stops = watch.ObserveStops(k, s.launch, s.asked.Breaks, s.asked.Stops, func(t *watch.Stops) { s.stops = t })
	}
	return watch.All(recorder, touched, stops)
}

// describe adds what was seen to the document of the launch.
func (s *watched) describe(doc *Document) *Document {
	doc.Touched, doc.Stopped = s.touched, s.stops
	return doc
}
