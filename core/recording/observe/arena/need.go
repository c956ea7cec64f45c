package arena

// Need is what a launch takes of an arena that keeps all that is asked for, and what one of a given size loses.
type Need struct {
	Warps        uint64 // that are wanted
	WarpBytes    uint64 // of each, whatever it passes: entry, sums, counters
	Bytes        uint64 // of an arena that loses nothing
	SumBytes     uint64 // of these: sums
	OperandBytes uint64 // of these: operands, where each event has those of one element
	Events       uint64 // that happen
	MostEvents   uint64 // of one warp
	NotAskedFor  uint64 // events that a budget, a ring or sampling leaves out
	LostEvents   uint64 // that find no room, at most
	LostWarps    uint64 // without an entry
	LostOperands uint64 // events whose operands find no room, at least
}

// Need says what a launch takes whose warps pass so many events each; warps that pass none need not be listed.
func (p *Plan) Need(totals []uint64, size uint64) Need {
	n := Need{WarpBytes: entryBytes + p.slots()*sumBytes + p.counters() + p.visits()}
	if p.First < p.Warps {
		n.Warps = p.Warps - p.First
		if p.Wanted > 0 {
			n.Warps = min(n.Warps, p.Wanted)
		}
	}
	n.SumBytes = n.Warps * p.slots() * sumBytes
	chunks, kept := uint64(0), uint64(0)
	for _, total := range totals {
		n.Events += total
		n.MostEvents = max(n.MostEvents, total)
		most := total / uint64(max(p.Rate, 1))
		if p.Budget > 0 {
			most = min(most, p.Budget)
		}
		most = min(most, maxEvents)
		kept += most
		chunks += (most + perChunk - 1) / perChunk
	}
	if !p.Events {
		n.Bytes = tableAt(p.slots()) + p.pieces()*placeBytes + n.Warps*n.WarpBytes
		n.LostWarps = n.Warps - p.layout(size).entries
		return n
	}
	n.NotAskedFor = n.Events - kept
	events := chunks * chunkBytes
	if p.ring() {
		length := n.MostEvents
		if p.Budget > 0 {
			length = min(length, p.Budget)
		}
		events = n.Warps * length * eventBytes
	}
	if p.Operands {
		held := kept
		if sites := uint64(p.Sites); p.Depth > 0 && sites > 0 {
			held = min(held, uint64(len(totals))*sites*uint64(p.Depth))
		}
		n.OperandBytes = held * operandBytes(p.lanes())
	}
	n.Bytes = tableAt(p.slots()) + p.pieces()*placeBytes + n.Warps*n.WarpBytes + chunkBytes + events + n.OperandBytes
	n.LostWarps = n.Warps - p.layout(size).entries
	p.losses(&n, totals, chunks, size)
	return n
}

// losses says what an arena of a size has no room for.
func (p *Plan) losses(n *Need, totals []uint64, chunks, size uint64) {
	l := p.layout(size)
	if p.ring() {
		for _, total := range totals {
			wanted := total
			if p.Budget > 0 {
				wanted = min(total, p.Budget)
			}
			if l.mode&modeRing == 0 {
				n.LostEvents += wanted
			} else {
				n.LostEvents += wanted - min(wanted, l.budget)
			}
		}
		l.room *= l.entries
	} else if chunks > l.chunks {
		n.LostEvents = min((chunks-l.chunks)*perChunk, n.Events-n.NotAskedFor)
	}
	held := n.OperandBytes / operandBytes(p.lanes())
	n.LostOperands = held - min(held, l.room)
}
