package source

import (
	"context"
	"fmt"

	"github.com/prlx-go/prlx/core/file"
)

// Salvaged is what became of a trace whose file was cut: what is complete in front of the cut was kept.
type Salvaged struct {
	KeptBytes    int64  `json:"kept_bytes"`     // of the file, decompressed
	LeftOutBytes int64  `json:"left_out_bytes"` // behind them, of what the cut left incomplete
	MissingBytes int64  `json:"missing_bytes"`  // that the file itself says it should have, at least; 0: it does not say
	Inside       string `json:"inside"`         // what the cut is in: "the plane that begins at byte 17"
	NamesLost    bool   `json:"names_lost"`     // names of events that were kept stood behind the cut
}

// Sentence says it.
func (s *Salvaged) Sentence() string {
	out := fmt.Sprintf("the file was cut inside %s: %d bytes were kept, %d bytes of what is incomplete were left out", s.Inside, s.KeptBytes, s.LeftOutBytes)
	if s.MissingBytes > 0 {
		out += fmt.Sprintf(", and at least %d bytes are missing", s.MissingBytes)
	} else {
		out += ", and how much is missing is not known"
	}
	if s.NamesLost {
		out += "; names of events that were kept are among them"
	}
	return out
}

// Salvager looks for the cut in a file of its format: nil, nil where it is whole, or damaged otherwise.
type Salvager func(ctx context.Context, src *file.Source) (*Salvaged, *file.Repair, error)

// Salvage is the source as its format salvages it, and what was lost; the source itself where it is whole. cut: it was compressed, and
// its stream was cut short.
func Salvage(ctx context.Context, src *file.Source, cut bool, f Salvager) (*file.Source, *Salvaged, error) {
	var said *Salvaged
	var repair *file.Repair
	if f != nil {
		var err error
		if said, repair, err = f(ctx, src); err != nil {
			return src, nil, err
		}
	}
	switch {
	case said != nil:
		return src.Repaired(*repair), said, nil
	case cut:
		return src, &Salvaged{KeptBytes: src.Size(), Inside: "the compressed stream"}, nil
	}
	return src, nil, nil
}

// OpenSalvaged opens a file of a format that is known and salvages it.
func OpenSalvaged(ctx context.Context, path string, f Salvager) (*file.Source, *Salvaged, error) {
	src, cut, err := file.OpenCut(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	out, said, err := Salvage(ctx, src, cut, f)
	if err != nil {
		src.Close()
		return nil, nil, err
	}
	return out, said, nil
}
