package execute

import (
	"cmp"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/simulator/simt/code"
)

// count is what one instruction of the code did, in one worker.
type count struct {
	issued, lanes, divergent  uint64
	bytes, sectors, conflicts uint64
	global, shared            uint64 // accesses with at least one lane
	approximated              uint64 // of an instruction that sometimes is
}

// sumCounts adds another worker's counts.
func sumCounts(to, from []count) {
	for i := range to {
		a, b := &to[i], &from[i]
		a.issued += b.issued
		a.lanes += b.lanes
		a.divergent += b.divergent
		a.bytes += b.bytes
		a.sectors += b.sectors
		a.conflicts += b.conflicts
		a.global += b.global
		a.shared += b.shared
		a.approximated += b.approximated
	}
}

// linesOf adds the counts of instructions up by source line: the innermost, as the instruction's location says.
func linesOf(k *code.Kernel, counts []count) []LineCount {
	type place struct {
		file string
		line uint32
	}
	byLine := map[place]*LineCount{}
	for i := range k.Code {
		in, c := &k.Code[i], &counts[i]
		if in.Hidden || c.issued == 0 {
			continue
		}
		var at place
		if text := k.Origins[in.Origin].PTX(); text != nil {
			if chain := code.SourceOf(k.Module, text.Location); len(chain) > 0 {
				at = place{chain[0].File, chain[0].Line}
			}
		}
		l := byLine[at]
		if l == nil {
			l = &LineCount{File: at.file, Line: at.line}
			byLine[at] = l
		}
		l.add(in, c)
	}
	list := make([]LineCount, 0, len(byLine))
	for _, l := range byLine {
		list = append(list, *l)
	}
	slices.SortFunc(list, func(a, b LineCount) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return list
}

// add counts one instruction towards its line.
func (l *LineCount) add(in *code.Inst, c *count) {
	l.Instructions += c.issued
	l.LaneInstructions += c.lanes
	switch in.Kind {
	case code.KindBranch, code.KindSwitch:
		l.Branches += c.issued
		l.Divergent += c.divergent
	case code.KindBarrier:
		l.Barriers += c.issued
	case code.KindAtomic:
		l.Atomics += c.issued
	case code.KindLoad, code.KindStore, code.KindMatrix, code.KindCopyAsync, code.KindTexture:
		l.SharedAccesses += c.shared
		if in.Kind == code.KindStore {
			l.GlobalStores += c.global
		} else {
			l.GlobalLoads += c.global
		}
	}
	l.GlobalBytes += c.bytes
	l.GlobalSectors += c.sectors
	l.BankConflicts += c.conflicts
}
