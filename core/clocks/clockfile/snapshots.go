package clockfile

import (
	"context"
	"fmt"
	"math"
	"sort"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/clock"
)

// Snapshots is a list of readings of a node's wall clock (S) and its tracer's clock (R), S read first, R directly after.
type Snapshots struct {
	Pairs            []SnapshotPair // as written: absolute, or relative to the start of the recording (see Absolute)
	SamplingPeriodNS int64          // 0 when not stated
	TracerClock      string         // the name of the clock R; "" the tracer's, whichever it is
	Host             string         // "" not stated
	Rank             *int           // nil: not stated
	System           []SystemClock  // what the system said of S
	Counters         SnapshotCounters
}

// SnapshotPair is one reading as it is written, in ns.
type SnapshotPair struct {
	SysNS, TracerNS int64
	BracketNS       int64 // between the two readings of S whose middle SysNS is; 0 not stated
}

// SystemClock is what a system says of its own clock: a claim.
type SystemClock struct {
	SysNS        int64
	Synchronized bool
	MaxErrorNS   int64 // how far it can be from the reference; says nothing unless Synchronized; 0: not stated
	EstErrorNS   int64
	DriftPPB     int64
	Source       string // who says so: "adjtimex", "chrony", "ptp4l", "PTP-KVM"
	GrowthPPB    int64  // by how much the error grows until the next statement; 0: not stated
	Reference    string // what it is kept to: "UTC", "PTP <grandmaster>", "hypervisor"; "" is UTC
}

// SnapshotCounters are the telemetry of a sampler. Stated is false where the recording ended before it wrote them.
type SnapshotCounters struct {
	Stated                                         bool
	Taken, Missed, Dropped, Wide, Failed, Unstored int64
}

func isSysKey(k string) bool {
	switch k {
	case "sys_clock_ns", "sysClockNs", "sys_ns", "sysNs", "sys_clock", "wall_ns", "walltime_ns":
		return true
	}
	return false
}

func isTracerKey(k string) bool {
	switch k {
	case "tracer_clock_ns", "tracerClockNs", "tracer_ns", "tracerNs", "tracer_clock", "rocm_ts_ns", "rocm_ns", "gpu_ns":
		return true
	}
	return false
}

func (f *File) snapshot(b []byte) error {
	var p SnapshotPair
	var haveS, haveR bool
	err := object(b, func(key, value []byte) error {
		var err error
		switch k := string(key); {
		case isSysKey(k):
			p.SysNS, err = reading(value)
			haveS = true
		case isTracerKey(k):
			p.TracerNS, err = reading(value)
			haveR = true
			if strings.HasPrefix(k, "rocm_") && f.Snapshots.TracerClock == "" {
				f.Snapshots.TracerClock = "ROCm"
			}
		case k == "bracket_ns":
			p.BracketNS, err = reading(value)
		}
		return err
	})
	if err != nil {
		return err
	}
	if !haveS || !haveR {
		return fmt.Errorf("a snapshot pair needs sys_clock_ns and tracer_clock_ns")
	}
	f.Snapshots.Pairs = append(f.Snapshots.Pairs, p)
	return nil
}

// reading reads one clock of a pair: any non-negative integer.
func reading(v []byte) (int64, error) {
	n, quantum, err := integer(v)
	if err != nil {
		return 0, err
	}
	if n < 0 || quantum > 1 {
		return 0, fmt.Errorf("%q is not a clock reading in whole ns", clip(string(v)))
	}
	return n, nil
}

// snapshotDocument reads {"pairs":[...], "sampling_period_ns":...}, the JSON form of the message.
func (f *File) snapshotDocument(b []byte) error {
	return object(b, func(key, value []byte) error {
		switch string(key) {
		case "pairs":
			return array(value, func(v []byte) error {
				if len(f.Snapshots.Pairs) >= MaxRows {
					return &fault.Error{Kind: fault.Limit, Path: f.Path, Offset: fault.Unknown, Msg: fmt.Sprintf("has more than %d records", MaxRows)}
				}
				return f.snapshot(v)
			})
		case "sampling_period_ns", "samplingPeriodNs":
			n, _, err := integer(value)
			f.Snapshots.SamplingPeriodNS = n
			return err
		case "tracer_clock_name", "tracerClockName":
			f.Snapshots.TracerClock = clip(string(unquote(value)))
		}
		return nil
	})
}

