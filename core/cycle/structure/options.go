package structure

import (
	"github.com/prlx-go/prlx/core/cycle/cycledoc"
	"github.com/prlx-go/prlx/core/cycle/naming/phase"
	"github.com/prlx-go/prlx/core/cycle/naming/signature"
	"github.com/prlx-go/prlx/core/cycle/repeat"
	"github.com/prlx-go/prlx/core/fault"
)

// The values of Options.Keys.
const (
	KeysAuto   = "auto"   // strict, unless loose keys explain clearly more
	KeysStrict = "strict" // kernels are equal when their strict keys are
	KeysLoose  = "loose"  // kernels are equal when their loose keys are
)

// The values of Options.Streams.
const (
	StreamsAuto   = "auto"   // each, unless the streams of a device take turns
	StreamsEach   = "each"   // the busiest stream of a device that computes; kernels of others stand beside it
	StreamsMerged = "merged" // all streams of a device that compute, as one sequence in order of time
)

// Options tune Find. The zero value is the default of everything.
type Options struct {
	// IgnoreAnnotations leaves marks aside, for steps and for phases: structure comes from the kernels alone.
	IgnoreAnnotations bool
	Keys              string           // KeysAuto by default
	Streams           string           // StreamsAuto by default
	Rules             *signature.Rules // of the user, beside the product's own
	PhaseMode         phase.Mode       // how Document.Selected is picked; ModeAuto by default
	EditPercent       int              // edits of one repetition, in percent of its kernels; 0 means 5, NoEdits none
	MaxLevels         int              // 1 to 4; 0 means 4
	MaxListed         int              // borders of a class, and steps, that the document lists; 0 means 10,000. Tables have all
	// Compat looks for cycles as uplifter does, and only so. Its fields that are 0 have that tool's defaults.
	Compat *cycledoc.CompatSettings
}

// NoEdits is the EditPercent under which all repetitions are equal.
const NoEdits = -1

// defaultListed is how many borders of a class, and how many steps, the document lists.
const defaultListed = 10_000

const (
	defaultEditPercent = 5  // Options.EditPercent, where it is 0
	mostEditPercent    = 50 // edits in percent of a repetition, above which repetitions have less in common than not
)

// Filled checks the options and puts defaults where nothing is said.
func (o Options) Filled() (Options, error) {
	switch o.Keys {
	case "":
		o.Keys = KeysAuto
	case KeysAuto, KeysStrict, KeysLoose:
	default:
		return o, fault.Usagef("keys is %q", o.Keys).WithHint("choose auto, strict or loose")
	}
	switch o.Streams {
	case "":
		o.Streams = StreamsAuto
	case StreamsAuto, StreamsEach, StreamsMerged:
	default:
		return o, fault.Usagef("streams is %q", o.Streams).WithHint("choose auto, each or merged")
	}
	switch o.PhaseMode {
	case "":
		o.PhaseMode = phase.ModeAuto
	case phase.ModeAuto, phase.ModePrefill, phase.ModeDecode:
	default:
		return o, fault.Usagef("phase_mode is %q", string(o.PhaseMode)).WithHint("choose auto, prefill or decode")
	}
	if o.EditPercent == 0 {
		o.EditPercent = defaultEditPercent
	}
	if o.EditPercent > mostEditPercent {
		return o, fault.Usagef("edit_percent is %d, expected 0 to %d: with more edits, repetitions have little in common", o.EditPercent, mostEditPercent)
	}
	if o.MaxLevels < 0 || o.MaxLevels > repeat.MaxLevels {
		return o, fault.Usagef("max_levels is %d", o.MaxLevels).WithHint("there are 1 to %d levels", repeat.MaxLevels)
	}
	if o.MaxLevels == 0 {
		o.MaxLevels = repeat.MaxLevels
	}
	if o.MaxListed <= 0 {
		o.MaxListed = defaultListed
	}
	if o.Compat != nil {
		c, err := filledCompat(*o.Compat)
		if err != nil {
			return o, err
		}
		o.Compat = &c
	}
	return o, nil
}

// UplifterSettings are uplifter's defaults.
func UplifterSettings() cycledoc.CompatSettings {
	return cycledoc.CompatSettings{MinAnchorCount: 5, MaxAnchorShare: 0.2, LengthTolerance: 0.05, OuterMatch: 0.95, SubMatch: 0.8, MinSubLength: 5}
}

// filledCompat are the settings as given, or uplifter's where none is. A setting that is 0 beside others is 0.
func filledCompat(c cycledoc.CompatSettings) (cycledoc.CompatSettings, error) {
	if c == (cycledoc.CompatSettings{}) {
		return UplifterSettings(), nil
	}
	if c.MinAnchorCount < 2 {
		return c, fault.Usagef("min_anchor_count is %d", c.MinAnchorCount).WithHint("a kernel that occurs once repeats nothing: 2 or more")
	}
	if c.MinSubLength < 1 {
		return c, fault.Usagef("min_sub_length is %d", c.MinSubLength).WithHint("the shortest cycle within a cycle has 1 kernel or more")
	}
	if !(c.LengthTolerance >= 0 && c.LengthTolerance <= 1) {
		return c, fault.Usagef("length_tolerance is %v", c.LengthTolerance).WithHint("it is a share from 0 (all lengths are equal) to 1")
	}
	for _, share := range []struct {
		name  string
		value float64
	}{{"max_anchor_share", c.MaxAnchorShare}, {"outer_match", c.OuterMatch}, {"sub_match", c.SubMatch}} {
		if !(share.value > 0 && share.value <= 1) {
			return c, fault.Usagef("%s is %v", share.name, share.value).WithHint("it is a share above 0 and up to 1")
		}
	}
	return c, nil
}
