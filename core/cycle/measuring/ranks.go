package measuring

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/cycle/sample"
	"github.com/prlx-go/prlx/core/cycle/structure"
)

// compareRanks finds the slowest rank of each step.
func (f *measurer) compareRanks() {
	r := f.r
	devices := r.StepsByDevice()
	if len(devices) < 2 {
		return
	}
	table, lined := lineUp(r, devices)
	if !lined {
		return
	}
	for number, row := range table {
		rs := cycledoc.RankStep{Number: int64(number)}
		var own []int64
		slow := -1
		for _, i := range row {
			if i < 0 {
				continue
			}
			own = append(own, r.Steps[i].OwnNS)
			if slow < 0 || r.Steps[i].OwnNS > r.Steps[slow].OwnNS {
				slow = i
			}
		}
		rs.Ranks = len(own)
		if rs.Ranks < 2 {
			continue
		}
		st := &r.Steps[slow]
		s := r.Seq(r.Tracks[st.Track])
		rs.Slowest, rs.Device, rs.OwnNS, rs.MedianNS = max(0, s.Rank), s.Device, st.OwnNS, sample.Median(own)
		if one := oneClass(r, row); one >= 0 {
			rs.Class = cycledoc.ID(r.Classes[one].ID)
		}
		rs.ExcessNS = rs.OwnNS - rs.MedianNS
		if rs.MedianNS > 0 {
			rs.Excess = float64(rs.ExcessNS) / float64(rs.MedianNS)
		}
		r.Ranks = append(r.Ranks, rs)
	}
}

// oneClass is the class that all steps of a row have, -1 where they differ.
func oneClass(r *structure.Run, row []int) int32 {
	class := int32(-2)
	for _, i := range row {
		if i >= 0 && class != -2 && r.Steps[i].Class != class {
			return -1
		}
		if i >= 0 {
			class = r.Steps[i].Class
		}
	}
	return class
}

// lineUp puts the steps of all devices that are one step into one row: by the numbers that marks give them, else by their order. Without
// numbers, and with different counts or kinds of steps, nobody can say which belong together.
func lineUp(r *structure.Run, devices [][]int) (table [][]int, ok bool) {
	if rows := byNumber(r, devices); rows != nil {
		return rows, true
	}
	n, differ := len(devices[0]), 0
	for _, d := range devices[1:] {
		if len(d) != n {
			r.Warnings = append(r.Warnings, fmt.Sprintf("the devices have between %d and %d steps and no mark numbers them: the slowest rank is not told", shortest(devices), longest(devices)))
			return nil, false
		}
	}
	classes := make([]map[int32]int32, len(devices)) // of a device, by the class of the first
	for i := range classes {
		classes[i] = map[int32]int32{}
	}
	for k := range n {
		row := make([]int, len(devices))
		first := r.Steps[devices[0][k]].Class
		for i, d := range devices {
			row[i] = d[k]
			class := r.Steps[d[k]].Class
			if was, ok := classes[i][first]; !ok {
				classes[i][first] = class // stages of a pipeline have classes of their own
			} else if was != class {
				differ++
			}
		}
		table = append(table, row)
	}
	if 100*differ > differPercent*n*(len(devices)-1) {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d steps are of another class than those of the first device: the slowest rank is not told", differ))
		return nil, false
	}
	return table, true
}

// byNumber lines steps up by the numbers of their marks; nil where a step has none.
func byNumber(r *structure.Run, devices [][]int) [][]int {
	rows := map[int64][]int{}
	var numbers []int64
	for d, steps := range devices {
		for _, i := range steps {
			m := r.Steps[i].Mark
			if m < 0 || r.Trace.Marks[m].Step < 0 {
				return nil
			}
			n := r.Trace.Marks[m].Step
			if rows[n] == nil {
				rows[n] = make([]int, len(devices))
				for k := range rows[n] {
					rows[n][k] = -1
				}
				numbers = append(numbers, n)
			}
			rows[n][d] = i
		}
	}
	slices.Sort(numbers)
	out := make([][]int, len(numbers))
	for k, n := range numbers {
		out[k] = rows[n]
	}
	return out
}

func shortest(l [][]int) int {
	return len(slices.MinFunc(l, func(a, b []int) int { return cmp.Compare(len(a), len(b)) }))
}

func longest(l [][]int) int {
	return len(slices.MaxFunc(l, func(a, b []int) int { return cmp.Compare(len(a), len(b)) }))
}
