// Package describe says what recordings and sessions hold: their documents, and the events of a recording as columns. It compares nothing.
package describe

import (
	"context"
	"fmt"
	"strconv"

	"github.com/prlx-go/prlx/core/diff"
	"github.com/prlx-go/prlx/core/diff/session"
	"github.com/prlx-go/prlx/core/recording"
	"github.com/prlx-go/prlx/core/recording/origin"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// Recording is prlx.kernel-trace/1: what a recording says of itself.
type Recording struct {
	Schema  string      `json:"schema"`
	Path    string      `json:"path"`
	Format  string      `json:"format"` // "prlx v1" | "prlx v2"
	Header  Header      `json:"header"`
	Warps   int64       `json:"warps"`  // that recorded anything
	Events  int64       `json:"events"` // in the file
	Losses  diff.Losses `json:"losses"`
	SiteMap string      `json:"site_map,omitempty"`
	Sites   int         `json:"sites"` // in the site table, of the recording or of the site map

	Outputs *Outputs `json:"outputs,omitempty"` // what the launch wrote; not there: the recording does not say

	Origin *origin.Origin `json:"origin,omitempty"` // what the kernel computes, where a compiler of graphs made it: from the recording, or from the manifest beside it

	Warnings []string `json:"warnings"`
}

// Header is the header of a recording. Hashes are hexadecimal text.
type Header struct {
	Version        int        `json:"version"`
	Kernel         string     `json:"kernel"`
	KernelHash     string     `json:"kernel_hash"`
	ModuleHash     string     `json:"module_hash,omitempty"`
	Grid           [3]uint32  `json:"grid"`
	Cluster        [3]uint32  `json:"cluster"` // zeros: none
	Block          [3]uint32  `json:"block"`
	WaveSize       int        `json:"wave_size"`
	WarpsPerBlock  uint32     `json:"warps_per_block"`
	WarpSlots      uint64     `json:"warp_slots"`
	EventsPerWarp  uint32     `json:"events_per_warp"` // 0: no limit
	Arch           string     `json:"arch"`
	ArchNumber     uint32     `json:"arch_number"`
	Launch         uint64     `json:"launch"`
	ArgumentDigest string     `json:"argument_digest,omitempty"`
	Arguments      []Argument `json:"arguments,omitempty"`
	Mode           string     `json:"mode"`
	Means          string     `json:"means"`
	Keep           string     `json:"keep"`
	SampleRate     uint32     `json:"sample_rate"`
	TimestampNS    int64      `json:"timestamp_ns"`
	Taken          bool       `json:"taken"` // taken lanes were recorded
	HistoryDepth   uint32     `json:"history_depth"`
	SnapshotDepth  uint32     `json:"snapshot_depth"`
	Compressed     bool       `json:"compressed"`
	Producer       string     `json:"producer,omitempty"`
}

// Argument is one argument of the launch.
type Argument struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Value  string `json:"value,omitempty"`
	Digest string `json:"digest,omitempty"`
}

// OfRecording describes an open recording.
func OfRecording(ctx context.Context, t *recording.Recording) (*Recording, error) {
	index, err := t.Index(ctx)
	if err != nil {
		return nil, err
	}
	losses, err := t.Losses(ctx)
	if err != nil {
		return nil, err
	}
	outputs, err := outputsOf(ctx, t.Trace)
	if err != nil {
		return nil, err
	}
	h := t.Header()
	return &Recording{
		Schema:   "prlx.kernel-trace/1",
		Path:     t.Path(),
		Format:   FormatOf(h),
		Header:   headerOf(h),
		Warps:    int64(len(index)),
		Events:   losses.Events,
		Losses:   diff.DescribeLosses(losses),
		SiteMap:  t.SiteMap,
		Sites:    t.Sites().Len(),
		Outputs:  outputs,
		Origin:   session.OriginOf(ctx, t.Path(), h),
		Warnings: append(append([]string{}, h.Warnings...), t.Warnings...),
	}, nil
}

// FormatOf names the format of a recording.
func FormatOf(h *warptrace.Header) string { return "prlx v" + strconv.Itoa(h.Version) }

func headerOf(h *warptrace.Header) Header {
	doc := Header{
		Version: h.Version, Kernel: h.Kernel, KernelHash: hex(h.KernelHash), ModuleHash: h.ModuleHash,
		Grid: h.Grid, Cluster: h.Cluster, Block: h.Block, WaveSize: h.WaveSize,
		WarpsPerBlock: h.WarpsPerBlock, WarpSlots: h.WarpSlots, EventsPerWarp: h.EventsPerWarp,
		Arch: h.Arch, ArchNumber: h.ArchNumber, Launch: h.Launch,
		Mode: nameOf(modeNames[:], int(h.Mode)), Means: nameOf(meansNames[:], int(h.Means)), Keep: nameOf(keepNames[:], int(h.Keep)),
		SampleRate: h.SampleRate, TimestampNS: h.TimestampNS, Taken: h.Taken,
		HistoryDepth: h.HistoryDepth, SnapshotDepth: h.SnapshotDepth, Compressed: h.Compressed, Producer: h.Producer,
	}
	if h.ArgumentDigest != 0 {
		doc.ArgumentDigest = hex(h.ArgumentDigest)
	}
	for _, a := range h.Arguments {
		d := Argument{Name: a.Name, Type: a.Type, Value: a.Value}
		if a.Digest != 0 {
			d.Digest = hex(a.Digest)
		}
		doc.Arguments = append(doc.Arguments, d)
	}
	return doc
}

// The spellings in documents of what headers and snapshots say by number.
var (
	modeNames = [...]string{
		warptrace.ModeUnknown: "unknown", warptrace.ModeDigest: "digest", warptrace.ModeControlFlow: "control-flow", warptrace.ModeValues: "values",
	}
	meansNames = [...]string{
		warptrace.MeansUnknown: "unknown", warptrace.MeansInstrumented: "instrumented", warptrace.MeansObserved: "observed",
		warptrace.MeansConverted: "converted", warptrace.MeansGenerated: "generated",
	}
	keepNames = [...]string{warptrace.KeepFirst: "first", warptrace.KeepLast: "last", warptrace.KeepWindow: "window"}
)

// nameOf is a name of a table, its number where this version does not know it.
func nameOf(names []string, n int) string {
	if n < len(names) {
		return names[n]
	}
	return "unknown-" + strconv.Itoa(n)
}

var roleNames = [...]string{
	warptrace.RoleCompare: "compare", warptrace.RoleAtomic: "atomic", warptrace.RoleStore: "store",
	warptrace.RoleLoad: "load", warptrace.RoleValue: "value",
}

// RoleName says what the operands of a snapshot are.
func RoleName(r warptrace.SnapshotRole) string { return nameOf(roleNames[:], int(r)) }

func hex(n uint64) string { return fmt.Sprintf("0x%016x", n) }
