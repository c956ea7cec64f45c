package cyclereport

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/report/figure"
)

// detail is one class with its kernels.
type detail struct {
	Anchor, Name, Size string
	Open               bool
	Says               []string
	Slots              []slotRow
	SlotsNote          string
	Beside             []besideRow
	Outliers           []outlierRow
	OutliersNote       string
}

type slotRow struct{ Slot, Name, Note, Belongs, Mean, P50, P99, Min, Max, CV, Gap, Share, Bar string }

type besideRow struct{ Name, Stream, Per, Mean, Hidden string }

type outlierRow struct{ Repetition, Where, At, Wall, Median, Score, Blame string }

func newDetail(d *cycledoc.Document, c *cycledoc.Class, open bool) detail {
	out := detail{Anchor: anchor(c), Name: clean(c.Name, maxName), Size: fmt.Sprintf("%s × %s", figure.Count(c.Count), figure.Plural(c.Period, "kernel", "kernels")), Open: open, Says: says(c)}
	keep := keepSlots(c)
	most := 0.0
	for i := range c.Kernels {
		most = max(most, c.Kernels[i].Share)
	}
	for i := range c.Kernels {
		if keep[i] {
			out.Slots = append(out.Slots, newSlotRow(c, &c.Kernels[i], most))
		}
	}
	if n := len(c.Kernels) - len(out.Slots); n > 0 {
		out.SlotsNote = fmt.Sprintf("The %s most expensive kernels of %s; CSV and JSON have all.", figure.Count(len(out.Slots)), figure.Count(len(c.Kernels)))
	}
	for i := range c.Beside[:min(len(c.Beside), 20)] {
		b := &c.Beside[i]
		out.Beside = append(out.Beside, besideRow{clean(b.Name, maxName), clean(b.Stream, 60), strconv.FormatFloat(b.PerRepetition, 'f', 1, 64), figure.Duration(b.MeanNS), percent(b.HiddenShare)})
	}
	for i := range c.Outliers {
		o := &c.Outliers[i]
		out.Outliers = append(out.Outliers, outlierRow{
			figure.Count(o.Repetition), where(d, o.Rank, o.Device), figure.Duration(o.StartNS), figure.Duration(o.WallNS), figure.Duration(o.MedianNS), strconv.FormatFloat(o.Score, 'f', 1, 64),
			fmt.Sprintf("%s (%s)", clean(o.SlotName, maxName), signed(float64(o.SlotNS))),
		})
	}
	if c.OutliersTotal > 0 {
		out.OutliersNote = fmt.Sprintf("%s far from the median of the device by the robust z of their wall time, and by at least 5 %%.", figure.Plural(c.OutliersTotal, "repetition lies", "repetitions lie"))
	}
	return out
}

// says is what is known of a class beside its numbers.
func says(c *cycledoc.Class) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, clean(fmt.Sprintf(format, args...), maxText)) }
	if c.Source != "inferred" {
		add("Defined by %s marks.", c.Source)
	}
	if c.Phase != cycledoc.PhaseUnknown && c.Phase != "" || len(c.PhaseReadings) > 1 {
		add("Phase %s: %s.", phaseWord(c), c.PhaseReason)
	}
	if len(c.Marks) > 0 {
		add("Marks around it: %s.", joined(c.Marks, 4))
	}
	if c.Drift != nil {
		add("Drift: %s.", c.Drift.Description)
	}
	return out
}

func joined(list []string, most int) string {
	text := ""
	for i, s := range list[:min(len(list), most)] {
		if i > 0 {
			text += ", "
		}
		text += "“" + clean(s, 120) + "”"
	}
	if n := len(list) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// keepSlots picks the most expensive kernels of a class that has too many for a page.
func keepSlots(c *cycledoc.Class) []bool {
	keep := make([]bool, len(c.Kernels))
	order := make([]int, len(c.Kernels))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.Kernels[b].Share, c.Kernels[a].Share) })
	for _, i := range order[:min(len(order), maxPageSlots)] {
		keep[i] = true
	}
	return keep
}

// barWidth is the length of the bar of the most expensive kernel.
const barWidth = 80

// belongs says what a kernel belongs to, as far as the document says it.
func belongs(s *cycledoc.Slot) string {
	var parts []string
	for _, text := range []string{s.Module, s.Operator, s.Collective} {
		if text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, " · ")
}

func newSlotRow(c *cycledoc.Class, s *cycledoc.Slot, most float64) slotRow {
	row := slotRow{
		Slot: figure.Count(s.Slot), Name: clean(s.Name, maxName), Mean: figure.Duration(s.MeanNS), P50: figure.Duration(s.P50NS), P99: figure.Duration(s.P99NS), Min: figure.Duration(s.MinNS),
		Max: figure.Duration(s.MaxNS), CV: percent(s.CV), Gap: figure.Duration(s.GapNS), Share: percent(s.Share), Bar: "0",
	}
	row.Belongs = clean(belongs(s), maxName)
	if most > 0 {
		row.Bar = strconv.FormatFloat(barWidth*s.Share/most, 'f', 1, 64)
	}
	switch {
	case s.Count != c.Count:
		row.Note = fmt.Sprintf("in %s of %s repetitions", figure.Count(s.Count), figure.Count(c.Count))
	case s.Names > 1:
		row.Note = fmt.Sprintf("%d names", s.Names)
	}
	if s.Stream != "" {
		row.Note = joinNotes(row.Note, "stream "+clean(s.Stream, 60))
	}
	return row
}

func joinNotes(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
