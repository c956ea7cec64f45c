package combine

import "fmt"

// sumOutside says what share of the events lies outside of the clock readings, and what was assumed there; nil: none lies there.
func sumOutside(nodes []ending, p policy) *Outside {
	o := Outside{Policy: p}
	all := int64(0)
	for k := range nodes {
		e := &nodes[k]
		all += e.kept
		if beyond := e.beyond(); beyond > 0 {
			o.Events += beyond
			o.GrowthPPB = max(o.GrowthPPB, e.row.OutsideGrowthPPB)
		}
	}
	if o.Events == 0 || all == 0 {
		return nil
	}
	o.Share = float64(o.Events) / float64(all)
	o.Said = o.sentence()
	return &o
}

// beyond is how many of a node's events that are in the output lie outside of the clock readings.
func (e *ending) beyond() int64 {
	return min(max(e.row.OffsetExtrapolations, e.row.SnapshotExtrapolations), e.kept)
}

// judgeOutside calls a node degraded whose clock was read elsewhere than where most of its events are: what its bounds rest on there is what
// is assumed of clocks.
func (e *ending) judgeOutside() {
	if outside := e.beyond(); outside*2 > e.kept {
		e.degraded = true
		e.row.warn("%s of its events lie outside the clock readings: the clock there is assumed, not known", share(float64(outside)/float64(e.kept)))
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
