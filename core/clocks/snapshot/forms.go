package snapshot

import (
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
)

// Field numbers of SnapshotPairs. 1 and 2 are those of snapshot_pair.md; ours begin at 16, where no reader of XLA's looks. 22 is the rate of a
// counter, which only the sampler knows.
const (
	fieldPairs       = 1
	fieldPeriod      = 2
	fieldClockName   = 16
	fieldTaken       = 17
	fieldSystemClock = 23

	fieldPairSys     = 1
	fieldPairTracer  = 2
	fieldPairBracket = 16
)

// asMessage is a recording as SnapshotPairs.
func asMessage(s *clockfile.Snapshots) []byte {
	var out, one []byte
	for _, p := range s.Pairs {
		one = varint(varint(varint(one[:0], fieldPairSys, p.SysNS), fieldPairTracer, p.TracerNS), fieldPairBracket, p.BracketNS)
		out = submessage(out, fieldPairs, one)
	}
	out = varint(out, fieldPeriod, s.SamplingPeriodNS)
	out = submessage(out, fieldClockName, []byte(s.TracerClock))
	c := s.Counters
	for i, n := range []int64{c.Taken, c.Missed, c.Dropped, c.Wide, c.Failed} {
		if n != 0 {
			out = varint(out, protowire.Number(fieldTaken+i), n)
		}
	}
	for _, d := range s.System {
		one = varint(one[:0], 1, d.SysNS)
		if d.Synchronized {
			one = varint(one, 2, 1)
		}
		one = varint(varint(one, 3, d.MaxErrorNS), 4, d.EstErrorNS)
		one = protowire.AppendVarint(protowire.AppendTag(one, 5, protowire.VarintType), protowire.EncodeZigZag(d.DriftPPB))
		one = submessage(one, 6, []byte(d.Source))
		if d.GrowthPPB > 0 {
			one = varint(one, 7, d.GrowthPPB)
		}
		if d.Reference != "" {
			one = submessage(one, 8, []byte(d.Reference))
		}
		out = submessage(out, fieldSystemClock, one)
	}
	return out
}

func varint(b []byte, field protowire.Number, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(v))
}

func submessage(b []byte, field protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), m)
}

// member is a recording as a member of a JSON object: the JSON form of SnapshotPairs.
func member(s *clockfile.Snapshots) []byte {
	b := append([]byte(`"`+memberName+`": {"tracer_clock_name":`), appendText(nil, s.TracerClock)...)
	b = appendMember(b, "sampling_period_ns", s.SamplingPeriodNS)
	b = append(b, `,"pairs":[`...)
	for i, p := range s.Pairs {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendPair(b, p)
	}
	b = append(b, `],"system_clock":[`...)
	for i, d := range s.System {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendSystemClock(b, d)
	}
	b = append(b, `],"snapshots_taken":`...)
	b = strconv.AppendInt(b, s.Counters.Taken, 10)
	b = appendMember(b, "missed_deadline", s.Counters.Missed)
	return append(appendMember(b, "dropped_samples", s.Counters.Dropped), '}')
}

func appendPair(dst []byte, p clockfile.SnapshotPair) []byte {
	dst = strconv.AppendInt(append(dst, `{"sys_clock_ns":`...), p.SysNS, 10)
	dst = appendMember(dst, "tracer_clock_ns", p.TracerNS)
	return append(appendMember(dst, "bracket_ns", p.BracketNS), '}')
}

// appendSystemClock appends what the system says of its own clock.
func appendSystemClock(dst []byte, d clockfile.SystemClock) []byte {
	dst = strconv.AppendInt(append(dst, `{"sys_clock_ns":`...), d.SysNS, 10)
	dst = strconv.AppendBool(append(dst, `,"synchronized":`...), d.Synchronized)
	dst = appendMember(dst, "max_error_ns", d.MaxErrorNS)
	dst = appendMember(dst, "estimated_error_ns", d.EstErrorNS)
	dst = appendMember(dst, "drift_ppb", d.DriftPPB)
	dst = appendText(append(dst, `,"source":`...), d.Source)
	if d.GrowthPPB > 0 {
		dst = appendMember(dst, "growth_ppb", d.GrowthPPB)
	}
	if d.Reference != "" {
		dst = appendText(append(dst, `,"reference":`...), d.Reference)
	}
	return append(dst, '}')
}

func appendMember(dst []byte, name string, v int64) []byte {
	return strconv.AppendInt(append(append(append(dst, `,"`...), name...), `":`...), v, 10)
}

// appendText appends a JSON string. Control characters and what is not UTF-8 become a question mark: names of clocks and hosts have none.
func appendText(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < ' ' || r == 0x7f || r == utf8.RuneError:
			dst = append(dst, '?')
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}
