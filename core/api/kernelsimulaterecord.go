package api

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/kernel/session"
	"github.com/prlx-go/prlx/core/kernel/simt"
	"github.com/prlx-go/prlx/core/kernel/warptrace"
)

// machineArch is what the simulator executes.
const machineArch = "sm_80"

// simulateRecord says what of a launch is recorded, and where.
type simulateRecord struct {
	Path          string `json:"path"`
	Overwrite     bool   `json:"overwrite"`
	Mode          string `json:"mode"` // "digest", "control-flow" or "values"
	Predicates    bool   `json:"predicates"`
	Stores        bool   `json:"stores"`
	Atomics       bool   `json:"atomics"`
	Loads         bool   `json:"loads"`
	Barriers      bool   `json:"barriers"`
	EventsPerWarp uint32 `json:"events_per_warp"`
	Outputs       uint64 `json:"outputs"`    // bytes of contents of written arrays that are kept
	NoWritten     bool   `json:"no_written"` // leave out what the launch wrote; only measurements ask for that
}

var recordModes = map[string]warptrace.Mode{
	"digest": warptrace.ModeDigest, "": warptrace.ModeControlFlow, "control-flow": warptrace.ModeControlFlow, "values": warptrace.ModeValues,
}

// launchRecorder writes the recording of one launch as its warps arrive.
type launchRecorder struct {
	request *simulateRecord
	mode    warptrace.Mode
	out     *file.Output
	count   *countingWriter
	writer  *warptrace.V2Writer
	done    SimulationRecorded
	left    uint64 // rows of stores that had no room
}

func newLaunchRecorder(p *program, l *simt.Launch, r *simulateLaunchRequest) (*launchRecorder, error) {
	mode, ok := recordModes[r.Record.Mode]
	if !ok {
		return nil, fault.Usagef("there is no mode %q", r.Record.Mode).WithHint("digest, control-flow or values")
	}
	names := make([]string, len(l.Params))
	for i := range l.Params {
		names[i] = l.Params[i].Name
	}
	sites, err := p.SitesNamed(l.Kernel, names)
	if err != nil {
		return nil, err
	}
	arguments := recordedArguments(l)
	digest := argumentDigest(arguments)
	header := warptrace.Header{
		Version: 2, Kernel: l.Kernel, KernelHash: warptrace.Hash64(l.Kernel), ModuleHash: p.hash, Grid: l.Grid, Cluster: l.Cluster,
		Block: l.Block, WaveSize: 32, WarpsPerBlock: warpsOf(l.Block), WarpSlots: slots(l), EventsPerWarp: r.Record.EventsPerWarp,
		Arch: machineArch, ArchNumber: 80, Launch: r.Launch, ArgumentDigest: digest, Arguments: arguments, Mode: mode,
		Means: warptrace.MeansObserved, Keep: warptrace.KeepFirst, SampleRate: 1, Taken: true, Producer: "prlx " + Version,
	}
	rec := &launchRecorder{request: r.Record, mode: mode, done: SimulationRecorded{
		File: r.Record.Path, Sites: sites.Len(), ArgumentDigest: hex(digest), ModuleHash: p.hash,
	}}
	if rec.out, err = file.Create(r.Record.Path, r.Record.Overwrite); err != nil {
		return nil, err
	}
	rec.count = &countingWriter{w: rec.out}
	if rec.writer, err = warptrace.CreateV2(rec.count, header, sites, warptrace.V2Options{}); err != nil {
		rec.out.Abort()
		return nil, err
	}
	return rec, nil
}

func (r *launchRecorder) recording() *simt.Recording {
	return &simt.Recording{
		Mode: r.mode, Predicates: r.request.Predicates, Stores: r.request.Stores, Atomics: r.request.Atomics, Loads: r.request.Loads,
		Barriers: r.request.Barriers, EventsPerWarp: r.request.EventsPerWarp,
		Warp: func(w *warptrace.Warp) error {
			r.done.Warps++
			r.done.Events += int64(w.Len())
			r.left += uint64(max(len(w.Stores)-r.writer.StoreRoom(), 0))
			return r.writer.Append(w)
		},
		Written: !r.request.NoWritten, Keep: r.request.Outputs, Outputs: r.outputs,
		Contents: func(c *warptrace.Contents) error { return r.writer.AddContents(c) },
	}
}

// outputs writes what the launch wrote, and notes what did not fit.
func (r *launchRecorder) outputs(o *warptrace.Outputs) error {
	c := &o.Coverage
	c.RowsDropped += r.left
	w := &SimulationWritten{Stores: len(o.Stores), Arrays: len(o.Arrays), KeptBytes: c.ContentBytes}
	for i := range o.Arrays {
		w.Bytes += o.Arrays[i].Written
	}
	r.done.Written = w
	if c.ContentBudget > 0 && w.KeptBytes < w.Bytes {
		r.writer.Note(fmt.Sprintf("the contents of %d of %d written bytes were kept", w.KeptBytes, w.Bytes))
	}
	if c.RowsDropped > 0 {
		r.writer.Note(fmt.Sprintf("what warps stored was left out %d times and is in the totals of its statement only", c.RowsDropped))
	}
	if c.ChunksDropped > 0 {
		r.writer.Note(fmt.Sprintf("the digests of %d chunks were left out and are in the digest of their array only", c.ChunksDropped))
	}
	return r.writer.SetOutputs(o)
}

