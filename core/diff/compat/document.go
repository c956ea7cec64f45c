package compat

import (
	"bufio"
	"io"
	"sort"
	"strconv"
	"strings"
)

// JSON is original prlx 0.5's document, byte for byte but for one thing: it prints divergence_breakdown in the order of a hash
// table, which changes from run to run; here it is alphabetical.
func (r *Result) JSON() []byte {
	p := &printer{}
	p.open('{')
	p.text("status", status(r.identical()))
	p.number("total_divergences", int64(len(r.Divergences)))
	p.number("counted_divergences", r.counted())
	p.number("warps_compared", r.WarpsCompared)
	p.number("warps_diverged", r.WarpsDiverged)
	p.number("total_events_a", r.EventsA)
	p.number("total_events_b", r.EventsB)
	p.key("divergence_breakdown")
	r.printBreakdown(p)
	p.key("divergences")
	p.open('[')
	for i := range r.Divergences {
		p.item()
		r.printDivergence(p, &r.Divergences[i])
	}
	p.close(']')
	p.number("threshold", r.opt.Threshold)
	p.truth("passed", r.Passed())
	if r.opt.CrossGPU {
		p.key("cross_gpu")
		r.printCrossGPU(p)
	}
	p.close('}')
	return p.b
}

func status(identical bool) string {
	if identical {
		return "identical"
	}
	return "diverged"
}

func (r *Result) printBreakdown(p *printer) {
	var counts [len(kindNames)]int64
	for i := range r.Divergences {
		counts[r.Divergences[i].Kind]++
	}
	names := append([]string(nil), kindNames[:]...)
	sort.Strings(names)
	p.open('{')
	for _, name := range names {
		for kind, is := range kindNames {
			if is == name && counts[kind] > 0 {
				p.number(name, counts[kind])
			}
		}
	}
	p.close('}')
}

func (r *Result) printDivergence(p *printer, d *divergence) {
	p.open('{')
	p.number("warp_idx", int64(d.Warp))
	p.number("event_idx", int64(d.Event))
	p.text("site_id", hex8(d.Site))
	p.text("kind", d.Kind.String())
	if location, ok := r.opt.Map.location(d.Site); ok {
		p.text("source_location", location)
	}
	p.close('}')
}

func (r *Result) printCrossGPU(p *printer) {
	p.open('{')
	p.text("arch_a", architecture(r.a))
	p.text("arch_b", architecture(r.b))
	p.number("warp_size_a", warpSize(r.a))
	p.number("warp_size_b", warpSize(r.b))
	p.numbers("grid_a", r.a.Grid[:]...)
	p.numbers("grid_b", r.b.Grid[:]...)
	p.numbers("block_a", r.a.Block[:]...)
	p.numbers("block_b", r.b.Block[:]...)
	p.close('}')
}

// CSV writes original prlx 0.5's table. It quotes a location that has a comma and escapes nothing, so a location with a quote or a
// line break makes a table that no reader takes: that is what it writes.
func (r *Result) CSV(w io.Writer) error {
	b := bufio.NewWriter(w)
	b.WriteString("warp_idx,event_idx,site_id,kind,details,source_location\n")
	for i := range r.Divergences {
		d := &r.Divergences[i]
		location, _ := r.opt.Map.location(d.Site)
		if strings.Contains(location, ",") {
			location = `"` + location + `"`
		}
		b.WriteString(strconv.FormatUint(d.Warp, 10) + "," + strconv.FormatUint(uint64(d.Event), 10) + "," + hex8(d.Site) + "," +
			d.Kind.String() + "," + d.details() + "," + location + "\n")
	}
	return b.Flush()
}

func (d *divergence) details() string {
	a, b := strconv.FormatUint(uint64(d.A), 10), strconv.FormatUint(uint64(d.B), 10)
	switch d.Kind {
	case branch:
		return "dir_a=" + a + " dir_b=" + b
	case activeMask:
		return "mask_a=" + hex8(d.A) + " mask_b=" + hex8(d.B)
	case value:
		return "val_a=" + a + " val_b=" + b
	case path:
		return "site_a=" + hex8(d.A) + " site_b=" + hex8(d.B)
	}
	if d.A > 0 {
		return "count=" + a + " in_trace=A"
	}
	return "count=" + b + " in_trace=B"
}

// Of the flamegraph: every divergence is ten units wide, one behind the other; the counters begin a hundred units behind the last.
const (
	slotWidth  = 10
	counterGap = 100
)

// Flamegraph writes original prlx 0.5's Chrome trace. Its times mean nothing. Sites come in the order in which they are first
// listed; original prlx 0.5 takes them in the order of a hash table.
func (r *Result) Flamegraph(w io.Writer) error {
	p := &printer{}
	p.open('{')
	p.key("traceEvents")
	p.open('[')
	p.item()
	p.open('{')
	printPlace(p, "process_name", "__metadata", "M", 0)
	p.number("pid", 0)
	p.number("tid", 0)
	p.key("args")
	p.open('{')
	p.text("name", r.a.Kernel)
	p.close('}')
	p.close('}')
	order, bySite := r.bySite()
	var at int64
	for _, id := range order {
		for _, i := range bySite[id] {
			r.printSlot(p, &r.Divergences[i], at)
			at += slotWidth
		}
	}
	for i, id := range order {
		p.item()
		p.open('{')
		printPlace(p, "divergence_count", "heatmap", "C", at+counterGap+int64(i))
		p.number("pid", 0)
		p.number("tid", 0)
		p.key("args")
		p.open('{')
		p.item()
		p.raw(quote(r.opt.Map.label(id)) + ": " + strconv.Itoa(len(bySite[id])))
		p.close('}')
		p.close('}')
	}
	p.close(']')
	p.close('}')
	_, err := w.Write(p.b)
	return err
}

func (r *Result) bySite() (order []uint32, bySite map[uint32][]int) {
	bySite = map[uint32][]int{}
	for i := range r.Divergences {
		id := r.Divergences[i].Site
		if bySite[id] == nil {
			order = append(order, id)
		}
		bySite[id] = append(bySite[id], i)
	}
	return order, bySite
}

func printPlace(p *printer, name, category, phase string, at int64) {
	p.text("name", name)
	p.text("cat", category)
	p.text("ph", phase)
	p.float("ts", at)
}

func (r *Result) printSlot(p *printer, d *divergence, at int64) {
	perBlock := max(uint64(r.a.WarpsPerBlock), 1)
	p.item()
	p.open('{')
	printPlace(p, r.opt.Map.label(d.Site)+" ["+d.Kind.String()+"]", d.Kind.String(), "X", at)
	p.float("dur", slotWidth)
	p.number("pid", int64(d.Warp/perBlock))
	p.number("tid", int64(d.Warp%perBlock))
	p.key("args")
	p.open('{')
	p.number("event_idx", int64(d.Event))
	p.text("kind", d.Kind.String())
	p.text("site_id", hex8(d.Site))
	p.number("warp_idx", int64(d.Warp))
	p.close('}')
	p.close('}')
}