// readProto reads a binary SnapshotPairs message: pairs = 1 (sys_clock_ns = 1, tracer_clock_ns = 2), sampling_period_ns = 2.
func (f *File) readProto(ctx context.Context, src *file.Source) error {
	b, err := readAll(src, maxProto)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fault.FromIO(src.Path(), err)
	}
	f.Kind, f.Snapshots = KindSnapshots, &Snapshots{}
	unknown := 0
	for off := 0; off < len(b); {
		num, typ, n := protowire.ConsumeTag(b[off:])
		if n < 0 {
			return f.badProto(off, protowire.ParseError(n))
		}
		body := b[off+n:]
		var m int
		switch {
		case num == 1 && typ == protowire.BytesType:
			var msg []byte
			msg, m = protowire.ConsumeBytes(body)
			if m >= 0 {
				if err := f.protoPair(msg, off); err != nil {
					return err
				}
			}
		case num == 2 && typ == protowire.VarintType:
			var v uint64
			v, m = protowire.ConsumeVarint(body)
			f.Snapshots.SamplingPeriodNS = int64(min(v, math.MaxInt64))
		default:
			var ours bool
			if m, ours, err = f.sampled(num, typ, body); err != nil {
				return f.badProto(off, err)
			}
			if !ours {
				m = protowire.ConsumeFieldValue(num, typ, body)
				unknown++
			}
		}
		if m < 0 {
			return f.badProto(off, protowire.ParseError(m))
		}
		off += n + m
	}
	if len(f.Snapshots.Pairs) == 0 {
		return fault.Formatf(f.Path, 0, "binary, and not a SnapshotPairs message: it holds no pairs").WithHint(Expected)
	}
	if unknown > 0 {
		f.warnf("%d unknown protobuf fields were ignored", unknown)
	}
	f.Lines = len(f.Snapshots.Pairs)
	f.Snapshots.finish(f)
	return nil
}

func (f *File) badProto(off int, err error) error {
	return fault.Formatf(f.Path, int64(off), "binary, and not a SnapshotPairs message: %v", err).WithHint(Expected)
}

func (f *File) protoPair(msg []byte, off int) error {
	var s, r, bracket uint64
	for i := 0; i < len(msg); {
		num, typ, n := protowire.ConsumeTag(msg[i:])
		if n < 0 {
			return f.badProto(off, protowire.ParseError(n))
		}
		m := 0
		if (num == 1 || num == 2) && typ == protowire.VarintType {
			var v uint64
			v, m = protowire.ConsumeVarint(msg[i+n:])
			if num == 1 {
				s = v
			} else {
				r = v
			}
		} else if num == fieldBracket && typ == protowire.VarintType {
			bracket, m = protowire.ConsumeVarint(msg[i+n:])
		} else {
			m = protowire.ConsumeFieldValue(num, typ, msg[i+n:])
		}
		if m < 0 {
			return f.badProto(off, protowire.ParseError(m))
		}
		i += n + m
	}
	if s > math.MaxInt64 || r > math.MaxInt64 {
		return fault.Formatf(f.Path, int64(off), "a clock reading exceeds 2^63 ns")
	}
	if len(f.Snapshots.Pairs) >= MaxRows {
		return &fault.Error{Kind: fault.Limit, Path: f.Path, Offset: int64(off), Msg: fmt.Sprintf("has more than %d pairs", MaxRows)}
	}
	f.Snapshots.Pairs = append(f.Snapshots.Pairs, SnapshotPair{SysNS: int64(s), TracerNS: int64(r), BracketNS: int64(min(bracket, math.MaxInt64))})
	return nil
}

func (s *Snapshots) finish(f *File) {
	if s.SamplingPeriodNS < 0 {
		s.SamplingPeriodNS = 0
	}
	s.sayCounters(f)
}

// basis says how one column of a snapshot file is to be read.
type basis string

// The readings of a column.
const (
	Absolute basis = "absolute" // the clock itself
	Relative basis = "relative" // since the start of the recording: add the start
)

// Wall clocks since 1973 are at least wallFloor; recordings are shorter than durationCeiling (115 days).
const (
	wallFloor       = int64(1e17)
	durationCeiling = int64(1e16)
)

