package kernels

import (
	"cmp"
	"math"
	"slices"
)

// Annotations of the host are tied to kernels in three steps: the calls that were made inside of an annotation give correlation ids, the
// kernels with these ids are those of the annotation, and from the first to the last of them goes the mark. Annotations nest, so that they are
// taken apart into layers, in each of which they do not overlap; one pass over calls and kernels does a layer. It does not matter in which
// order the file has them.

// maxLayers bounds how deep annotations may nest to be tied to kernels.
const maxLayers = 24

// extent is what kernels of one lane span for one mark.
type extent struct {
	first, last int64 // ps of start, ps of end
	kernels     int
}

type markLane struct {
	mark uint32
	lane uint16
}

// launchMarks finds for each of the given marks of the host (places in g.marks) what kernels were launched inside of it.
func (g *gather) launchMarks(hosts []uint32) map[markLane]*extent {
	found := map[markLane]*extent{}
	if len(hosts) == 0 || g.Launches.At.N == 0 {
		return found
	}
	groups := g.groups()
	for _, layer := range g.layers(hosts) {
		tables := g.callTable(layer, groups)
		g.seeKernels(tables, found)
	}
	return found
}

func (g *gather) groups() int {
	n := 0
	for i := range g.Processes {
		n = max(n, int(g.Processes[i].Group)+1)
	}
	return n
}

// layers puts marks into lists that do not overlap, each in order of start; the marks of all groups side by side.
func (g *gather) layers(hosts []uint32) [][]uint32 {
	slices.SortFunc(hosts, func(x, y uint32) int {
		a, b := &g.Marks[x], &g.Marks[y]
		return cmp.Or(cmp.Compare(g.Processes[a.Process].Group, g.Processes[b.Process].Group), cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End),
			cmp.Compare(g.Texts.All[a.Text], g.Texts.All[b.Text]))
	})
	var out [][]uint32
	var ends []int64
	group := -1
	for _, h := range hosts {
		m := &g.Marks[h]
		if p := int(g.Processes[m.Process].Group); p != group {
			group = p
			for i := range ends {
				ends[i] = math.MinInt64
			}
		}
		k := 0
		for k < len(ends) && ends[k] > m.Start {
			k++
		}
		if k == len(ends) {
			if k == maxLayers {
				g.Losses.LostMarks++
				continue
			}
			out, ends = append(out, nil), append(ends, 0)
		}
		out[k], ends[k] = append(out[k], h), m.End
	}
	return out
}

// callTable tells, for every group, which mark of a layer a correlation id was used in.
type callTable struct {
	first uint32
	marks []uint32          // by id - first: place in g.marks + 1, 0 none
	far   map[uint32]uint32 // the same where ids lie far apart
}

func (t *callTable) mark(corr uint32) (uint32, bool) {
	if t.far != nil {
		m, ok := t.far[corr]
		return m, ok
	}
	i := corr - t.first
	if corr < t.first || int64(i) >= int64(len(t.marks)) || t.marks[i] == 0 {
		return 0, false
	}
	return t.marks[i] - 1, true
}

func (g *gather) callTable(layer []uint32, groups int) []callTable {
	spans := make([][]uint32, groups) // the layer, by group
	for _, m := range layer {
		p := g.Processes[g.Marks[m].Process].Group
		spans[p] = append(spans[p], m)
	}
	low, high := make([]uint32, groups), make([]uint32, groups)
	g.eachCall(spans, func(group uint16, corr, _ uint32) {
		if high[group] == 0 || corr < low[group] {
			low[group] = corr
		}
		high[group] = max(high[group], corr)
	})
	tables := make([]callTable, groups)
	for i := range tables {
		tables[i].first = low[i]
		switch n := int64(high[i]) - int64(low[i]) + 1; {
		case high[i] == 0:
		case n <= maxTable:
			tables[i].marks = make([]uint32, n)
		default:
			tables[i].far = map[uint32]uint32{}
		}
	}
	g.eachCall(spans, func(group uint16, corr, mark uint32) {
		t := &tables[group]
		if t.far != nil {
			if old, ok := t.far[corr]; !ok || mark < old {
				t.far[corr] = mark
			}
			return
		}
		if old := t.marks[corr-t.first]; old == 0 || mark+1 < old {
			t.marks[corr-t.first] = mark + 1
		}
	})
	return tables
}

// eachCall visits the calls that lie inside of a mark. spans are the marks of each group, in order, without overlap.
func (g *gather) eachCall(spans [][]uint32, visit func(group uint16, corr, mark uint32)) {
	last := make([]int, len(spans))
	for b, block := range g.Launches.At.Blocks {
		for i, at := range block {
			group := g.Processes[g.Launches.Process.Blocks[b][i]].Group
			list := spans[group]
			k := last[group]
			if k >= len(list) || g.Marks[list[k]].Start > at || k+1 < len(list) && g.Marks[list[k+1]].Start <= at {
				k, _ = slices.BinarySearchFunc(list, at, func(m uint32, at int64) int {
					if g.Marks[m].Start <= at {
						return -1
					}
					return 1
				})
				if k--; k < 0 {
					continue
				}
				last[group] = k
			}
			if at < g.Marks[list[k]].End || at == g.Marks[list[k]].Start {
				visit(group, g.Launches.Corr.Blocks[b][i], list[k])
			}
		}
	}
}

// seeKernels notes the extents of the kernels that a layer's calls launched.
func (g *gather) seeKernels(tables []callTable, found map[markLane]*extent) {
	var last markLane
	var x *extent
	for i := range uint32(g.Rows.Len()) {
		lane := g.Rows.Lane.At(i)
		corr := g.Rows.Corr.At(i)
		if corr == 0 || g.Lanes[lane].Skip {
			continue
		}
		m, ok := tables[g.Processes[g.Lanes[lane].Process].Group].mark(corr)
		if !ok {
			continue
		}
		start := g.Rows.Start.At(i)
		end := start + min(g.Rows.DurNS(i), longestNS)*psPerNS
		if k := (markLane{m, lane}); x == nil || k != last {
			last = k
			if x = found[k]; x == nil {
				x = &extent{first: start, last: end}
				found[k] = x
			}
		}
		x.first, x.last = min(x.first, start), max(x.last, end)
		x.kernels++
	}
}
