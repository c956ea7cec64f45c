package diff

import (
	"fmt"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/recording/edits"
	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// RowKind is the kind of a divergence in a Row; the order is that of the constants of documents.
type RowKind uint8

// The kinds, see KindBranch and its neighbours.
const (
	RowBranch RowKind = iota
	RowActiveMask
	RowValue
	RowPath
	RowExtraEvents
	rowKinds = iota
)

var rowKindNames = [rowKinds]string{KindBranch, KindActiveMask, KindValue, KindPath, KindExtraEvents}

// String returns the spelling in documents.
func (k RowKind) String() string { return rowKindNames[k] }

// None is the site number of a Row that has no site on that side.
const None = int32(-1)

// Row is one divergence of one warp, in its compact form. Sites are positions in Result.Sites.
type Row struct {
	Warp           uint64
	EventA, EventB int32 // position in each stream; for events that one side lacks, where they would stand there
	Kind           RowKind
	SiteA, SiteB   int32  // equal unless Kind is RowPath; None where a side has no event
	Count, CountB  uint32 // RowExtraEvents: how many, on the side that has them; RowPath: how many on each side; else 1
	OccurrenceA    uint32 // how often the warp had passed the site before
	OccurrenceB    uint32
	DirA, DirB     uint8
	ActiveA        uint64
	ActiveB        uint64
	TakenA, TakenB uint64
	ValueA, ValueB uint64
	Type           warptrace.ValueType
	Cluster        int32  // position in Result.Clusters, -1: beyond Options.MaxClusters
	Lanes          uint64 // lanes that differ, 0 unknown
	Follows        bool   // an earlier divergence can be its cause
	Noise          bool   // explained by how runs differ that should be equal
	Undecided      bool   // such runs can neither explain it nor rule it out; it counts
	Accepted       bool   // a file of accepted differences has it
	Reordered      bool   // every lane of the warp did the same, in another order among paths or of code that moved
}

// inA reports, for RowExtraEvents, whether A is the side that has the events.
func (r *Row) inA() bool { return r.SiteA != None }

// SiteRef is a site as both recordings know it.
type SiteRef struct {
	ID     uint64     // as A spells it, or B where A lacks the site: v1 id or v2 key
	Wide   bool       // ID is a key of 64 bits
	Kind   site.Kind  // of its events
	Site   *site.Site // nil when no site table has it
	SiteB  *site.Site // as B has it; nil where B lacks it
	LocalA int64      // local number in A, -1 none
	LocalB int64      // local number in B, -1 none
}

// Name spells the site's number as documents do: "0x%08x" or, for keys, "0x%016x".
func (s *SiteRef) Name() string {
	if s.Wide {
		return fmt.Sprintf("0x%016x", s.ID)
	}
	return fmt.Sprintf("0x%08x", s.ID)
}

// line is "file:line", "" unknown.
func (s *SiteRef) line() string {
	if s.Site == nil || s.Site.Shown().Line == 0 {
		return ""
	}
	at := s.Site.Shown()
	return fmt.Sprintf("%s:%d", at.File, at.Line)
}

// Location is "file:function:line:column", "" unknown.
func (s *SiteRef) Location() string { return site.FormatLocation(s.Site) }

// locationB is Location as B has it where that is another line or file, "" where it is the same, and where B lacks the site.
func (s *SiteRef) locationB() string {
	if s.Site == nil || s.SiteB == nil || s.SiteB == s.Site {
		return ""
	}
	a, b := s.Site.Shown(), s.SiteB.Shown()
	if b.Line == 0 || a.File == b.File && a.Line == b.Line {
		return ""
	}
	return site.FormatFrame(b)
}

// only is the side that alone has the site, "" where both do.
func (s *SiteRef) only() string {
	switch {
	case s.LocalA < 0 && s.LocalB >= 0:
		return "B"
	case s.LocalB < 0 && s.LocalA >= 0:
		return "A"
	}
	return ""
}

// inside are the lines of libraries within Location, innermost first; nil where there are none.
func (s *SiteRef) inside() []string {
	if s.Site == nil {
		return nil
	}
	var out []string
	for _, f := range s.Site.Inside() {
		out = append(out, site.FormatFrame(f))
	}
	return out
}

// clusterRef is a set of warps whose divergences are the same in kind, sites, positions, occurrences, counts, directions and masks.
type clusterRef struct {
	First     Row             // the first row of the lowest warp
	At        int32           // position of First in Result.Rows, -1: beyond Options.MaxRows; the other rows of that warp follow it
	Rows      int32           // divergences of each warp
	ByKind    [rowKinds]int32 // of each warp
	Warps     []uint64        // ascending
	Follows   bool            // every first row has an earlier divergence that can be its cause
	Noise     bool            // every row of every warp is noise
	Accepted  bool            // likewise accepted
	Reordered bool            // every lane did the same, in another order among paths
	Operands  []LaneValues    // of First, where they were recorded; of the first clusters only
	Compare   site.Compare    // how the operands were compared
	CompareB  site.Compare    // how B compared them

	around []pairSeen // events around First
}

// siteTally counts what differs at one site, over all warps, also where rows were omitted.
type siteTally struct {
	Rows   int64
	Warps  int64
	ByKind [rowKinds]int64
}

// Stats are the totals of a comparison, over all warps.
type Stats struct {
	WarpsCompared int64 // that at least one side recorded, and that Options.Warps holds
	WarpsDiverged int64 // with at least one row, reordered warps only with Options.StrictOrder
	WarpsA        int64 // that recorded anything
	WarpsB        int64
	EventsA       int64
	EventsB       int64
	ByKind        [rowKinds]int64 // rows, without those of reordered warps unless Options.StrictOrder
	Filtered      int64           // rows that Options.Ignore, Kinds and SiteFilter left out; counted nowhere else
	RowsOmitted   int64           // divergences beyond Options.MaxRows: in ByKind, not in Rows
	Approximate   int64           // warps whose script is not proven minimal
	Reordered     int64           // warps whose lanes did the same in another order
	ReorderedRows int64           // their rows
	MovedWarps    int64           // of those warps, how many did so because code moved between two builds
	LostTails     int64           // warps of which an end is missing where that side lost events: no divergence
	Unlocated     int64           // warps that differ by their hash, or by how many events they passed, and recorded no event to tell where
}

// Result is a comparison before it becomes a Document.
type Result struct {
	A, B     *warptrace.Header
	PathA    string
	PathB    string
	Options  Options
	Rows     []Row // ascending by warp, then event; see Options.MaxRows
	Sites    []SiteRef
	Tallies  []siteTally  // beside Sites; a Path counts for the site of A
	Clusters []clusterRef // in order of how early they can be a cause

	ClustersOmitted int64 // beyond Options.MaxClusters
	First           int32 // position in Rows of the first divergence that counts, -1: none
	Stats           Stats
	LossesA         warptrace.Losses
	LossesB         warptrace.Losses
	Baseline        *Baseline    // set by ApplyBaseline
	Why             *Explanation // set by Explain
	AcceptedUse     *AcceptedUse // set by Accepted.Apply
	Reruns          *Reruns      // set by CompareReruns
	Builds          *Builds      // how the sites of two builds were matched, nil: of one build
	Blocks          *Blocks      // how much was read; nil where the format has no blocks
	damage          damage       // blocks that could not be read
	TextsA, TextsB  *warptrace.Texts
	Given           []Given        // what the two launches were given differently
	Changes         *edits.Changes // how the text of B differs from that of A; nil where one of them is not known
	OtherShape      string         // how the shapes of the launches differ where warps do not correspond; "": they do
	Warnings        []string
	Undecided       []string // why "the same" cannot be said although nothing differs, in sentences

	recorded recorded
	outputs  *outputs // nil: not looked at
	findings findings
	epochs   map[uint64]uint32 // by warp: barriers before its first row, where there are any
}

// Unnamed counts the sites that no site table and no site map knows.
func (r *Result) Unnamed() int {
	n := 0
	for i := range r.Sites {
		if r.Sites[i].Site == nil {
			n++
		}
	}
	return n
}

// naNPolicy says when two values of which one is NaN are equal.
type naNPolicy uint8

// The policies.
const (
	naNEqual naNPolicy = iota // any NaN equals any NaN
	naNBits                   // equal when the bits are
	naNNever                  // never equal, as IEEE 754 compares
)

// ParseNaN reads the spelling of a policy; "" is naNEqual.
func ParseNaN(text string) (naNPolicy, error) {
	switch text {
	case "", "equal":
		return naNEqual, nil
	case "bits":
		return naNBits, nil
	case "never":
		return naNNever, nil
	}
	return 0, fault.Usagef("nan is %q, expected equal, bits or never", text)
}

// Options are what a comparison is asked for. The zero value compares decisions and masks, not values, and counts everything.
type Options struct {
	Values           bool      // compare values too
	Tolerance        tolerance // of values
	NaN              naNPolicy
	IgnoreActiveMask bool           // ActiveMask rows are listed and do not count
	Ignore           []site.Pattern // sites whose rows are left out
	Force            bool           // compare recordings of other kernels
	CrossGPU         bool           // compare other grids and wave sizes, by thread
	Verify           bool           // read all of both recordings first, also what need not be compared
	StrictOrder      bool           // another order of paths is a difference even where every lane did the same
	Warps            WarpSet        // compare only these
	Kinds            kindSet        // report only these
	SiteFilter       []site.Pattern // report only these; empty: all
	Limit            int64          // rows in the document, after everything was counted; 0: all
	Context          int            // events shown around a divergence on each side; 0: 5, negative: none
	MaxRows          int64          // rows kept in memory; 0: 2^20
	MaxClusters      int            // 0: 4096
	MaxDivergences   Allowed        // divergences that still pass
	Require          Require        // what must agree to pass
	Libraries        []string       // files that are libraries besides those that are known, see site.Table.WithLibraries
	Tested           *Tested        // what came of running texts between A's and B's, nil: nobody did
	Settings         Settings       // as the caller spelled them, for the document
}
