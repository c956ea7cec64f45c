package api

import (
	"runtime"
	"runtime/debug"

	"github.com/prlx-go/prlx/core/job"
)

// Version is the version of the wheel that this core was built for; the linker sets it.
var Version = "0+unknown"

// VersionDocument is the answer of the operation version.
type VersionDocument struct {
	Schema       string            `json:"schema"`
	Core         string            `json:"core"`         // version of the core
	Go           string            `json:"go"`           // version of the Go toolchain
	Platform     string            `json:"platform"`     // os/architecture
	Module       string            `json:"module"`       // path of the Go module
	Dependencies map[string]string `json:"dependencies"` // Go module -> version, as linked
}

func version(*job.Job, *struct{}) (*VersionDocument, error) {
	doc := &VersionDocument{
		Schema:       "prlx.version/1",
		Core:         Version,
		Go:           runtime.Version(),
		Platform:     runtime.GOOS + "/" + runtime.GOARCH,
		Module:       "github.com/prlx-go/prlx",
		Dependencies: make(map[string]string),
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			doc.Dependencies[m.Path] = m.Version
		}
	}
	return doc, nil
}
