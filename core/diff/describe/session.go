package describe

import (
	"os"
	"path/filepath"

	"github.com/prlx-go/prlx/core/diff/session"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/origin"
)

// Session is prlx.session-inspect/1: the launches of a session.
type Session struct {
	Schema   string           `json:"schema"`
	Path     string           `json:"path"`
	Manifest bool             `json:"manifest"` // false: the launches are the recordings found in the directory
	Partial  bool             `json:"partial"`  // the manifest says that recording did not come to its end
	Producer string           `json:"producer,omitempty"`
	Launches []Launch         `json:"launches"`
	Kernels  []KernelLaunches `json:"kernels"` // in the order of their first launch
	Warnings []string         `json:"warnings"`
}

// Launch is one launch of a session.
type Launch struct {
	Launch         uint64         `json:"launch"`
	Kernel         string         `json:"kernel"`
	Grid           [3]uint32      `json:"grid"`
	Block          [3]uint32      `json:"block"`
	File           string         `json:"file"` // relative to the session
	Format         string         `json:"format,omitempty"`
	Bytes          int64          `json:"bytes"`
	ArgumentDigest string         `json:"argument_digest,omitempty"`
	ModuleHash     string         `json:"module_hash,omitempty"`
	Stream         string         `json:"stream,omitempty"`
	Partial        bool           `json:"partial"`
	Origin         *origin.Origin `json:"origin,omitempty"`  // where a compiler of graphs made the kernel
	Problem        string         `json:"problem,omitempty"` // why the recording cannot be read

	Fidelity *session.Fidelity `json:"fidelity,omitempty"` // what the simulator approximated; left out: the manifest does not say
}

// KernelLaunches counts the launches of a kernel.
type KernelLaunches struct {
	Kernel   string `json:"kernel"`
	Launches int64  `json:"launches"`
}

// OfSession lists the launches of the session at a path.
func OfSession(j *job.Job, path string) (*Session, error) {
	if path == "" {
		return nil, fault.Usagef("no session is named")
	}
	s, err := session.Open(j.Context(), path)
	if err != nil {
		return nil, err
	}
	j.Progress().SetStage("reading headers")
	j.Progress().SetTotal(int64(len(s.Launches)))
	if err := s.Describe(j); err != nil {
		return nil, err
	}
	doc := &Session{
		Schema: "prlx.session-inspect/1", Path: path, Manifest: s.Manifest, Partial: s.Partial, Producer: s.Producer,
		Launches: make([]Launch, len(s.Launches)), Kernels: []KernelLaunches{}, Warnings: append([]string{}, s.Warnings...),
	}
	at := map[string]int{}
	for i := range s.Launches {
		l := &s.Launches[i]
		doc.Launches[i] = launchOf(s.Dir, l)
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

func launchOf(dir string, l *session.Launch) Launch {
	doc := Launch{
		Launch: l.Number, Kernel: l.Kernel, Grid: l.Grid, Block: l.Block, File: l.File, ModuleHash: l.ModuleHash, Stream: l.Stream,
		Partial: l.Partial, Origin: l.Origin, Fidelity: l.Fidelity,
	}
	if l.ArgumentDigest != 0 {
		doc.ArgumentDigest = hex(l.ArgumentDigest)
	}
	if l.Problem != nil {
		doc.Problem = fault.Of(l.Problem).Msg
		return doc
	}
	doc.Format = FormatOf(l.Header)
	if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(l.File))); err == nil {
		doc.Bytes = info.Size()
	}
	return doc
}
