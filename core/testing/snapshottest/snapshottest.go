// Package snapshottest makes what the sampler of clocks leaves (runtime/snapshot), and the plane that XLA makes of it, for tests.
package snapshottest

import (
	"encoding/json"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
)

// Lines is a recording as the sampler writes it while it runs: a header, what the system says of its clock, pairs, and the counters where they are
// stated.
func Lines(s *clockfile.Snapshots) []byte {
	header := map[string]any{"meta": true, "tracer_clock_name": s.TracerClock, "sampling_period_ns": s.SamplingPeriodNS, "ticks_per_second": 7, "pid": 7}
	if s.Host != "" {
		header["host"] = s.Host
	}
	if s.Rank != nil {
		header["rank"] = *s.Rank
	}
	out := line(nil, header)
	for _, d := range s.System {
		state := map[string]any{
			"sys_clock_ns": d.SysNS, "synchronized": d.Synchronized, "max_error_ns": d.MaxErrorNS, "estimated_error_ns": d.EstErrorNS, "drift_ppb": d.DriftPPB,
			"source": d.Source,
		}
		if d.GrowthPPB > 0 {
			state["growth_ppb"] = d.GrowthPPB
		}
		if d.Reference != "" {
			state["reference"] = d.Reference
		}
		out = line(out, map[string]any{"system_clock": state})
	}
	for _, p := range s.Pairs {
		out = line(out, map[string]any{"sys_clock_ns": p.SysNS, "tracer_clock_ns": p.TracerNS, "bracket_ns": p.BracketNS})
	}
	if c := s.Counters; c.Stated {
		out = line(out, map[string]any{"counters": map[string]any{
			"snapshots_taken": c.Taken, "missed_deadline": c.Missed, "dropped_samples": c.Dropped, "wide_brackets": c.Wide, "failed_reads": c.Failed, "unstored": c.Unstored,
		}})
	}
	return out
}

func line(dst []byte, v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return append(append(dst, b...), '\n')
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

// Plane is a recording as an XSpace with one plane, /host:snapshots, whose line counts from an instant of the system clock: XSpace files
// that are joined are one XSpace. With zeroNS 0 the times are absolute.
func Plane(r *clockfile.Snapshots, zeroNS int64) []byte {
	tracer := statTracer
	if r.TracerClock == clockROCm {
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
		event = message(event, 4, varint(varint(nil, 1, metaBracket), 3, p.BracketNS))
		line = message(line, 4, event)
	}
	plane := message(message(varint(nil, 1, planeID), 2, []byte(planeName)), 3, line)
	plane = named(plane, 4, metaSnapshot, eventName)
	plane = named(named(named(plane, 5, metaTracer, tracer), 5, metaBracket, statBracket), 5, metaClockName, statClockName)
	plane = message(plane, 6, message(varint(nil, 1, metaClockName), 5, []byte(r.TracerClock)))
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
