package straggler

// chart draws what each rank cost in each step, says whether it was always late, and shows the most expensive steps.
func (f *finder) chart(late []lateness, chain []hop) {
	f.drawMap(late)
	f.stability(late)
	f.drawSteps(late, chain)
}

// drawMap fills Document.Map. Its columns are the steps of the document.
func (f *finder) drawMap(late []lateness) {
	d := f.doc
	m := &d.Map
	m.Columns, m.CostNS, m.GainNS, m.LateNS = []MapColumn{}, [][]int64{}, [][]int64{}, [][]int64{}
	if len(d.Ranks) == 0 || len(d.Steps) == 0 || len(d.Ranks) > MapCells {
		return
	}
	each := (len(d.Steps)*len(d.Ranks) + MapCells - 1) / MapCells // steps of a column
	column := f.columns(each)
	row := make([]int, len(f.order))
	for i, r := range f.order {
		row[r] = i
		m.CostNS, m.GainNS, m.LateNS = append(m.CostNS, make([]int64, len(m.Columns))), append(m.GainNS, make([]int64, len(m.Columns))), append(m.LateNS, make([]int64, len(m.Columns)))
	}
	at := func(e int32) (r, c int, ok bool) {
		x := &f.job.Events[e]
		step := f.job.Ops[x.Op].Step
		if step < 0 || column[step] < 0 {
			return 0, 0, false
		}
		return row[x.Rank], column[step], true
	}
	for i := range late {
		l := &late[i]
		if r, c, ok := at(l.event); ok && !l.transfer {
			m.CostNS[r][c] += l.costNS
			m.GainNS[r][c] += l.gainNS
		}
	}
	for e, ns := range f.lateBy {
		if r, c, ok := at(int32(e)); ok && f.counts[f.job.Events[e].Op] && f.judged[f.job.Events[e].Op].state != notBegun {
			m.LateNS[r][c] = max(m.LateNS[r][c], ns)
		}
	}
}

// columns makes the columns of the map, and says by step of the job which is its own; -1: none.
func (f *finder) columns(each int) []int {
	m, out := &f.doc.Map, make([]int, len(f.steps))
	n := 0
	for s := range f.steps {
		st := &f.steps[s]
		out[s] = -1
		if st.FromNS > st.ToNS {
			continue
		}
		if n%each == 0 {
			m.Columns = append(m.Columns, MapColumn{From: st.Name, FromNS: st.FromNS, ToNS: st.ToNS})
		}
		c := &m.Columns[len(m.Columns)-1]
		c.To, c.Steps, c.FromNS, c.ToNS = st.Name, c.Steps+1, min(c.FromNS, st.FromNS), max(c.ToNS, st.ToNS)
		out[s] = len(m.Columns) - 1
		n++
	}
	return out
}

// stability says of each rank in which steps it was late.
func (f *finder) stability(late []lateness) {
	d := f.doc
	number, names := make([]int, len(f.steps)), make([]string, 0, len(d.Steps))
	for s := range f.steps {
		if number[s] = -1; f.steps[s].FromNS <= f.steps[s].ToNS {
			number[s], names = len(names), append(names, f.steps[s].Name)
		}
	}
	n := len(names)
	if n == 0 {
		return
	}
	cost := make([]map[int]int64, len(f.ranks))
	for i := range late {
		l := &late[i]
		step := f.job.Ops[l.op].Step
		if l.transfer || l.costNS == 0 || step < 0 || number[step] < 0 {
			continue
		}
		r := f.job.Events[l.event].Rank
		if cost[r] == nil {
			cost[r] = map[int]int64{}
		}
		cost[r][number[step]] += l.costNS
	}
	half := (n + 1) / 2
	for i, r := range f.order {
		s := &d.Ranks[i].Stability
		first, last := n, -1
		for step, ns := range cost[r] {
			first, last = min(first, step), max(last, step)
			if step < half {
				s.FirstHalfNS += ns
			} else {
				s.SecondHalfNS += ns
			}
		}
		if last >= 0 {
			s.First, s.Last = names[first], names[last]
		}
		s.Steps = len(cost[r])
		s.Share = rounded(float64(s.Steps) / float64(n))
		s.FirstHalfNS /= int64(half)
		s.SecondHalfNS /= int64(max(n-half, 1))
	}
}
