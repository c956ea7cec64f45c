package clockfile

import (
	"maps"
	"testing"
)

func TestWhatClocksAreKeptTo(t *testing.T) {
	const s = int64(1e9)
	at := func(sec int64, source, reference string, errorNS, growth int64) SystemClock {
		return SystemClock{SysNS: sec * s, Synchronized: true, MaxErrorNS: errorNS, Source: source, Reference: reference, GrowthPPB: growth}
	}
	loose := func(c SystemClock) SystemClock { c.Synchronized = false; return c }
	const gm = "PTP 112233.fffe.445566"
	for name, c := range map[string]struct {
		states []SystemClock
		want   map[string]int64
	}{
		"nothing said":                         {nil, nil},
		"the kernel, as older files have it":   {[]SystemClock{at(0, "adjtimex", "", 1000, 0), at(4, "adjtimex", "", 900, 0)}, map[string]int64{UTC: 1000 + 4001*500}},
		"a daemon knows better":                {[]SystemClock{at(0, "adjtimex", UTC, 1, 500_000), at(0, "chrony", UTC, 50_000, 3000), at(4, "chrony", UTC, 40_000, 2000)}, map[string]int64{UTC: 50_000 + 4001*3}},
		"a daemon that has lost its servers":   {[]SystemClock{at(0, "adjtimex", UTC, 1000, 0), at(4, "adjtimex", UTC, 1000, 0), at(0, "chrony", UTC, 50_000, 3000), loose(at(4, "chrony", UTC, 50_000, 3000))}, nil},
		"no maximum":                           {[]SystemClock{at(0, "ptp4l", gm, 0, 1000), at(4, "ptp4l", gm, 0, 1000)}, nil},
		"UTC and a grandmaster":                {[]SystemClock{at(0, "chrony", UTC, 50_000, 1000), at(4, "chrony", UTC, 50_000, 1000), at(4, "ptp4l", gm, 900, 1), at(0, "ptp4l", gm, 1000, 1)}, map[string]int64{UTC: 54_001, gm: 5001}},
		"a hypervisor, and something unknown":  {[]SystemClock{at(0, "PTP-KVM", "hypervisor", 10, 1000), at(4, "x", "sundial", 10, 1000)}, nil},
		"more than a second says nothing":      {[]SystemClock{at(0, "chrony", UTC, 2*s, 1000)}, nil},
		"so does a growth that leads there":    {[]SystemClock{at(0, "chrony", UTC, 10, 1<<62), at(4, "chrony", UTC, 10, 1<<62)}, nil},
		"what is said before and after counts": {[]SystemClock{at(-4, "chrony", UTC, 10, 1000), at(8, "chrony", UTC, 10, 1000)}, map[string]int64{UTC: 10 + 12_001}},
	} {
		if got := Kept(c.states, 0, 4*s); !maps.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
