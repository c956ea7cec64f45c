package xspace

import (
	"math"

	"github.com/prlx-go/prlx/core/trace/source"
)

// What XProf's trace viewer draws as curves: lines of this name, whose events have no duration and carry the value as a stat. It shows
// planes of this prefix as processes of their own, under their names.
const (
	counterLine  = "_counters_"
	customPrefix = "/device:CUSTOM:"
	counterStat  = "ns"
)

// CounterPlane encodes a plane of counters. It can follow any XSpace, whose times count from zeroNS.
func (s *Space) CounterPlane(name string, id, zeroNS int64, tracks []source.CounterTrack) []byte {
	plane := appendVarint(nil, 1, uint64(id))
	plane = appendBytes(plane, 2, customPrefix+name)
	first, any := int64(0), false
	for _, t := range tracks {
		for _, p := range t.Points {
			if !any || p.AtNS < first {
				first, any = p.AtNS, true
			}
		}
	}
	line := appendVarint(nil, 1, 1)
	line = appendBytes(line, 2, counterLine)
	line = appendVarint(line, 3, uint64(subSat(first, zeroNS)))
	var names []byte
	for i, t := range tracks {
		meta := uint64(i + 1)
		names = appendBytes(names, 4, entry(meta, t.Name))
		for _, p := range t.Points {
			value := appendVarint(appendVarint(nil, 1, 1), 4, uint64(p.Value))
			at := min(subSat(p.AtNS, first), math.MaxInt64/1000) * 1000
			event := appendVarint(appendVarint(nil, 1, meta), 2, uint64(at))
			line = appendBytes(line, 4, appendBytes(event, 4, value))
		}
	}
	plane = append(appendBytes(plane, 3, line), names...)
	plane = appendBytes(plane, 5, entry(1, counterStat))
	return appendBytes(nil, 1, plane)
}

// entry is an entry of a table of names.
func entry(id uint64, name string) []byte {
	meta := appendBytes(appendVarint(nil, 1, id), 2, name)
	return appendBytes(appendVarint(nil, 1, id), 2, meta)
}
