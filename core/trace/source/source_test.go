package source

import "testing"

func TestInstantsBeforeTheBaseAreRoundedDown(t *testing.T) {
	for _, c := range []struct {
		base, ps int64
		want     Instant
	}{
		{10, 0, Instant{10, 0}},
		{10, 1999, Instant{11, 999}},
		{10, -1, Instant{9, 999}},
		{10, -1000, Instant{9, 0}},
		{1_790_000_000_000_000_000, -2001, Instant{1_789_999_999_999_999_997, 999}},
	} {
		if got := After(c.base, c.ps); got != c.want {
			t.Errorf("%d ps after %d ns: got %+v, want %+v", c.ps, c.base, got, c.want)
		}
	}
}

func TestDevicesAreNumberedByTheNamesOfPlanes(t *testing.T) {
	for name, want := range map[string]struct {
		kind   string
		local  int64
		ok     bool
		number int32
	}{
		"/device:GPU:3":              {"GPU", 3, true, 3},
		"/device:TPU:1 SparseCore 2": {"TPU", 1, true, 1},
		"/device:CUSTOM:Megascale":   {"CUSTOM", 0, true, 0},
		"/device:FPGA:x":             {"FPGA", 0, false, 0},
		"/device:GPU":                {"", 0, false, 0},
		"/host:CPU":                  {"", 0, false, -1},
	} {
		kind, local, ok := Device(name)
		if kind != want.kind || local != want.local || ok != want.ok || DeviceNumber(name) != want.number {
			t.Errorf("%s: got %q %d %v, number %d; want %+v", name, kind, local, ok, DeviceNumber(name), want)
		}
	}
}

// TestAnEditKnowsWhatItTouches: a time range cuts wherever it stands, and a zero edit of a plane or line is none.
func TestAnEditKnowsWhatItTouches(t *testing.T) {
	at := int64(5)
	e := &Edit{Planes: []PlaneEdit{{}, {Lines: []LineEdit{{}, {TimestampNS: &at}}}}}
	if e.Cuts() || e.Planes[0].Active() || !e.Planes[1].Active() || e.Planes[1].Lines[0].Active() || !e.Planes[1].Line(1).Moves() || e.Plane(7).Line(3).Active() {
		t.Errorf("%+v", e)
	}
	e.Planes[1].Lines[0].KeepToPS = &at
	if !e.Cuts() || !e.Planes[1].Lines[0].Eventwise() || e.Planes[1].Lines[0].Moves() {
		t.Errorf("with a time range: %+v", e)
	}
}
