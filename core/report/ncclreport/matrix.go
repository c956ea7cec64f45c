package ncclreport

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/prlx-go/prlx/core/nccl/dividing"
	"github.com/prlx-go/prlx/core/report/figure"
	"github.com/prlx-go/prlx/core/report/foreign"
	"github.com/prlx-go/prlx/core/report/sheet"
)

const (
	maxMatrix  = 256 // ranks
	matrixName = 24  // characters of a name
)

// matrixOf draws who waited for whom: a row is the rank that waited, a column the one that it waited for. nil: nobody waited, or it is not known.
func matrixOf(d *dividing.Document) *sheet.Map {
	chosen := chooseRanks(d)
	place := map[string]int{}
	m := &sheet.Map{
		Title: "Who waited for whom", Label: "waiting by rank and by the rank that was waited for", Help: "map of who waited for whom; arrow keys move through it", Square: true,
		Note: "A row is a rank whose kernel had begun, a column the rank whose kernel began last. The stronger the colour, the longer the one waited for the other, over all operations that were divided.",
		Says: "waited {}", Nothing: "did not wait", AlsoSays: "{} of it where it is certain who began last",
	}
	for _, id := range chosen {
		place[id] = len(m.Rows)
		m.Rows = append(m.Rows, foreign.Clean(rankName(id), matrixName))
		m.Columns = append(m.Columns, "for "+foreign.Clean(rankName(id), matrixName))
		m.Tops = append(m.Tops, foreign.Clean(id, matrixName))
		m.NS, m.Also = append(m.NS, make([]int64, len(chosen))), append(m.Also, make([]int64, len(chosen)))
	}
	for i := range d.Waits {
		w := &d.Waits[i]
		row, ok := place[w.Rank]
		column, known := place[w.For]
		if ok && known {
			m.NS[row][column], m.Also[row][column] = w.WaitingNS, w.CertainNS
		}
	}
	if n := len(d.Ranks) - len(chosen); n > 0 {
		m.Note += fmt.Sprintf(" %s not drawn.", figure.Plural(n, "rank that waited less is", "ranks that waited less are"))
	}
	if n := d.WaitsLeftOut; n > 0 {
		m.Note += fmt.Sprintf(" %s that waited least are not in the document.", figure.Plural(n, "pair", "pairs"))
	}
	if !m.Draw() {
		return nil
	}
	return m
}

// rankNumber is the number of a rank; those without one come last.
func rankNumber(id string) int {
	if n, err := strconv.Atoi(id); err == nil {
		return n
	}
	return math.MaxInt
}

// chooseRanks are the ranks that are drawn, in order: all, or those that waited, or were waited for, most.
func chooseRanks(d *dividing.Document) []string {
	var ids []string
	for i := range d.Ranks {
		ids = append(ids, d.Ranks[i].ID)
	}
	slices.SortStableFunc(ids, func(x, y string) int { return cmp.Compare(rankNumber(x), rankNumber(y)) })
	if len(ids) <= maxMatrix {
		return ids
	}
	cost := map[string]int64{}
	for i := range d.Waits {
		cost[d.Waits[i].For] += d.Waits[i].WaitingNS
		cost[d.Waits[i].Rank] += d.Waits[i].WaitingNS
	}
	most := slices.Clone(ids)
	slices.SortStableFunc(most, func(x, y string) int { return cmp.Compare(cost[y], cost[x]) })
	keep := map[string]bool{}
	for _, id := range most[:maxMatrix] {
		keep[id] = true
	}
	return slices.DeleteFunc(ids, func(id string) bool { return !keep[id] })
}
