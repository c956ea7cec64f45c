package job

import "sync/atomic"

// Progress counts the work of one job. Any number of goroutines may write while others read; a nil *Progress ignores all.
type Progress struct{ stage atomic.Pointer[stage] }

// stage is one named part of the work. A new stage gets new counters, so that a late Add of the old one cannot leak into it
// and a reader never sees the name of one stage beside the counts of another.
type stage struct {
	name        string
	done, total atomic.Int64
}

func (p *Progress) current() *stage {
	for {
		if s := p.stage.Load(); s != nil {
			return s
		}
		p.stage.CompareAndSwap(nil, new(stage))
	}
}

// SetStage starts a new part of the work: its counters begin at 0.
func (p *Progress) SetStage(name string) {
	if p != nil {
		p.stage.Store(&stage{name: name})
	}
}

// SetTotal says how much work the stage has, in the unit of Add (usually bytes); 0 means unknown.
func (p *Progress) SetTotal(n int64) {
	if p != nil {
		p.current().total.Store(n)
	}
}

// Add counts n more units of work as done.
func (p *Progress) Add(n int64) {
	if p != nil {
		p.current().done.Add(n)
	}
}

// Read returns the name of the stage and its counters.
func (p *Progress) Read() (name string, done, total int64) {
	if p == nil {
		return "", 0, 0
	}
	s := p.current()
	return s.name, s.done.Load(), s.total.Load()
}
