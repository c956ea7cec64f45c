package structure

import (
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/cycle/naming/phase"
	"github.com/prlx-go/prlx/core/cycle/repeat"
	"github.com/prlx-go/prlx/core/fault"
)

func TestWhatNobodyAskedForHasItsDefault(t *testing.T) {
	got, err := Options{}.Filled()
	want := Options{Keys: KeysAuto, Streams: StreamsAuto, PhaseMode: phase.ModeAuto, EditPercent: 5, MaxLevels: repeat.MaxLevels, MaxListed: 10_000}
	if err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	asked := Options{Keys: got.Keys, Streams: StreamsEach, PhaseMode: phase.ModeDecode, EditPercent: NoEdits, MaxLevels: 1, MaxListed: 7}
	if got, err := asked.Filled(); err != nil || got != asked {
		t.Errorf("%+v became %+v, %v", asked, got, err)
	}
	filled, err := Options{Compat: &cycledoc.CompatSettings{}}.Filled()
	if err != nil || *filled.Compat != UplifterSettings() {
		t.Errorf("%+v, %v; want uplifter's defaults", filled.Compat, err)
	}
}

func TestASettingOfUplifterThatIsZeroIsZero(t *testing.T) {
	exact := UplifterSettings()
	exact.LengthTolerance = 0
	if filled, err := (Options{Compat: &exact}).Filled(); err != nil || *filled.Compat != exact {
		t.Errorf("%+v, %v; want lengths that are equal", filled.Compat, err)
	}
	for name, change := range map[string]func(*cycledoc.CompatSettings){
		"min_anchor_count": func(c *cycledoc.CompatSettings) { c.MinAnchorCount = 0 },
		"min_sub_length":   func(c *cycledoc.CompatSettings) { c.MinSubLength = 0 },
		"max_anchor_share": func(c *cycledoc.CompatSettings) { c.MaxAnchorShare = 0 },
		"outer_match":      func(c *cycledoc.CompatSettings) { c.OuterMatch = 0 },
		"sub_match":        func(c *cycledoc.CompatSettings) { c.SubMatch = 0 },
	} {
		given := UplifterSettings()
		change(&given)
		if _, err := (Options{Compat: &given}).Filled(); !fault.Is(err, fault.Usage) || !strings.Contains(err.Error(), name+" is 0") {
			t.Errorf("%s of 0: %v, want that it is refused by name", name, err)
		}
	}
}

func TestOptionsThatMeanNothingAreRefused(t *testing.T) {
	for name, o := range map[string]Options{
		"keys": {Keys: "x"}, "streams": {Streams: "x"}, "phase mode": {PhaseMode: "x"}, "edits": {EditPercent: 51},
		"levels": {MaxLevels: -1}, "more levels": {MaxLevels: repeat.MaxLevels + 1},
	} {
		if _, err := o.Filled(); !fault.Is(err, fault.Usage) {
			t.Errorf("%s: %v, want that it is refused", name, err)
		}
	}
	for _, o := range []Options{{EditPercent: 50}, {MaxLevels: repeat.MaxLevels}} {
		if _, err := o.Filled(); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestEndsOfWordsThatAreTheBeginningOfOneAnother(t *testing.T) {
	for _, tc := range []struct {
		text, word []uint32
		want       []Segment
	}{
		{[]uint32{1, 2}, []uint32{1, 2, 3}, []Segment{{0, 0, 2}}},
		{[]uint32{1, 2, 3}, []uint32{2, 3}, []Segment{{0, 1, 2}}},
		{[]uint32{1, 2}, []uint32{1, 2}, []Segment{{0, 0, 2}}},
		{[]uint32{1, 2}, nil, nil},
		{[]uint32{1, 9, 3}, []uint32{1, 8, 8, 3}, []Segment{{0, 0, 1}, {3, 2, 1}}},
	} {
		if got := ends(tc.text, tc.word); !slices.Equal(got, tc.want) {
			t.Errorf("%v and %v: %v, want %v", tc.text, tc.word, got, tc.want)
		}
	}
}