func (r *launchRecorder) abort() { r.out.Abort() }

func (r *launchRecorder) commit() (*SimulationRecorded, error) {
	if err := r.writer.Close(); err != nil {
		return nil, err
	}
	r.done.Bytes = r.count.n
	return &r.done, r.out.Commit()
}

func warpsOf(block [3]uint32) uint32 { return (block[0]*block[1]*block[2] + 31) / 32 }

func slots(l *simt.Launch) uint64 {
	return uint64(l.Grid[0]) * uint64(l.Grid[1]) * uint64(l.Grid[2]) * uint64(warpsOf(l.Block))
}

// isScratch reports whether a parameter is memory that Triton adds to every kernel; it says nothing of the launch.
func isScratch(a *simt.Argument) bool {
	return a.Name == "global_scratch" || a.Name == "profile_scratch"
}

// recordedArguments describes the arguments before the launch. Addresses are left out: they change from run to run.
func recordedArguments(l *simt.Launch) []warptrace.Argument {
	var arguments []warptrace.Argument
	for i := range l.Params {
		p := &l.Params[i]
		if isScratch(p) {
			continue
		}
		a := warptrace.Argument{Name: p.Name, Type: p.Type}
		switch {
		case p.Allocation >= 0:
			sum := sha256.Sum256(l.Memory[p.Allocation].Bytes)
			a.Digest = binary.LittleEndian.Uint64(sum[:]) | 1 // 0 means unknown
		case !strings.HasPrefix(p.Type, "*"):
			a.Value = scalarText(p.Type, p.Bits)
		}
		arguments = append(arguments, a)
	}
	return arguments
}

// argumentDigest is a hash over names, types, values and the contents of arrays.
func argumentDigest(arguments []warptrace.Argument) uint64 {
	h := sha256.New()
	for _, a := range arguments {
		for _, text := range []string{a.Name, a.Type, a.Value} {
			writeText(h, text)
		}
		writeWord(h, a.Digest)
	}
	return binary.LittleEndian.Uint64(h.Sum(nil)) | 1
}

func writeText(h hash.Hash, text string) {
	writeWord(h, uint64(len(text)))
	h.Write([]byte(text))
}

func writeWord(h hash.Hash, word uint64) { h.Write(binary.LittleEndian.AppendUint64(nil, word)) }

// scalarText is the value of a scalar argument in text, by its type in Triton's spelling.
func scalarText(ty string, bits uint64) string {
	switch ty {
	case "fp32", "f32":
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(bits))), 'g', -1, 32)
	case "fp64":
		return strconv.FormatFloat(math.Float64frombits(bits), 'g', -1, 64)
	case "i1", "u1":
		return strconv.FormatBool(bits != 0)
	}
	if width, err := strconv.Atoi(strings.TrimLeft(ty, "iu")); err == nil && width > 0 && width <= 64 {
		if strings.HasPrefix(ty, "i") {
			return strconv.FormatInt(int64(bits<<(64-width))>>(64-width), 10)
		}
		return strconv.FormatUint(bits, 10)
	}
	return hex(bits)
}

type sessionFinishRequest struct {
	requestLimits
	Path     string                `json:"path"`
	Partial  bool                  `json:"partial"`
	Launches []sessionFinishLaunch `json:"launches"`
}

// sessionFinishLaunch is one launch of a manifest.
type sessionFinishLaunch struct {
	Launch         uint64    `json:"launch"`
	Kernel         string    `json:"kernel"`
	File           string    `json:"file"`
	Grid           [3]uint32 `json:"grid"`
	Block          [3]uint32 `json:"block"`
	ArgumentDigest string    `json:"argument_digest"`
	ModuleHash     string    `json:"module_hash"`
}

type sessionFinishDocument struct {
	Path     string `json:"path"`
	Launches int    `json:"launches"`
}

// sessionFinish writes the manifest of a session whose recordings are in their places.
func sessionFinish(_ *job.Job, r *sessionFinishRequest) (*sessionFinishDocument, error) {
	s := &session.Session{Dir: r.Path, Partial: r.Partial, Producer: "prlx " + Version}
	for _, l := range r.Launches {
		digest, err := strconv.ParseUint(strings.TrimPrefix(l.ArgumentDigest, "0x"), 16, 64)
		if err != nil {
			return nil, fault.Usagef("argument_digest is %q, expected hexadecimal digits", l.ArgumentDigest)
		}
		s.Launches = append(s.Launches, session.Launch{
			Number: l.Launch, Kernel: l.Kernel, File: filepath.ToSlash(l.File), Grid: l.Grid, Block: l.Block,
			ArgumentDigest: digest, ModuleHash: l.ModuleHash,
		})
	}
	out, err := file.Create(filepath.Join(r.Path, session.ManifestName), true)
	if err != nil {
		return nil, err
	}
	defer out.Abort()
	if err := session.WriteManifest(out, s); err != nil {
		return nil, err
	}
	return &sessionFinishDocument{Path: out.Path(), Launches: len(s.Launches)}, out.Commit()
}
