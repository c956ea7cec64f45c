package combine

import "fmt"

// growOutside notes, for each node, by how much the bounds of its maps grow outside of the clock readings.
func (t *task) growOutside() {
	for _, n := range t.nodes {
		growth := int64(0)
		if n.Clocks.Wall != nil {
			_, _, growth, _ = n.Clocks.Wall.Tails()
		}
		if n.Clocks.Tracer != nil && n.Result.TracerLines > 0 {
			_, _, g, _ := n.Clocks.Tracer.Tails()
			growth += g
		}
		n.Result.OutsideGrowthPPB = growth
	}
}

// sumOutside says what share of the events lies outside of the clock readings, and what was assumed there.
func (t *task) sumOutside() {
	o := Outside{Policy: t.req.Policy}
	all := int64(0)
	for _, n := range t.nodes {
		all += n.kept
		if beyond := n.beyond(); beyond > 0 {
			o.Events += beyond
			o.GrowthPPB = max(o.GrowthPPB, n.Result.OutsideGrowthPPB)
		}
	}
	if o.Events == 0 || all == 0 {
		return
	}
	o.Share = float64(o.Events) / float64(all)
	o.Said = o.sentence()
	t.doc.Outside = &o
}

// beyond is how many of a node's events that are in the output lie outside of the clock readings.
func (n *Node) beyond() int64 {
	return min(max(n.Result.OffsetExtrapolations, n.Result.SnapshotExtrapolations), n.kept)
}

// judgeOutside calls a node degraded whose clock was read elsewhere than where most of its events are: what its bounds rest on there is what
// is assumed of clocks.
func (t *task) judgeOutside(n *Node) {
	if outside := n.beyond(); outside*2 > n.kept {
		n.degraded = true
		n.warn("%s of its events lie outside the clock readings: the clock there is assumed, not known", share(float64(outside)/float64(n.kept)))
	}
}

func share(of float64) string {
	if of < 0.001 {
		return "less than 0.1 %"
	}
	return fmt.Sprintf("%.1f %%", 100*of)
}

// sentence says how many events lie outside of the readings, and what that means.
func (o *Outside) sentence() string {
	assumed := "clocks are assumed to run on as within them"
	if o.Policy == hold {
		assumed = "the last offsets are kept"
	}
	return fmt.Sprintf("%s of the events lie outside the clock readings: there %s, with an error that grows by %s us a second", share(o.Share), assumed, microseconds(o.GrowthPPB))
}

// brief says the same in a few words, for a verdict.
func (o *Outside) brief() string {
	held := ""
	if o.Policy == hold {
		held = " last offset kept,"
	}
	return fmt.Sprintf("%s of events outside clock readings,%s error assumed to grow by up to %s us/s", share(o.Share), held, microseconds(o.GrowthPPB))
}

// microseconds writes ns as us, with three digits where they are fewer than a thousand.
func microseconds(ns int64) string {
	if ns >= 999_500 {
		return fmt.Sprint((ns + 500) / 1000)
	}
	return fmt.Sprintf("%.3g", float64(ns)/1e3)
}
