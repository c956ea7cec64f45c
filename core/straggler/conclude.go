package straggler

import (
	"fmt"

	"github.com/prlx-go/prlx/core/verdict"
)

// rests adds to what the document rests on what the job tells, and concludes.
func (f *finder) rests(e verdict.Evidence) {
	d, j := f.doc, f.job
	e.Looked("operations", int64(d.Operations.Count))
	type missing struct{ seen, of int }
	short := map[string]missing{}
	members := make([]int, len(j.Ops))
	for i := range j.Events {
		members[j.Events[i].Op]++
	}
	var order []string
	for k := range j.Ops {
		o := &j.Ops[k]
		if !f.counts[k] || o.Members <= members[k] || members[k] == 0 {
			continue
		}
		had, ok := short[o.Group]
		if !ok {
			order = append(order, o.Group)
		}
		short[o.Group] = missing{max(had.seen, members[k]), max(had.of, o.Members)}
	}
	e.Looked("ranks", int64(len(j.Ranks)))
	for _, group := range order {
		if m := short[group]; m.seen < m.of {
			e.Missed("ranks of "+group, int64(m.of-m.seen), fmt.Sprintf("it has %d, and %d were looked at", m.of, m.seen))
		}
	}
	if n := d.Operations.Count; n > 0 && n < leastAlike {
		e.Lacks("repetitions", fmt.Sprintf("%d operations at least show whether a rank was late by chance", leastAlike))
	}
	d.conclude(&e)
}

// conclude says what the document comes to: blamed is failed, nobody is passed where nothing is missing. Its status and its sentence agree with that.
func (d *Document) conclude(e *verdict.Evidence) {
	switch d.Status {
	case StatusBlamed:
		d.Conclusion = e.Check(true, d.Verdict)
	case StatusNobody:
		if d.Conclusion = e.Check(false, d.Verdict); !d.Conclusion.Good() {
			d.Status, d.Verdict = StatusInconclusive, d.Conclusion.Why
		}
	default:
		d.Conclusion = e.Open(d.Verdict)
	}
}
