package script

// The size of windows: rows and columns. A run of up to 6,000 elements that one side lacks is seen whole from the first half.
const (
	windowRows = 12 << 10
	windowCols = 18 << 10
)

// windows aligns sequences whose whole table is beyond the budget: it solves a window exactly, keeps the first half of its script
// and goes on from there. The script is complete and never proven minimal.
func (s *Solver) windows(a, b []uint32, at int32) bool {
	i, j := 0, 0
	for i < len(a) && j < len(b) && !s.table.stopped() {
		if n := CommonPrefix(a[i:], b[j:]); n > 0 {
			i, j = i+n, j+n
			continue
		}
		wa, wb := a[i:min(len(a), i+windowRows)], b[j:min(len(b), j+windowCols)]
		last := i+len(wa) == len(a) && j+len(wb) == len(b)
		s.symbols.build(wb)
		s.table.shape(len(wa), len(wb), -len(wa), len(wb))
		s.table.fill(wa, &s.symbols)
		end := len(wb)
		if !last {
			end, _ = s.table.bestColumn()
		}
		s.reversed = s.table.trace(wa, wb, end, &s.symbols, s.reversed[:0])
		toA, toB := len(wa), end
		if !last {
			toA, toB = s.firstHalf(len(wa))
		}
		s.addReversed(at+int32(i), at+int32(j))
		i, j = i+toA, j+toB
	}
	if i < len(a) || j < len(b) {
		s.add(Edit{at + int32(i), at + int32(j), int32(len(a) - i), int32(len(b) - j)})
	}
	return false
}

// firstHalf cuts the reversed script of a window of so many rows where it has half of them behind it, and returns that cell.
func (s *Solver) firstHalf(rows int) (a, b int) {
	half := int32(rows / 2)
	if rows < windowRows { // the end of a: no row will be seen again
		half = int32(rows)
	}
	var doneA, doneB int32
	keep := len(s.reversed)
	for ; keep > 0 && s.reversed[keep-1].A < half; keep-- {
		e := s.reversed[keep-1]
		doneA, doneB = e.A+e.Del, e.B+e.Ins
	}
	s.reversed = s.reversed[keep:]
	if doneA < half { // what follows is equal
		doneA, doneB = half, doneB+half-doneA
	}
	return int(doneA), int(doneB)
}
