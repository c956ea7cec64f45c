package diff

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// The classes of causes, in the order in which documents list them.
const (
	classGiven     = "given"         // the launches were given other arguments, or the kernel was compiled for other constants
	classRace      = "race"          // an order that nothing fixes: of atomics, of a reduction, of accesses without a barrier
	classPrecision = "precision"     // the same numbers with other rounding
	classLoop      = "loop-bound"    // a loop that runs more or less often
	classIndex     = "index-or-mask" // another element or other lanes
	classStale     = "stale-data"    // memory that was not written yet, or not any more
	classFormula   = "formula"       // something else is computed, which fits none of the others
	classOperation = "operation"     // memory is updated differently
	classUnknown   = "unknown"
)

type class uint8

const (
	race class = iota
	precision
	loopBound
	indexOrMask
	staleData
	formula
	operation
	given
	classes = iota
)

var classNames = [classes]string{classRace, classPrecision, classLoop, classIndex, classStale, classFormula, classOperation, classGiven}

// The thresholds of a verdict: points of the best class, and its lead over the next. docs/concepts/explain.md lists the points.
const (
	strongPoints, strongLead = 8, 5
	likelyPoints, likelyLead = 5, 3
	weakPoints, weakLead     = 3, 2
)

// The words for how sure a classification is.
const (
	confidenceStrong = "strong"
	confidenceLikely = "likely"
	confidenceWeak   = "weak"
)

// Explain says why the first divergence of a result happened, as far as the recordings tell, and keeps it in r.Why. It is nil when
// nothing differs, and when what the kernel wrote is the same.
func Explain(j *job.Job, r *Result, a, b *warptrace.Trace, opt Options) (*Explanation, error) {
	var row *Row
	switch {
	case r.First >= 0 && int(r.First) < len(r.Rows):
		row = &r.Rows[r.First]
	case r.outputs == nil || r.outputs.first == nil:
		return nil, nil
	}
	if r.Judge().Status == StatusSameResults {
		return nil, nil // another way to the same results has no cause that went wrong
	}
	why, err := explainRow(j, r, a, b, row, opt)
	if err != nil {
		return nil, err
	}
	r.Why = why
	return why, nil
}

func explainRow(j *job.Job, r *Result, a, b *warptrace.Trace, row *Row, opt Options) (*Explanation, error) {
	if row != nil && r.A.WaveSize != r.B.WaveSize {
		return unexplained(row, r), nil
	}
	c, warnings, err := readClues(j.Context(), r, a, b, row, opt.Tested)
	if err != nil {
		return nil, err
	}
	r.Warnings = append(r.Warnings, warnings...)
	why := conclude(c.gather())
	if why.Confidence == confidenceStrong && why.Class != classGiven && c.code.ok && c.guessed() {
		why.Confidence = confidenceLikely
	}
	why.Statement, why.Candidates = c.statement(), c.code.candidates(c.headers)
	why.Chain = c.chain()
	why.Missing = c.missing()
	why.Summary = c.summary(why)
	return why, nil
}

// unexplained is the answer where warps of two widths were compared thread by thread: no warp of one side is a warp of the other.
func unexplained(row *Row, r *Result) *Explanation {
	why := conclude(nil, [classes]bool{})
	ref := &r.Sites[siteOfRow(row)]
	why.Summary = fmt.Sprintf("what differs at %s is not explained: the warps of the recordings have %d and %d lanes",
		placeOf(ref.Site, ref.Name()), r.A.WaveSize, r.B.WaveSize)
	why.Missing = append(why.Missing, "the evidence of whole warps: compare recordings of the same wave size")
	return why
}

// finding is what one rule makes of the evidence: points for or against a class, and the evidence in words.
type finding struct {
	class  class
	points int // below 0: against
	text   string
}

