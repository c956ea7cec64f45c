package clockfile

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// What a sampler of ours writes beside pairs: a line that names the clocks, what the system says of its own clock, and at the end how many
// readings there were. The message SnapshotPairs has the same in fields from 16 on.

// snapshotHeader reads {"meta": true, "tracer_clock_name": ...}.
func (f *File) snapshotHeader(b []byte) error {
	s := f.Snapshots
	return object(b, func(key, value []byte) error {
		var err error
		switch string(key) {
		case "tracer_clock_name":
			s.TracerClock, err = shortText(value)
		case "sampling_period_ns":
			s.SamplingPeriodNS, err = reading(value)
		case "host":
			s.Host, err = shortText(value)
		case "rank":
			var rank int
			if rank, err = nodeID(value); err == nil {
				s.Rank = &rank
			}
		}
		return err
	})
}

// shortText reads a name; one with an escape stays as it is written.
func shortText(v []byte) (string, error) {
	if len(v) < 2 || v[0] != '"' || len(v) > 258 {
		return "", fmt.Errorf("%q is not a name", clip(string(v)))
	}
	return string(v[1 : len(v)-1]), nil
}

// systemClock reads {"system_clock": {...}}.
func (f *File) systemClock(b []byte) error {
	return object(b, func(key, value []byte) error {
		if string(key) != "system_clock" {
			return nil
		}
		var c SystemClock
		err := object(value, func(key, value []byte) error {
			var err error
			switch string(key) {
			case "sys_clock_ns":
				c.SysNS, err = reading(value)
			case "synchronized":
				c.Synchronized, err = boolean(value)
			case "max_error_ns":
				c.MaxErrorNS, err = reading(value)
			case "estimated_error_ns":
				c.EstErrorNS, err = reading(value)
			case "drift_ppb":
				c.DriftPPB, _, err = integer(value)
			case "source":
				c.Source, err = shortText(value)
			case "growth_ppb":
				c.GrowthPPB, err = reading(value)
			case "reference":
				c.Reference, err = shortText(value)
			}
			return err
		})
		if err != nil {
			return err
		}
		f.Snapshots.System = append(f.Snapshots.System, c)
		return nil
	})
}

// counters reads {"counters": {...}}.
func (f *File) counters(b []byte) error {
	return object(b, func(key, value []byte) error {
		if string(key) != "counters" {
			return nil
		}
		c := SnapshotCounters{Stated: true}
		of := map[string]*int64{
			"snapshots_taken": &c.Taken, "missed_deadline": &c.Missed, "dropped_samples": &c.Dropped, "wide_brackets": &c.Wide,
			"failed_reads": &c.Failed, "unstored": &c.Unstored,
		}
		err := object(value, func(key, value []byte) error {
			n := of[string(key)]
			if n == nil {
				return nil
			}
			var err error
			*n, err = reading(value)
			return err
		})
		if err == nil {
			f.Snapshots.Counters = c
		}
		return err
	})
}

// Fields of SnapshotPairs that only prlx writes.
const (
	fieldClockName   = 16
	fieldTaken       = 17
	fieldFailed      = 21
	fieldTicks       = 22
	fieldSystemClock = 23
	fieldBracket     = 16 // of a pair
)

// sampled reads a field of SnapshotPairs that only prlx writes; ok is false for another. n is how long the field's value is, negative where it
// is damaged.
func (f *File) sampled(num protowire.Number, typ protowire.Type, body []byte) (n int, ok bool, err error) {
	s := f.Snapshots
	switch {
	case num == fieldClockName && typ == protowire.BytesType:
		v, n := protowire.ConsumeBytes(body)
		s.TracerClock = clip(string(v))
		return n, true, nil
	case num >= fieldTaken && num <= fieldFailed && typ == protowire.VarintType:
		v, n := protowire.ConsumeVarint(body)
		c := &s.Counters
		c.Stated = true
		*[]*int64{&c.Taken, &c.Missed, &c.Dropped, &c.Wide, &c.Failed}[num-fieldTaken] = int64(min(v, math.MaxInt64))
		return n, true, nil
	case num == fieldTicks && typ == protowire.VarintType:
		_, n := protowire.ConsumeVarint(body)
		return n, true, nil
	case num == fieldSystemClock && typ == protowire.BytesType:
		v, n := protowire.ConsumeBytes(body)
		if n < 0 {
			return n, true, nil
		}
		c, err := protoSystemClock(v)
		if err == nil && len(s.System) < MaxRows {
			s.System = append(s.System, c)
		}
		return n, true, err
	}
	return 0, false, nil
}

// protoSystemClock reads what the system says of its own clock.
func protoSystemClock(b []byte) (c SystemClock, err error) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return c, protowire.ParseError(n)
		}
		m := 0
		if typ == protowire.VarintType {
			var v uint64
			v, m = protowire.ConsumeVarint(b[n:])
			whole := int64(min(v, math.MaxInt64))
			switch num {
			case 1:
				c.SysNS = whole
			case 2:
				c.Synchronized = v != 0
			case 3:
				c.MaxErrorNS = whole
			case 4:
				c.EstErrorNS = whole
			case 5:
				c.DriftPPB = protowire.DecodeZigZag(v)
			case 7:
				c.GrowthPPB = whole
			}
		} else if m = protowire.ConsumeFieldValue(num, typ, b[n:]); m >= 0 && typ == protowire.BytesType {
			v, _ := protowire.ConsumeBytes(b[n:])
			switch num {
			case 6:
				c.Source = clip(string(v))
			case 8:
				c.Reference = clip(string(v))
			}
		}
		if m < 0 {
			return c, protowire.ParseError(m)
		}
		b = b[n+m:]
	}
	return c, nil
}

// sayCounters says what the sampler lost.
func (s *Snapshots) sayCounters(f *File) {
	c := s.Counters
	for _, one := range []struct {
		n    int64
		what string
	}{
		{c.Missed, "instants of the cadence went by without a reading"},
		{c.Dropped, "readings had no room any more"},
		{c.Wide, "readings were kept although they took more than 5 us"},
		{c.Failed, "readings gave no pair"},
		{c.Unstored, "readings were not stored"},
	} {
		if one.n > 0 {
			f.warnf("the sampler says: %d %s", one.n, one.what)
		}
	}
}
