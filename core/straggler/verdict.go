package straggler

import (
	"fmt"
	"strconv"
	"strings"
)

// Duration writes a time with four significant digits and its unit, as all sentences of stragglers and of NCCL do.
func Duration(ns int64) string {
	v, unit := float64(ns), "ns"
	for _, u := range []struct {
		ns   float64
		unit string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}} {
		if max(v, -v) >= u.ns*0.99995 { // else it would read 1000 of the smaller unit
			v, unit = v/u.ns, u.unit
			break
		}
	}
	digits := 3
	for x := max(v, -v); x >= 9.9995 && digits > 0; x /= 10 {
		digits--
	}
	if unit == "ns" {
		digits = 0
	}
	return strconv.FormatFloat(v, 'f', digits, 64) + " " + unit
}

// judge says in a sentence what was found. byEnds: clocks were related by ends, so what is undecided is below what ends differ by, and what ranks took by
// themselves tells the rest.
func (d *Document) judge(byEnds bool) (status, verdict string) {
	said := Duration
	looked := d.looked(said)
	var blamed []string
	for i := range d.Ranks {
		if r := &d.Ranks[i]; r.Blamed {
			blamed = append(blamed, r.said(len(d.Steps), d.FromNS, said))
		}
	}
	for i := range d.Links {
		if l := &d.Links[i]; l.Blamed {
			blamed = append(blamed, l.said(d.FromNS))
		}
	}
	switch {
	case d.Operations.Count == 0:
		return StatusInconclusive, "nothing to judge: no operation of several ranks was found"
	case len(blamed) > 3:
		blamed = append(blamed[:3], fmt.Sprintf("and %d more", len(blamed)-3))
		fallthrough
	case len(blamed) > 0:
		return StatusBlamed, strings.Join(blamed, "; ") + d.gained(said) + " (" + looked + ")"
	case d.Time.ProfilerNS*2 > d.Time.Total():
		return StatusNobody, fmt.Sprintf("nobody was late: %s of %s in operations were waiting for ranks whose recording began later (%s)", said(d.Time.ProfilerNS), said(d.Time.Total()), looked)
	case d.Unsure != "":
		return StatusInconclusive, d.Unsure + " took longer than the others again and again, and whether they waited for it the clocks do not say: " + looked
	case d.Operations.Undecided*2 > d.Operations.Count && !byEnds:
		return StatusInconclusive, "who was late cannot be determined: " + looked
	case d.Unblamed.Share >= LostShare:
		return StatusInconclusive, d.Unblamed.said(d.FromNS) + " (" + looked + ")"
	}
	return StatusNobody, "nobody was late more often than chance explains (" + looked + ")"
}

// gained says what there would be to gain.
func (d *Document) gained(ns func(int64) string) string {
	ranks, one := 0, ""
	for i := range d.Ranks {
		if d.Ranks[i].Blamed {
			ranks, one = ranks+1, d.Ranks[i].ID
		}
	}
	switch {
	case d.GainNS <= 0:
		return ""
	case ranks == 1:
		return "; were " + one + " as fast as the median, the job would take " + ns(d.GainNS) + " less"
	}
	return fmt.Sprintf("; were all %d ranks as fast as the median, the job would take %s less", ranks, ns(d.GainNS))
}

// looked says what was looked at, and what is known of it.
func (d *Document) looked(ns func(int64) string) string {
	o := &d.Operations
	text := fmt.Sprintf("%d operations in %s: a rank was later than the others in %d", o.Count, ns(d.LengthNS), o.Late)
	if o.Together > 0 {
		text += fmt.Sprintf(", all were together within %s in %d", ns(o.TogetherNS), o.Together)
	}
	if o.ProfilerStart > 0 {
		text += fmt.Sprintf(", somebody was not recorded yet in %d", o.ProfilerStart)
	}
	return text + fmt.Sprintf(", %d undecided", o.Undecided)
}

// said says what a rank cost; steps is how many there are, fromNS when the job began.
func (r *RankCost) said(steps int, fromNS int64, ns func(int64) string) string {
	host := ""
	if r.Host != "" && r.Host != r.ID {
		host = " on " + r.Host
	}
	if r.Device != "" {
		host += " (" + r.Device + ")"
	}
	often := ""
	if steps > 1 {
		often = fmt.Sprintf(" in %d of %d steps", r.Stability.Steps, steps)
	}
	why := ""
	if len(r.Causes) > 0 && r.Causes[0].Name != "" {
		why = ", most of it in " + r.Causes[0].Name
	}
	return fmt.Sprintf("%s%s was late%s: it cost %s, %.2g %% of the time%s%s", r.ID, host, often, ns(r.CostNS), 100*r.Share, why, r.Window.said(fromNS))
}

func (l *LinkCost) said(fromNS int64) string {
	name := "operations of " + l.Group
	switch {
	case l.Directed:
		name = "the link from " + l.Ranks[0] + " to " + l.Ranks[1]
	case len(l.Ranks) == 2:
		name = "the link of " + l.Ranks[0] + " and " + l.Ranks[1]
	}
	return fmt.Sprintf("%s was slow: it cost %s, %.2g %% of the time%s", name, Duration(l.CostNS), 100*l.Share, l.Window.said(fromNS))
}

// said says when most was lost, where that was in a third of the operations at most.
func (w *Window) said(fromNS int64) string {
	switch {
	case !w.Rare():
		return ""
	case w.Operations == 1:
		return fmt.Sprintf(", nearly all in one operation, %s after the first began", Duration(w.FromNS-fromNS))
	}
	return fmt.Sprintf(", nearly all in %d of %d operations, %s to %s after the first began", w.Operations, w.Of, Duration(w.FromNS-fromNS), Duration(w.ToNS-fromNS))
}

// said says what nobody is blamed for.
func (u *Unblamed) said(fromNS int64) string {
	return fmt.Sprintf("%s, %.2g %% of the time, were lost beyond what is usual%s, and nobody stands out", Duration(u.CostNS), 100*u.Share, u.Window.said(fromNS))
}