// conclude adds up findings. Sums do not depend on the order of the rules, and the texts of a class are sorted by weight.
func conclude(findings []finding, earned [classes]bool) *Explanation {
	slices.SortStableFunc(findings, func(x, y finding) int {
		if d := cmp.Compare(abs(y.points), abs(x.points)); d != 0 {
			return d
		}
		return cmp.Compare(x.text, y.text)
	})
	why := &Explanation{Chain: []Link{}, Missing: []string{}}
	var scores [classes]int
	for k := range class(classes) {
		ruling := Ruling{Class: classNames[k], For: []string{}, Against: []string{}}
		for _, f := range findings {
			switch {
			case f.class != k || f.points == 0:
				continue
			case f.points > 0:
				ruling.For = append(ruling.For, fmt.Sprintf("%s (+%d)", f.text, f.points))
			default:
				ruling.Against = append(ruling.Against, fmt.Sprintf("%s (%d)", f.text, f.points))
			}
			ruling.Score += f.points
		}
		scores[k] = ruling.Score
		why.Considered = append(why.Considered, ruling)
	}
	best, next := 0, -1
	for k := 1; k < classes; k++ {
		switch {
		case scores[k] > scores[best]:
			best, next = k, best
		case next < 0 || scores[k] > scores[next]:
			next = k
		}
	}
	why.Class, why.Confidence = classNames[best], confidence(scores[best], scores[best]-max(scores[next], 0))
	if why.Confidence == confidenceStrong && !earned[best] {
		why.Confidence = confidenceLikely
	}
	if why.Confidence == "" {
		why.Class, why.Confidence = classUnknown, confidenceWeak
	}
	slices.SortStableFunc(why.Considered, func(x, y Ruling) int { return cmp.Compare(y.Score, x.Score) })
	return why
}

// confidence is how sure a class is, "" when it is not to be named.
func confidence(points, lead int) string {
	switch {
	case points >= strongPoints && lead >= strongLead:
		return confidenceStrong
	case points >= likelyPoints && lead >= likelyLead:
		return confidenceLikely
	case points >= weakPoints && lead >= weakLead:
		return confidenceWeak
	}
	return ""
}

func abs(n int) int { return max(n, -n) }

var classPhrases = map[string]string{
	classRace:      "an order that nothing fixes",
	classPrecision: "other rounding of the same numbers",
	classLoop:      "a loop that runs more or less often",
	classIndex:     "another element or other lanes are chosen",
	classStale:     "data that was not written yet, or not any more",
	classFormula:   "another computation, which fits no other class,",
	classGiven:     "other arguments",
	classOperation: "another way to update memory",
}

// summary is the explanation in one sentence.
func (c *clues) summary(why *Explanation) string {
	place := c.place()
	if why.Class == classUnknown {
		text := fmt.Sprintf("what was recorded at %s does not tell the cause", place)
		if why.Statement != nil {
			text += fmt.Sprintf("; %s is the statement to look at: %s", c.code.placeOfStatement(), why.Statement.Why)
		}
		return text
	}
	if g := c.cause(); g != nil && why.Class == classGiven {
		text := classPhrases[classGiven] + ": " + g.Text()
		if g.Note != "" {
			text += " (" + g.Note + ")"
		}
		if why.Statement != nil {
			text += "; used first at " + c.code.placeOfStatement()
		}
		return text + "; " + c.whatIsSame() + " is the same"
	}
	hedge := map[string]string{confidenceStrong: "", confidenceLikely: "probably ", confidenceWeak: "perhaps "}[why.Confidence]
	text := hedge + classPhrases[why.Class]
	switch {
	case why.Statement != nil:
		text += " at " + c.code.placeOfStatement()
	case c.row != nil && c.from.ok && c.from.ia != c.at.ia:
		text += fmt.Sprintf(": it shows first at %s, %s before it decides %s", c.from.place(), counted(int64(c.at.ia-c.from.ia), "event"), place)
	default:
		text += " at " + place
	}
	for i := range why.Considered {
		if r := &why.Considered[i]; r.Class == why.Class && len(r.For) > 0 {
			text += ": " + withoutPoints(r.For[0])
		}
	}
	if other := c.otherwiseGiven(); other != "" && why.Class != classGiven {
		text += "; the launches were also given something else: " + other
	}
	return text
}

// place is where the difference shows: at the first divergence, else where what differs was stored.
func (c *clues) place() string {
	if c.row != nil {
		return c.at.place()
	}
	if f := c.r.outputs.first; f.Store != nil {
		return cmp.Or(shortPlace(f.Store.SourceLocation), f.Store.SiteID)
	}
	return "output " + clippedWord(c.r.outputs.first.Array)
}

func withoutPoints(text string) string {
	for i := len(text) - 1; i > 0; i-- {
		if text[i] == '(' {
			return text[:i-1]
		}
	}
	return text
}
