package api

import (
	"github.com/BurntSushi/toml"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
)

// maxTOML is the largest settings file that is read.
const maxTOML = 1 << 20

type tomlRequest struct {
	Path string `json:"path"`
}

// TOMLDocument is a TOML file as JSON: Python 3.10 has no reader of its own.
type TOMLDocument struct {
	Schema   string         `json:"schema"`
	Document map[string]any `json:"document"`
}

func parseTOML(j *job.Job, r *tomlRequest) (*TOMLDocument, error) {
	src, err := file.Open(j.Context(), r.Path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	if src.Size() > maxTOML {
		return nil, fault.New(fault.Limit, "has %d bytes; settings of at most %d are read", src.Size(), maxTOML).WithPath(r.Path)
	}
	b := make([]byte, src.Size())
	if _, err := src.ReadAt(b, 0); err != nil && len(b) > 0 {
		if fault.Of(err).Kind != fault.Internal {
			return nil, err
		}
	}
	doc := &TOMLDocument{Schema: "prlx.toml/1"}
	if err := toml.Unmarshal(b, &doc.Document); err != nil {
		return nil, fault.Formatf(r.Path, fault.Unknown, "%v", err).WithHint("expected TOML")
	}
	return doc, nil
}
