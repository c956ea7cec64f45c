package api

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/diff/describe"
	"github.com/prlx-go/prlx/core/diff/session"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/recording/origin"
)

type sessionInspectRequest struct {
	requestLimits
	Path string `json:"path"`
}

// sessionInspect lists the launches of a session.
func sessionInspect(j *job.Job, r *sessionInspectRequest) (*describe.Session, error) {
	return describe.OfSession(j, r.Path)
}

type sessionFinishRequest struct {
	requestLimits
	Path     string                `json:"path"`
	Partial  bool                  `json:"partial"`
	Launches []sessionFinishLaunch `json:"launches"`
}

// sessionFinishLaunch is one launch of a manifest.
type sessionFinishLaunch struct {
	Launch         uint64         `json:"launch"`
	Kernel         string         `json:"kernel"`
	File           string         `json:"file"`
	Grid           [3]uint32      `json:"grid"`
	Block          [3]uint32      `json:"block"`
	ArgumentDigest string         `json:"argument_digest"`
	ModuleHash     string         `json:"module_hash"`
	Origin         *origin.Origin `json:"origin"` // null: no compiler of graphs made the kernel

	Fidelity *session.Fidelity `json:"fidelity"` // null: not known
}

type sessionFinishDocument struct {
	Path     string `json:"path"`
	Launches int    `json:"launches"`
}

// sessionFinish writes the manifest of a session whose recordings are in their places.
func sessionFinish(_ *job.Job, r *sessionFinishRequest) (*sessionFinishDocument, error) {
	s := &session.Session{Dir: r.Path, Partial: r.Partial, Producer: "prlx " + Version}
	for i := range r.Launches {
		l := &r.Launches[i]
		if err := l.Fidelity.Check(); err != nil {
			return nil, err
		}
		digest, err := strconv.ParseUint(strings.TrimPrefix(l.ArgumentDigest, "0x"), 16, 64)
		if err != nil {
			return nil, fault.Usagef("argument_digest is %q, expected hexadecimal digits", l.ArgumentDigest)
		}
		s.Launches = append(s.Launches, session.Launch{
			Number: l.Launch, Kernel: l.Kernel, File: filepath.ToSlash(l.File), Grid: l.Grid, Block: l.Block,
			ArgumentDigest: digest, ModuleHash: l.ModuleHash, Origin: l.Origin, Fidelity: l.Fidelity,
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
