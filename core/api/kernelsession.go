package api

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/kernel/session"
)

type sessionInspectRequest struct {
	requestLimits
	Path string `json:"path"`
}

// SessionInspectDocument is prlx.session-inspect/1: the launches of a session.
type SessionInspectDocument struct {
	Schema   string           `json:"schema"`
	Path     string           `json:"path"`
	Manifest bool             `json:"manifest"` // false: the launches are the recordings found in the directory
	Partial  bool             `json:"partial"`  // the manifest says that recording did not come to its end
	Producer string           `json:"producer,omitempty"`
	Launches []LaunchDocument `json:"launches"`
	Kernels  []KernelLaunches `json:"kernels"` // in the order of their first launch
	Warnings []string         `json:"warnings"`
}

// LaunchDocument is one launch of a session.
type LaunchDocument struct {
	Launch         uint64    `json:"launch"`
	Kernel         string    `json:"kernel"`
	Grid           [3]uint32 `json:"grid"`
	Block          [3]uint32 `json:"block"`
	File           string    `json:"file"` // relative to the session
	Format         string    `json:"format,omitempty"`
	Bytes          int64     `json:"bytes"`
	ArgumentDigest string    `json:"argument_digest,omitempty"`
	ModuleHash     string    `json:"module_hash,omitempty"`
	Stream         string    `json:"stream,omitempty"`
	Partial        bool      `json:"partial"`
	Problem        string    `json:"problem,omitempty"` // why the recording cannot be read
}

// KernelLaunches counts the launches of a kernel.
type KernelLaunches struct {
	Kernel   string `json:"kernel"`
	Launches int64  `json:"launches"`
}

// sessionInspect lists the launches of a session.
func sessionInspect(j *job.Job, r *sessionInspectRequest) (*SessionInspectDocument, error) {
	if r.Path == "" {
		return nil, fault.Usagef("no session is named")
	}
	s, err := session.Open(j.Context(), r.Path)
	if err != nil {
		return nil, err
	}
	j.Progress().SetStage("reading headers")
	j.Progress().SetTotal(int64(len(s.Launches)))
	if err := s.Describe(j); err != nil {
		return nil, err
	}
	doc := &SessionInspectDocument{
		Schema: "prlx.session-inspect/1", Path: r.Path, Manifest: s.Manifest, Partial: s.Partial, Producer: s.Producer,
		Launches: make([]LaunchDocument, len(s.Launches)), Kernels: []KernelLaunches{}, Warnings: append([]string{}, s.Warnings...),
	}
	at := map[string]int{}
	for i := range s.Launches {
		l := &s.Launches[i]
		doc.Launches[i] = launchDocument(s.Dir, l)
		k, known := at[l.Kernel]
		if !known {
			k = len(doc.Kernels)
			at[l.Kernel] = k
			doc.Kernels = append(doc.Kernels, KernelLaunches{Kernel: l.Kernel})
		}
		doc.Kernels[k].Launches++
	}
	return doc, nil
}

func launchDocument(dir string, l *session.Launch) LaunchDocument {
	doc := LaunchDocument{
		Launch: l.Number, Kernel: l.Kernel, Grid: l.Grid, Block: l.Block, File: l.File, ModuleHash: l.ModuleHash, Stream: l.Stream,
		Partial: l.Partial,
	}
	if l.ArgumentDigest != 0 {
		doc.ArgumentDigest = hex(l.ArgumentDigest)
	}
	if l.Problem != nil {
		doc.Problem = fault.Of(l.Problem).Msg
		return doc
	}
	doc.Format = formatOf(l.Header)
	if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(l.File))); err == nil {
		doc.Bytes = info.Size()
	}
	return doc
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
