package snapshot

import (
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// Header says of a recording what its pairs do not.
type Header struct {
	Tracer   Clock
	PeriodNS int64
	Host     string
	Rank     int // -1 unknown
	PID      int
}

// AppendHeader appends the first line of a file of pairs.
func AppendHeader(dst []byte, h Header) []byte {
	dst = append(dst, `{"meta":true,"tracer_clock_name":`...)
	dst = appendText(dst, h.Tracer.Name)
	dst = appendMember(dst, "sampling_period_ns", h.PeriodNS)
	if h.Tracer.TicksPerSecond > 0 {
		dst = appendMember(dst, "ticks_per_second", h.Tracer.TicksPerSecond)
	}
	if h.Host != "" {
		dst = appendText(append(dst, `,"host":`...), h.Host)
	}
	if h.Rank >= 0 {
		dst = appendMember(dst, "rank", int64(h.Rank))
	}
	if h.PID > 0 {
		dst = appendMember(dst, "pid", int64(h.PID))
	}
	return append(dst, "}\n"...)
}

// AppendPair appends the line of a pair.
func AppendPair(dst []byte, p Pair) []byte {
	dst = strconv.AppendInt(append(dst, `{"sys_clock_ns":`...), p.SysNS, 10)
	dst = appendMember(dst, "tracer_clock_ns", p.TracerNS)
	return append(appendMember(dst, "bracket_ns", p.WidthNS), "}\n"...)
}

// AppendDiscipline appends the line of what the system says of its own clock.
func AppendDiscipline(dst []byte, d Discipline) []byte {
	dst = strconv.AppendInt(append(dst, `{"system_clock":{"sys_clock_ns":`...), d.SysNS, 10)
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
	return append(dst, "}}\n"...)
}

// AppendCounters appends the last line, which a recording that was killed does not have.
func AppendCounters(dst []byte, c Counters) []byte {
	dst = strconv.AppendInt(append(dst, `{"counters":{"snapshots_taken":`...), c.Taken, 10)
	dst = appendMember(dst, "missed_deadline", c.Missed)
	dst = appendMember(dst, "dropped_samples", c.Dropped)
	dst = appendMember(dst, "wide_brackets", c.Wide)
	dst = appendMember(dst, "failed_reads", c.Failed)
	return append(appendMember(dst, "unstored", c.Unstored), "}}\n"...)
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

// Field numbers of SnapshotPairs. 1 and 2 are those of snapshot_pair.md; ours begin at 16, where no reader of XLA's looks.
const (
	fieldPairs       = 1
	fieldPeriod      = 2
	fieldClockName   = 16
	fieldTaken       = 17
	fieldMissed      = 18
	fieldDropped     = 19
	fieldWide        = 20
	fieldFailed      = 21
	fieldTicks       = 22
	fieldSystemClock = 23

	fieldPairSys     = 1
	fieldPairTracer  = 2
	fieldPairBracket = 16
)

// Message is the recording as SnapshotPairs.
func (r *Recording) Message() []byte {
	var out, one []byte
	for _, p := range r.Pairs {
		one = varint(varint(varint(one[:0], fieldPairSys, p.SysNS), fieldPairTracer, p.TracerNS), fieldPairBracket, p.WidthNS)
		out = message(out, fieldPairs, one)
	}
	out = varint(out, fieldPeriod, int64(r.Period))
	out = message(out, fieldClockName, []byte(r.Tracer.Name))
	for i, n := range []int64{r.Counters.Taken, r.Counters.Missed, r.Counters.Dropped, r.Counters.Wide, r.Counters.Failed, r.Tracer.TicksPerSecond} {
		if n != 0 {
			out = varint(out, protowire.Number(fieldTaken+i), n)
		}
	}
	for _, d := range r.Discipline {
		one = varint(one[:0], 1, d.SysNS)
		if d.Synchronized {
			one = varint(one, 2, 1)
		}
		one = varint(varint(one, 3, d.MaxErrorNS), 4, d.EstErrorNS)
		one = protowire.AppendVarint(protowire.AppendTag(one, 5, protowire.VarintType), protowire.EncodeZigZag(d.DriftPPB))
		one = message(one, 6, []byte(d.Source))
		if d.GrowthPPB > 0 {
			one = varint(one, 7, d.GrowthPPB)
		}
		if d.Reference != "" {
			one = message(one, 8, []byte(d.Reference))
		}
		out = message(out, fieldSystemClock, one)
	}
	return out
}

// Names in a plane of snapshots.
const (
	planeName       = "/host:snapshots"
	lineName        = "Clock Snapshots"
	eventName       = "Snapshot"
	statClockName   = "tracer_clock_name"
	statTracer      = "tracer_clock_ns"
	statTracerROCm  = "rocm_ns" // readers of ROCm's planes take it for the clock of device lines: only that clock has it
	statBracket     = "bracket_ns"
	clockROCm       = "ROCm"
	planeID         = 0x70726c78 // out of the way of devices and hosts
	metaSnapshot    = 1
	metaTracer      = 1
	metaBracket     = 2
	metaClockName   = 3
	fieldSpacePlane = 1
)

// Plane is the recording as an XSpace with one plane, /host:snapshots, whose line counts from an instant of the system clock: XSpace files
// that are joined are one XSpace. With zeroNS 0 the times are absolute.
func (r *Recording) Plane(zeroNS int64) []byte {
	tracer := statTracer
	if r.Tracer.Name == clockROCm {
		tracer = statTracerROCm
	}
	line := message(nil, 2, []byte(lineName))
	first := zeroNS
	if len(r.Pairs) > 0 {
		first = r.Pairs[0].SysNS
	}
	line = varint(line, 3, first-zeroNS)
	var event []byte
	for _, p := range r.Pairs {
		event = varint(varint(event[:0], 1, metaSnapshot), 2, (p.SysNS-first)*1000)
		event = message(event, 4, varint(varint(nil, 1, metaTracer), 3, p.TracerNS))
		event = message(event, 4, varint(varint(nil, 1, metaBracket), 3, p.WidthNS))
		line = message(line, 4, event)
	}
	plane := message(message(varint(nil, 1, planeID), 2, []byte(planeName)), 3, line)
	plane = named(plane, 4, metaSnapshot, eventName)
	plane = named(named(named(plane, 5, metaTracer, tracer), 5, metaBracket, statBracket), 5, metaClockName, statClockName)
	plane = message(plane, 6, message(varint(nil, 1, metaClockName), 5, []byte(r.Tracer.Name)))
	return message(nil, fieldSpacePlane, plane)
}

func varint(b []byte, field protowire.Number, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(v))
}

func message(b []byte, field protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), m)
}

// named appends an entry of a table of names.
func named(b []byte, field protowire.Number, id int64, name string) []byte {
	return message(b, field, message(varint(nil, 1, id), 2, message(varint(nil, 1, id), 2, []byte(name))))
}
