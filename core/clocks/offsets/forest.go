package offsets

import (
	"cmp"
	"slices"
)

// forest is the spanning tree of the heaviest rows of equations. What it alone would make of a residual is close to what all rows make of
// it, for weights are many orders apart: that is what conjugate gradients start from.
type forest struct {
	heavy []int   // rows, the heaviest first
	root  []int   // by clock: union of those that are joined
	near  [][]int // by clock: rows of the tree
	order []int   // clocks, parents first; without the ground
	up    []int   // by clock: its parent
	w     []float64
	seen  []bool
	flow  []float64
}

func newForest(clocks int) forest {
	return forest{
		root: make([]int, clocks), near: make([][]int, clocks), up: make([]int, clocks), w: make([]float64, clocks),
		seen: make([]bool, clocks), flow: make([]float64, clocks),
	}
}

func (f *forest) find(i int) int {
	for f.root[i] != i {
		f.root[i] = f.root[f.root[i]]
		i = f.root[i]
	}
	return i
}

// grow makes the tree of the rows, from the ground.
func (f *forest) grow(rows []equation, ground int) {
	f.heavy = f.heavy[:0]
	for i := range rows {
		f.heavy = append(f.heavy, i)
	}
	slices.SortFunc(f.heavy, func(a, b int) int { return cmp.Or(cmp.Compare(rows[b].w, rows[a].w), cmp.Compare(a, b)) })
	for i := range f.root {
		f.root[i], f.near[i], f.seen[i] = i, f.near[i][:0], false
	}
	for _, i := range f.heavy {
		a, b := rows[i].a, rows[i].b
		if ra, rb := f.find(a), f.find(b); ra != rb {
			f.root[ra] = rb
			f.near[a], f.near[b] = append(f.near[a], i), append(f.near[b], i)
		}
	}
	f.seen[ground] = true
	f.order = append(f.order[:0], ground)
	for k := 0; k < len(f.order); k++ {
		i := f.order[k]
		for _, r := range f.near[i] {
			if next := rows[r].a + rows[r].b - i; !f.seen[next] {
				f.seen[next], f.up[next], f.w[next] = true, i, rows[r].w
				f.order = append(f.order, next)
			}
		}
	}
	f.order = f.order[1:]
}

// solve finds the corrections z that the tree makes of the residuals; 0 for clocks that it does not reach.
func (f *forest) solve(res, z []float64) {
	clear(z)
	for i := range f.flow {
		f.flow[i] = res[i]
	}
	for k := len(f.order) - 1; k >= 0; k-- {
		i := f.order[k]
		f.flow[f.up[i]] += f.flow[i]
	}
	for _, i := range f.order {
		z[i] = z[f.up[i]] + f.flow[i]/f.w[i]
	}
}
