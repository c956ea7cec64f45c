package diff

// rowTally is what the rows of a comparison come to, with the marks that were set on them so far, by kind.
type rowTally struct {
	all       [rowKinds]int64 // also those that were counted and not kept
	noise     [rowKinds]int64 // of those that documents list
	exempt    [rowKinds]int64 // of those, what does not count against the threshold
	undecided [rowKinds]int64 // of those, what counts and equal runs neither explain nor rule out
	unlocated int64           // warps that differ by their hash
}

// tallyRows counts the rows of a comparison.
func tallyRows(rows []Row, stats *Stats, opt *Options) rowTally {
	t := rowTally{all: stats.ByKind, unlocated: stats.Unlocated}
	for i := range rows {
		row := &rows[i]
		if opt.lists(row) {
			t.noise[row.Kind] += int64(truth(row.Noise))
			t.exempt[row.Kind] += int64(truth(!opt.counts(row)))
		}
		if opt.counts(row) {
			t.undecided[row.Kind] += int64(truth(row.Undecided))
		}
	}
	return t
}

// total counts divergences of events, and warps that differ by their hash.
func (t *rowTally) total() int64 { return t.sum(&t.all, anyRow) + t.unlocated }

// noisy counts the rows that are noise.
func (t *rowTally) noisy() int64 { return t.sum(&t.noise, anyRow) }

func (t *rowTally) sum(by *[rowKinds]int64, of func(RowKind) bool) (n int64) {
	for k := range by {
		if of(RowKind(k)) {
			n += by[k]
		}
	}
	return n
}

func anyRow(RowKind) bool { return true }

// agree says whether rows of some kinds differ, or something else that no row tells.
func (t *rowTally) agree(of func(RowKind) bool, also bool) Agreement {
	total, noise := t.sum(&t.all, of), t.sum(&t.noise, of)
	switch {
	case also || total > noise:
		return Differs
	case noise > 0:
		return AgreesInNoise
	}
	return Agrees
}

// kindUnlocated is under what counted has warps that differ by their hash.
const kindUnlocated = "unlocated"

// counted counts the rows that count against the threshold, by kind: neither noise nor accepted, and of an aspect that must agree, as matters
// says. ignoreMasks: masks never do, also those that were not kept.
func (t *rowTally) counted(matters func(RowKind) bool, ignoreMasks bool) map[string]int64 {
	counts := make(map[string]int64)
	for k := range t.all {
		if !matters(RowKind(k)) || t.all[k] == 0 && t.exempt[k] == 0 {
			continue
		}
		counts[rowKindNames[k]] = t.all[k] - t.exempt[k]
	}
	if ignoreMasks {
		delete(counts, KindActiveMask)
	}
	if t.unlocated > 0 && matters(RowBranch) {
		counts[kindUnlocated] = t.unlocated
	}
	return counts
}

// lists reports whether a row is among the divergences of a document.
func (o *Options) lists(row *Row) bool { return !row.Reordered || o.StrictOrder }

// counts reports whether a row counts against the threshold: it is neither noise nor accepted, nor a mask that is ignored, nor part
// of a warp of which every lane did the same in another order.
func (o *Options) counts(row *Row) bool {
	if row.Noise || row.Accepted || row.Kind == RowActiveMask && o.IgnoreActiveMask {
		return false
	}
	return o.lists(row)
}

// rowMatters reports whether rows of a kind count. Differences of the way count where outputs alone must agree, too, when outputs were not
// recorded.
func (o *Options) rowMatters(k RowKind, outputs Agreement) bool {
	aspect := AspectControlFlow
	if k == RowValue {
		aspect = AspectValues
	}
	return o.requires(aspect) || o.requires(AspectOutputs) && outputs == AgreementUnknown
}
