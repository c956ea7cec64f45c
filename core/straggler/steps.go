package straggler

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
)

const (
	// longestStep is the most operations that a step of one rank may have.
	longestStep = 1 << 14
	// alike is the share of operations that must come again after a step.
	alike = 0.9
)

// FindSteps gives each operation its step: the operations of the rank that has most of them repeat, and a step is the shortest sequence that does. Other
// ranks' operations belong to the step in which their last member entered. A job that does not repeat has one step.
func (j *Job) FindSteps() {
	byRank, _ := j.sequence()
	longest := slices.MaxFunc(append(byRank, nil), func(a, b []int32) int { return cmp.Compare(len(a), len(b)) })
	names := map[string]int32{}
	symbols := make([]int32, len(longest))
	for i, e := range longest {
		class := j.Ops[j.Events[e].Op].Class
		n, ok := names[class]
		if !ok {
			n = int32(len(names))
			names[class] = n
		}
		symbols[i] = n
	}
	period := periodOf(symbols)
	j.StepsBy = StepsByRepeats
	if period >= len(symbols) {
		j.StepsBy = stepsByNothing
	}
	var begins []int64
	for i := 0; i < len(longest); i += period {
		begins = append(begins, j.Events[longest[i]].EnterNS)
		j.Steps = append(j.Steps, fmt.Sprint(len(begins)))
	}
	if len(begins) == 0 {
		return
	}
	entered := make([]int64, len(j.Ops))
	for i := range j.Events {
		x := &j.Events[i]
		entered[x.Op] = max(entered[x.Op], x.EnterNS)
	}
	for k := range j.Ops {
		j.Ops[k].Step = int32(max(sort.Search(len(begins), func(i int) bool { return begins[i] > entered[k] })-1, 0))
	}
	for i, e := range longest { // its own are known
		j.Ops[j.Events[e].Op].Step = int32(i / period)
	}
}

// FoundStep is a step that was found elsewhere, on the clock of the job.
type FoundStep struct {
	Name   string
	FromNS int64
}

// UseSteps gives each operation the step of a rank in which that rank entered it, or, where it took no part, in which its last member did. Steps ascend, and
// what was entered before the first is in none. false: fewer than two of them hold operations, and nothing was done.
func (j *Job) UseSteps(rank int32, steps []FoundStep) bool {
	entered, own := make([]int64, len(j.Ops)), make([]bool, len(j.Ops))
	for i := range entered {
		entered[i] = math.MinInt64
	}
	for i := range j.Events {
		x := &j.Events[i]
		switch {
		case x.Rank == rank && !own[x.Op]:
			entered[x.Op], own[x.Op] = x.EnterNS, true
		case !own[x.Op]:
			entered[x.Op] = max(entered[x.Op], x.EnterNS)
		}
	}
	of, held := make([]int32, len(j.Ops)), map[int32]bool{}
	for k := range j.Ops {
		of[k] = int32(sort.Search(len(steps), func(i int) bool { return steps[i].FromNS > entered[k] })) - 1
		if of[k] >= 0 {
			held[of[k]] = true
		}
	}
	if len(held) < 2 {
		return false
	}
	j.StepsBy, j.Steps = StepsByCycles, make([]string, len(steps))
	for i := range steps {
		j.Steps[i] = steps[i].Name
	}
	for k := range j.Ops {
		j.Ops[k].Step = of[k]
	}
	return true
}

// periodOf is the shortest distance after which most symbols come again; all of them where none does.
func periodOf(symbols []int32) int {
	n := len(symbols)
	for p := 1; p <= min(n/2, longestStep); p++ {
		same, wrong := 0, int(float64(n-p)*(1-alike))
		for i := p; i < n && wrong >= 0; i++ {
			if symbols[i] == symbols[i-p] {
				same++
			} else {
				wrong--
			}
		}
		if wrong >= 0 {
			return p
		}
	}
	return max(n, 1)
}