// Resolve tells relative from absolute columns and returns the pairs as X = tracer ns (R), Y = wall ns (S), both absolute, in
// file order; where the tracer's column counts from a start that nobody knows, X counts from it too. meta holds the starts that the
// recording's files state (0 = not known). What cannot be distinguished is refused with an Incompatible error; no threshold on the
// tracer's clock alone is used, since a host that is up for a minute has a small one.
func (s *Snapshots) Resolve(meta NodeMeta) (pairs []clock.Pair, sys, tracer basis, err error) {
	if len(s.Pairs) == 0 {
		return nil, Absolute, Absolute, nil
	}
	if sys, err = s.sysBasis(); err != nil {
		return nil, "", "", err
	}
	var addS, addR int64
	if sys == Relative {
		if meta.StartWalltimeNS <= 0 {
			return nil, "", "", fault.New(fault.Incompatible, "the snapshots' wall clock counts from the start of the recording (first %d ns), and that start is not known", s.Pairs[0].SysNS).
				WithHint("give the node's probe windows or round offsets too, whose meta lines hold start_walltime_ns, or a trace that says when it began (profile_start_time)")
		}
		addS = meta.StartWalltimeNS
	}
	if tracer, err = s.tracerBasis(sys, meta); err != nil {
		return nil, "", "", err
	}
	if tracer == Relative {
		addR = meta.StartTracerNS
	}
	pairs = make([]clock.Pair, len(s.Pairs))
	for i, p := range s.Pairs {
		if p.SysNS > math.MaxInt64-addS || p.TracerNS > math.MaxInt64-addR {
			return nil, "", "", fault.New(fault.Incompatible, "snapshot %d lies beyond 2^63 ns after adding the start", i)
		}
		pairs[i] = clock.Pair{X: p.TracerNS + addR, Y: p.SysNS + addS, WidthNS: p.BracketNS}
	}
	return pairs, sys, tracer, nil
}

func (s *Snapshots) sysBasis() (basis, error) {
	var abs, rel int
	for _, p := range s.Pairs {
		switch {
		case p.SysNS >= wallFloor:
			abs++
		case p.SysNS < durationCeiling:
			rel++
		}
	}
	switch n := len(s.Pairs); {
	case abs == n:
		return Absolute, nil
	case rel == n:
		return Relative, nil
	}
	return "", fault.New(fault.Incompatible, "the snapshots' wall clock is neither a date (>= %d ns) nor a time since the start (< %d ns) throughout: %d and %d of %d", wallFloor, durationCeiling, abs, rel, len(s.Pairs))
}

// How far a tracer's column that counts from the start lies from the elapsed time: by the delay between the two readings of the start,
// and by the rate of one clock against the other. No machine that records has been up for less than a second.
const (
	startDelayNS = float64(10_000_000)
	rateSlack    = 1e-3
	uptimeFloor  = float64(1e9)
)

// tracerBasis compares the tracer's column with what each reading predicts: elapsed time since the start, or the tracer's start
// plus that.
func (s *Snapshots) tracerBasis(sys basis, meta NodeMeta) (basis, error) {
	g := meta.StartTracerNS
	elapsedKnown := sys == Relative || meta.StartWalltimeNS > 0
	if sys == Absolute && (g <= 0 || !elapsedKnown) {
		return Absolute, nil // raw clocks on one side: no writer normalises only the other
	}
	diffs := make([]float64, len(s.Pairs)) // tracer column minus elapsed time: about 0 when relative, about g when absolute
	longest := 0.0
	for i, p := range s.Pairs {
		elapsed := p.SysNS
		if sys == Absolute {
			elapsed -= meta.StartWalltimeNS
		}
		longest = max(longest, float64(elapsed))
		diffs[i] = float64(p.TracerNS) - float64(elapsed)
	}
	sort.Float64s(diffs)
	d := diffs[len(diffs)/2]
	if g <= 0 {
		switch near := startDelayNS + rateSlack*longest; {
		case math.Abs(d) <= near:
			return Relative, nil
		case d >= near+uptimeFloor:
			return Absolute, nil
		}
		return "", fault.New(fault.Incompatible, "the tracer's clock in the snapshots is %.6f s ahead of the time since the start: neither 0 (relative) nor an uptime (absolute)", d/1e9).
			WithHint("give the node's probe windows or round offsets too: their meta lines hold start_gpu_ns")
	}
	rel, abs := math.Abs(d), math.Abs(d-float64(g))
	switch limit := float64(g) / 4; {
	case rel < limit && abs > limit:
		return Relative, nil
	case abs < limit && rel > limit:
		return Absolute, nil
	}
	return "", fault.New(fault.Incompatible, "the tracer's clock in the snapshots is %.6f s ahead of the time since the start: neither 0 (relative) nor %.6f s (absolute)", d/1e9, float64(g)/1e9).
		WithHint("the snapshots and the start times belong to different recordings or nodes")
}
