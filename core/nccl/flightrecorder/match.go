package flightrecorder

import (
	"fmt"
	"slices"
	"strings"
)

// uneven are operations whose members may give and take different amounts.
var uneven = map[string]bool{"all_to_all": true, "all_to_all_single": true, "all_to_all_v_single": true, "alltoall": true, "alltoall_base": true}

// gathers and scatters are operations of which one side is as long as all members' other sides together.
var (
	gathers  = map[string]bool{"all_gather": true, "_all_gather_base": true, "all_gather_into_tensor_coalesced": true, "all_gather_single": true}
	scatters = map[string]bool{"reduce_scatter": true, "_reduce_scatter_base": true, "reduce_scatter_tensor_coalesced": true, "reduce_scatter_single": true}
)

// differs compares the k-th operation that ranks called under a number; nil where all are alike.
func (a *analysis) differs(g *group, by map[int]numbered, here []int, seq int64, k int) *finding {
	shape := func(rank int) *entry {
		if calls := by[rank][seq]; k < len(calls) {
			return calls[k]
		}
		return nil
	}
	if f := a.vote(here, func(rank int) string {
		if e := shape(rank); e != nil {
			return e.Name
		}
		return "nothing more"
	}, wrongOperation); f != nil {
		f.Op = majorityOp(here, shape, f)
		return f
	}
	op := shape(here[0])
	if f := a.vote(here, func(rank int) string { return sizesOf(op.Name, shape(rank)) }, wrongSize); f != nil {
		f.Op = op.Name
		return f
	}
	if f := a.numbersFit(g, here, shape); f != nil {
		return f
	}
	if f := a.vote(here, func(rank int) string { return typesOf(op.Name, shape(rank)) }, wrongType); f != nil {
		f.Op = op.Name
		return f
	}
	return nil
}

func majorityOp(here []int, shape func(int) *entry, f *finding) string {
	for _, rank := range here {
		if e := shape(rank); e != nil && (f.Even || !slices.Contains(f.Ranks, rank)) {
			return e.Name
		}
	}
	return ""
}

// vote sorts ranks by what they say; those that are not with the most are the culprits. What is said as "" agrees with everything.
func (a *analysis) vote(here []int, say func(rank int) string, class class) *finding {
	var kinds []string
	with := map[string][]int{}
	for _, rank := range here {
		s := say(rank)
		if s == "" {
			continue
		}
		if with[s] == nil {
			kinds = append(kinds, s)
		}
		with[s] = append(with[s], rank)
	}
	if len(kinds) < 2 {
		return nil
	}
	best, even := 0, false
	for i, kind := range kinds[1:] {
		switch n, m := len(with[kind]), len(with[kinds[best]]); {
		case n > m:
			best, even = i+1, false
		case n == m:
			even = true
		}
	}
	f := &finding{Class: class, Even: even}
	var parts []string
	for i, kind := range kinds {
		if even || i != best {
			f.Ranks = append(f.Ranks, with[kind]...)
		}
		parts = append(parts, fmt.Sprintf("%s: %s", named(with[kind]), kind))
	}
	slices.Sort(f.Ranks)
	f.Detail = strings.Join(parts, "; ")
	return f
}

// sizesOf is what must be the same on all ranks, by the operation. A root's list of parts is not.
func sizesOf(op string, e *entry) string {
	switch {
	case e == nil || uneven[op] || len(e.InputSizes)+len(e.OutputSizes) == 0:
		return ""
	case op == "scatter":
		return fmt.Sprint("output ", e.OutputSizes)
	case op == "gather":
		return fmt.Sprint("input ", e.InputSizes)
	}
	return fmt.Sprint("input ", e.InputSizes, ", output ", e.OutputSizes)
}

// typesOf is what must be the same on all ranks. A side without elements has no type that counts.
func typesOf(op string, e *entry) string {
	if e == nil {
		return ""
	}
	in, out := typesWhere(e.InputTypes, e.InputSizes), typesWhere(e.OutputTypes, e.OutputSizes)
	switch {
	case op == "scatter" || op == "broadcast":
		in = ""
	case op == "gather":
		out = ""
	}
	switch {
	case in == "":
		return out
	case out == "" || in == out:
		return in
	}
	return in + " -> " + out
}

// typesWhere lists the types of what has elements, each once.
func typesWhere(types []string, sizes [][]int64) string {
	var out []string
	for i, t := range types {
		if t != "" && i < len(sizes) && elements(sizes[i:i+1]) > 0 && len(sizes[i]) > 0 && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	slices.Sort(out)
	return strings.Join(out, "+")
}

// elements adds up what shapes hold; a number beyond 2^62 stays there.
func elements(shapes [][]int64) int64 {
	const most = int64(1) << 62
	total := int64(0)
	for _, shape := range shapes {
		n := int64(1)
		for _, d := range shape {
			if d <= 0 {
				n = 0
				break
			}
			if n > most/d {
				n = most
				break
			}
			n *= d
		}
		total = min(total+n, most)
	}
	return total
}

// numbersFit checks the sizes of each rank's sides against each other: a gathered side holds every member's part, what all give in an alltoall is what
// all take.
func (a *analysis) numbersFit(g *group, here []int, shape func(int) *entry) *finding {
	op := shape(here[0]).Name
	var wrong []int
	detail := ""
	given, taken := int64(0), int64(0)
	for _, rank := range here {
		e := shape(rank)
		in, out := elements(e.InputSizes), elements(e.OutputSizes)
		given, taken = min(given+in, 1<<62), min(taken+out, 1<<62)
		n := int64(len(g.ranks))
		bad := gathers[op] && !holds(out, in, n) || scatters[op] && !holds(in, out, n) || (op == "all_reduce" || op == "allreduce_coalesced") && in != out
		if bad && len(e.InputSizes) > 0 && len(e.OutputSizes) > 0 {
			wrong = append(wrong, rank)
			detail = fmt.Sprintf("input of %d and output of %d elements in a group of %d", in, out, n)
		}
	}
	switch {
	case len(wrong) > 0:
		return &finding{Class: wrongSize, Op: op, Ranks: wrong, Detail: named(wrong) + ": " + detail, Even: len(wrong) == len(here)}
	case uneven[op] && len(here) == len(g.ranks) && given != taken:
		return &finding{
			Class: wrongSize, Op: op, Ranks: slices.Clone(here), Even: true,
			Detail: fmt.Sprintf("all members together give %d elements and take %d", given, taken),
		}
	}
	return nil
}

// holds reports whether the long side has n times the short one. A rank that wrote the list of its members' buffers has as many.
func holds(long, short, n int64) bool { return short > (1<<62)/max(n, 1) || long == short*n }

// named lists ranks: "rank 3", "ranks 0 to 4, 7".
func named(ranks []int) string {
	if len(ranks) == 0 {
		return "no rank"
	}
	var parts []string
	for i := 0; i < len(ranks); {
		j := i
		for j+1 < len(ranks) && ranks[j+1] == ranks[j]+1 {
			j++
		}
		switch {
		case j-i >= 2:
			parts = append(parts, fmt.Sprintf("%d to %d", ranks[i], ranks[j]))
		default:
			for k := i; k <= j; k++ {
				parts = append(parts, fmt.Sprint(ranks[k]))
			}
		}
		i = j + 1
	}
	if len(ranks) == 1 {
		return "rank " + parts[0]
	}
	return "ranks " + strings.Join(parts, ", ")
}
