package diff

// Headline is the verdict of a comparison in a word or two, and its tone. Terminals, pages and notebooks lay it out; none words it anew.
type Headline struct {
	Word string `json:"word"` // "SAME", "DIVERGED", ...
	Tone Tone   `json:"tone"`
}

// Tone is how a headline is shown: in which colour, for one.
type Tone string

// The tones.
const (
	ToneGood    Tone = "good"
	ToneLimited Tone = "limited" // it passes, or could, and is not simply the same
	ToneBad     Tone = "bad"
)

// HeadlineOf is the headline of a status that passes or does not.
func HeadlineOf(status string, passed bool) *Headline {
	switch {
	case status == StatusIdentical:
		return &Headline{"SAME", ToneGood}
	case status == StatusSameResults && passed:
		return &Headline{"SAME RESULTS", ToneGood}
	case status == StatusSameResults:
		return &Headline{"SAME RESULTS", ToneLimited}
	case status == StatusInconclusive:
		return &Headline{"INCONCLUSIVE", ToneBad}
	case passed:
		return &Headline{"PASSED", ToneLimited}
	}
	return &Headline{"DIVERGED", ToneBad}
}
