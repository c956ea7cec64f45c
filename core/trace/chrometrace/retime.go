package chrometrace

import (
	"strconv"

	"github.com/prlx-go/prlx/core/trace/clock"
)

// nearNS is how far, in ns, an instant may be from the origin to be counted in ps (46 days).
const nearNS = int64(4_000_000_000_000_000)

// time maps an event's start and end, records the patches, and reports whether the event lies in the range to keep.
func (w *worker) time(f *fields, metadata bool) bool {
	b := w.lex.b
	ts := parseNumber(f.at[fieldTS].of(b))
	start, ok := ts.instant(w.trace.BaseNS)
	if !ts.ok || !ok {
		w.unusable(metadata)
		return true
	}
	var dur number
	end, timed := start, f.at[fieldDur].set()
	if timed {
		dur = parseNumber(f.at[fieldDur].of(b))
		if dur.ok {
			end, ok = plus(ts.stamp, dur.stamp, w.trace.BaseNS)
		}
		if !dur.ok || !ok {
			w.unusable(metadata)
			return true
		}
	}
	newStart, bound, cov := w.place(start)
	newEnd, largest := newStart, bound
	if timed {
		newEnd, largest, _ = w.place(end)
		largest = max(bound, largest)
	}
	if base := (Instant{NS: w.outBase}); metadata && newStart.Before(base) && !start.Before(Instant{NS: w.trace.BaseNS}) {
		newStart = base // names have no time that matters, and viewers drop what lies before zero
		if newEnd.Before(newStart) {
			newEnd = newStart
		}
	}
	if !metadata {
		if !w.inRange(newStart, newEnd) {
			return false
		}
		w.account(start, end, newStart, newEnd, bound, cov)
	}
	if rel, ok := relative(newStart, w.outBase); !ok {
		w.unusable(metadata)
	} else if rel != ts.stamp {
		w.number(f.at[fieldTS], rel, ts)
	}
	if timed {
		if d := difference(newEnd, newStart); d != dur.stamp {
			w.number(f.at[fieldDur], d, dur)
		}
	}
	if (w.edit.CorrectionArg != "" || w.edit.BoundArg != "") && !metadata {
		w.addArgs(f, correctionNS(newStart, start), largest)
	}
	return true
}

func (w *worker) unusable(metadata bool) {
	if !metadata {
		w.counts.Unusable++
	}
}

// place maps an instant to the output's clock and rounds it to the output's step.
func (w *worker) place(in Instant) (out Instant, boundNS int64, cov clock.Coverage) {
	d := in.NS - w.origin
	if (in.NS >= w.origin) == (d >= 0) && d <= nearNS && d >= -nearNS {
		var m int64
		if off := d*1000 + int64(in.PS); w.edit.Sample || w.edit.BoundArg != "" {
			m, boundNS, cov = w.cursor.Sample(off)
		} else {
			m = w.cursor.Map(off)
		}
		ns := m / 1000
		ps := m % 1000
		if ps < 0 {
			ns, ps = ns-1, ps+1000
		}
		out = Instant{NS: w.cursor.BaseY() + ns, PS: int32(ps)}
	} else { // far away: ns are mapped, ps go along
		out.PS = in.PS
		out.NS, boundNS, cov = w.clock.At(in.NS)
	}
	if w.quantum == 1000 && out.PS != 0 {
		w.counts.Quantized++
		if out.PS >= 500 {
			out.NS++
		}
		out.PS = 0
	}
	return out, boundNS, cov
}

func (w *worker) inRange(start, end Instant) bool {
	if to := w.edit.KeepToNS; to != nil && start.NS >= *to {
		return false
	}
	from := w.edit.KeepFromNS
	return from == nil || start.NS >= *from || Instant{NS: *from}.Before(end)
}

// account counts one timed event.
func (w *worker) account(start, end, newStart, newEnd Instant, bound int64, cov clock.Coverage) {
	c := w.counts
	moved := correctionNS(newStart, start)
	if c.Timed == 0 || moved < c.MinNS {
		c.MinNS = moved
	}
	if c.Timed == 0 || moved > c.MaxNS {
		c.MaxNS = moved
	}
	c.Timed++
	if newStart != start || newEnd != end {
		c.Corrected++
	}
	c.Span(newStart, newEnd)
	if !w.edit.Sample {
		return
	}
	c.Bounds.Add(bound)
	if cov == 0 {
		return
	}
	c.Uncovered++
	if cov&clock.Extrapolated != 0 {
		c.Extrapolated++
	}
	if cov&clock.ExtrapolatedThen != 0 {
		c.ExtrapolatedThen++
	}
	if cov&clock.InStep != 0 {
		c.InStep++
	}
	if cov&clock.Clamped != 0 {
		c.Clamped++
	}
}

// correctionNS returns by how much an instant was moved, rounded to the ns.
func correctionNS(to, from Instant) int64 {
	d, ps := to.NS-from.NS, to.PS-from.PS
	if ps >= 500 {
		d++
	} else if ps < -500 {
		d--
	}
	return d
}

// relative returns an instant as microseconds after base.
func relative(i Instant, base int64) (stamp, bool) {
	d := i.NS - base
	if (i.NS >= base) != (d >= 0) {
		return stamp{}, false
	}
	us, ns := d/1000, d%1000
	if ns < 0 {
		us, ns = us-1, ns+1000
	}
	return stamp{us, int32(ns)*1000 + i.PS}, true
}

// difference returns a - b as microseconds; b is less than 292 years away.
func difference(a, b Instant) stamp {
	d, ps := a.NS-b.NS, a.PS-b.PS
	if ps < 0 {
		d, ps = d-1, ps+1000
	}
	s, _ := relative(Instant{NS: d, PS: ps}, 0)
	return s
}

// number patches a number with a new value, in the spelling of the old one: in a string where it stood in a string.
func (w *worker) number(at span, s stamp, old number) {
	if old.rounded {
		w.counts.Rounded++
	}
	from := len(w.text)
	quoted := w.lex.b[at.s] == '"'
	if quoted {
		w.text = append(w.text, '"')
	}
	w.text = appendStamp(w.text, s, old.decimals)
	if quoted {
		w.text = append(w.text, '"')
	}
	w.patched(at, from)
}

// addArgs adds the args that say by how much the start was moved and how far off the event can be.
func (w *worker) addArgs(f *fields, movedNS, boundNS int64) {
	b, mark := w.lex.b, len(w.text)
	if f.phase(b) == 'C' || (f.at[fieldArgs].set() && b[f.at[fieldArgs].s] != '{') {
		w.counts.NoArg++ // every arg of a counter is a series of its own
		return
	}
	at := f.last
	if f.at[fieldArgs].set() {
		for at = int(f.at[fieldArgs].e) - 1; b[at-1] <= ' '; at-- {
		}
		if b[at-1] != '{' {
			w.text = append(w.text, ", "...)
		}
	} else {
		w.text = append(w.text, `,"args":{`...)
	}
	open := len(w.text)
	w.text = appendInteger(w.text, open, w.edit.CorrectionArg, movedNS)
	w.text = appendInteger(w.text, open, w.edit.BoundArg, boundNS)
	if !f.at[fieldArgs].set() {
		w.text = append(w.text, '}')
	}
	w.patched(span{int32(at), int32(at)}, mark)
}

// appendInteger appends an arg, behind a comma where others begin at open; without a name it appends nothing.
func appendInteger(dst []byte, open int, name string, v int64) []byte {
	if name == "" {
		return dst
	}
	if len(dst) > open {
		dst = append(dst, ", "...)
	}
	return strconv.AppendInt(append(appendString(dst, name), ':'), v, 10)
}
