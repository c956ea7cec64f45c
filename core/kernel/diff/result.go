package diff

import (
	"github.com/prlx-go/prlx/core/kernel/site"
	"github.com/prlx-go/prlx/core/kernel/warptrace"
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
	Cluster        int32  // position in Result.Clusters, -1: beyond the budget of clusters
	Lanes          uint64 // lanes that differ, 0 unknown
	Follows        bool   // an earlier divergence can be its cause
	Noise          bool   // also seen among runs that should be equal
	Accepted       bool   // a file of accepted differences has it
}

// InA reports, for RowExtraEvents, whether A is the side that has the events.
func (r *Row) InA() bool { return r.SiteA != None }

// SiteRef is a site as both recordings know it.
type SiteRef struct {
	ID     uint64     // as the recording that has it spells it: v1 id or v2 key
	Wide   bool       // ID is a key of 64 bits
	Site   *site.Site // nil when no site table has it
	LocalA int64      // local number in A, -1 none
	LocalB int64      // local number in B, -1 none
}

// ClusterRef is a set of warps whose divergences are the same.
type ClusterRef struct {
	Rows      []int32  // of the lowest warp, positions in Result.Rows
	Warps     []uint64 // ascending
	Follows   bool
	Noise     bool
	Accepted  bool
	Reordered bool // every lane did the same, in another order among paths
}

// Stats are the totals of a comparison, over all warps.
type Stats struct {
	WarpsCompared int64
	WarpsDiverged int64
	EventsA       int64
	EventsB       int64
	ByKind        [rowKinds]int64
	RowsOmitted   int64 // divergences beyond Options.MaxRows: in ByKind, not in Rows
	Approximate   int64 // warps whose script is not proven minimal
	Reordered     int64 // warps whose lanes did the same in another order
	LostTails     int64 // warps whose missing end is a loss of that side, not a divergence
}

// Result is a comparison before it becomes a Document.
type Result struct {
	A, B     *warptrace.Header
	PathA    string
	PathB    string
	Options  Options
	Rows     []Row // ascending by warp, then event; see Options.MaxRows
	Sites    []SiteRef
	Clusters []ClusterRef // in order of how early they can be a cause
	First    int32        // position in Rows of the first divergence that counts, -1: none
	Stats    Stats
	LossesA  warptrace.Losses
	LossesB  warptrace.Losses
	Baseline *Baseline              // set by ApplyBaseline
	Why      *Explanation           // set by Explain
	Contexts map[int32][]Context    // by row: the events around it, for First and the first row of each cluster
	Operands map[int32][]LaneValues // by row, likewise
	Warnings []string
}

// NaNPolicy says when two values of which one is NaN are equal.
type NaNPolicy uint8

// The policies.
const (
	NaNEqual NaNPolicy = iota // any NaN equals any NaN
	NaNBits                   // equal when the bits are
	NaNNever                  // never equal, as IEEE 754 compares
)

// Options are what a comparison is asked for. The zero value compares decisions and masks, not values, and counts everything.
type Options struct {
	Values           bool      // compare values too
	Tolerance        Tolerance // of values
	NaN              NaNPolicy
	IgnoreActiveMask bool              // ActiveMask rows are listed and do not count
	Ignore           []site.Pattern    // sites whose rows are left out
	Force            bool              // compare recordings of other kernels
	CrossGPU         bool              // compare other grids and wave sizes, by thread
	StrictOrder      bool              // another order of paths is a difference even where every lane did the same
	Warps            func(uint64) bool // nil: all
	Kinds            []RowKind         // report only these; nil: all
	SiteFilter       []site.Pattern    // report only these; nil: all
	Limit            int64             // rows in the document, after everything was counted; 0: all
	Context          int               // events shown around a divergence on each side; 0: 5, negative: none
	MaxRows          int64             // rows kept in memory; 0: 2^20
	MaxClusters      int               // 0: 4096
	Threshold        int64             // divergences that still pass
	Settings         Settings          // as the caller spelled them, for the document
}
