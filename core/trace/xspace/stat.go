package xspace

import "math"

// value takes one field of the value oneof of an XStat and reports whether it was one. The last one wins.
func (s *xStat) value(num, wire int, v uint64) bool {
	var kind statKind
	switch {
	case num == 2 && wire == wireFixed64:
		kind = statDouble
	case num == 3 && wire == wireVarint:
		kind = statUint
	case num == 4 && wire == wireVarint:
		kind = statInt
	case num == 5 && wire == wireLen:
		kind = statStr
	case num == 6 && wire == wireLen:
		kind = statBytes
	case num == 7 && wire == wireVarint:
		kind = statRef
	default:
		return false
	}
	*s = xStat{MetadataID: s.MetadataID, Kind: kind}
	switch kind {
	case statDouble:
		s.Double = math.Float64frombits(v)
	case statInt:
		s.Int = int64(v)
	case statUint, statRef:
		s.Uint = v
	}
	return true
}

// resolve fills in the name and, for a reference, the value.
func (s *xStat) resolve(names *names) {
	s.Name = names.name(s.MetadataID)
	if s.Kind == statRef {
		s.Ref = names.name(int64(s.Uint))
	}
}
