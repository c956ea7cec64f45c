package describe

import (
	"context"

	"github.com/prlx-go/prlx/core/recording/site"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// Outputs says what a recording holds of what its launch wrote to global memory.
type Outputs struct {
	ArraysKnown  bool    `json:"arrays_known"`  // somebody looked at what was written to arrays
	Arrays       []Array `json:"arrays"`        // that were written
	Memory       []Held  `json:"memory"`        // what the memory behind arguments held after the launch, whoever wrote it; none: nobody looked
	Stores       []Store `json:"stores"`        // by statement and array, at most 1000
	MoreStores   int     `json:"more_stores"`   // beyond those listed
	Checked      bool    `json:"checked"`       // the checks of the simulator ran
	Findings     int     `json:"findings"`      // of the simulator
	MoreFindings uint64  `json:"more_findings"` // times that something was found beyond the findings that are kept
	KeptBytes    uint64  `json:"kept_bytes"`    // of contents
	AskedBytes   uint64  `json:"asked_bytes"`   // that were asked for, for contents
}

// Array is one array that the launch wrote.
type Array struct {
	Name   string `json:"name"`
	Type   string `json:"type,omitempty"`
	Kind   string `json:"kind"` // argument, registered, variable, scratch
	Bytes  uint64 `json:"bytes"`
	Chunks int    `json:"chunks"` // with digests
	Digest string `json:"digest"`
}

// Held is what all the memory behind an argument held.
type Held struct {
	Name      string `json:"name"`
	Type      string `json:"type,omitempty"`
	Bytes     uint64 `json:"bytes"`
	Before    string `json:"before,omitempty"` // the launch: digest, where it is known
	After     string `json:"after"`
	Addresses uint64 `json:"addresses,omitempty"` // that may be in it: then it may be another one in every run
}

// Store is what all warps stored at one statement to one array.
type Store struct {
	SiteID   string `json:"site_id,omitempty"` // key of its first site
	Location string `json:"location,omitempty"`
	Kind     string `json:"kind,omitempty"`
	Array    string `json:"array,omitempty"`
	Elements uint64 `json:"elements"`
	Warps    uint64 `json:"warps"`
	Hash     string `json:"hash"`
}

// mostOutputStores bounds the sums of stores that are listed.
const mostOutputStores = 1000

var arrayKinds = []string{"argument", "registered", "variable", "scratch"}

// outputsOf is nil when the recording does not say what was written.
func outputsOf(ctx context.Context, t *warptrace.Trace) (*Outputs, error) {
	o, err := t.Outputs(ctx)
	if o == nil || err != nil {
		return nil, err
	}
	doc := &Outputs{
		Arrays: []Array{}, Memory: []Held{}, Stores: []Store{}, Findings: len(o.Findings), MoreFindings: o.Coverage.MoreFindings,
		KeptBytes: o.Coverage.ContentBytes, AskedBytes: o.Coverage.ContentBudget,
	}
	doc.ArraysKnown, doc.Checked = o.Coverage.Arrays, o.Coverage.Checks
	for i := range o.Arrays {
		if !doc.ArraysKnown {
			break // they have names, and nobody looked at them
		}
		a := &o.Arrays[i]
		doc.Arrays = append(doc.Arrays, Array{
			Name: a.Name, Type: a.Type, Kind: nameOf(arrayKinds, int(a.Kind)), Bytes: a.Written, Chunks: len(a.Chunks), Digest: hex(a.Digest),
		})
	}
	before := map[string]uint64{}
	for _, a := range t.Header().Arguments {
		before[a.Name] = a.Before
	}
	for i := range o.Held {
		h := &o.Held[i]
		of := Held{Name: h.Name, Type: h.Type, Bytes: h.Bytes, After: hex(h.Digest), Addresses: h.Addresses}
		if n := before[h.Name]; n != 0 {
			of.Before = hex(n)
		}
		doc.Memory = append(doc.Memory, of)
	}
	for i := range o.Stores {
		if len(doc.Stores) == mostOutputStores {
			doc.MoreStores = len(o.Stores) - mostOutputStores
			break
		}
		s := &o.Stores[i]
		out := Store{Elements: s.Count, Warps: s.Warps, Hash: hex(s.Hash)}
		if at, ok := t.SiteOf(s.Site); ok {
			out.SiteID, out.Location, out.Kind = hex(uint64(at.Key)), site.FormatLocation(at), at.Kind.String()
		}
		if a := o.ArrayByID(s.Array); a != nil {
			out.Array = a.Name
		}
		doc.Stores = append(doc.Stores, out)
	}
	return doc, nil
}
