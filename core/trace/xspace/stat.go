package xspace

import "math"

// value takes one field of the value oneof of an XStat and reports whether it was one. The last one wins.
func (s *Stat) value(num, wire int, v uint64) bool {
	var kind StatKind
	switch {
	case num == 2 && wire == wireFixed64:
		kind = StatDouble
	case num == 3 && wire == wireVarint:
		kind = StatUint
	case num == 4 && wire == wireVarint:
		kind = StatInt
	case num == 5 && wire == wireLen:
		kind = StatStr
	case num == 6 && wire == wireLen:
		kind = StatBytes
	case num == 7 && wire == wireVarint:
		kind = StatRef
	default:
		return false
	}
	*s = Stat{MetadataID: s.MetadataID, Kind: kind}
	switch kind {
	case StatDouble:
		s.Double = math.Float64frombits(v)
	case StatInt:
		s.Int = int64(v)
	case StatUint, StatRef:
		s.Uint = v
	}
	return true
}

// resolve fills in the name and, for a reference, the value.
func (s *Stat) resolve(names *Names) {
	s.Name = names.Name(s.MetadataID)
	if s.Kind == StatRef {
		s.Ref = names.Name(int64(s.Uint))
	}
}
