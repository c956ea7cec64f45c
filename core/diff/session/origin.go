package session

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/prlx-go/prlx/core/recording/origin"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

// mostBeside is how long a manifest may be to be read for the origin of one recording.
const mostBeside = 64 << 20

// OriginOf is what the kernel of one recording computes: as the recording says it, else as the manifest in its directory does, for recordings
// that were made before they held it. It is nil where neither does; a manifest that cannot be read is no concern of whoever asks for a recording.
func OriginOf(ctx context.Context, path string, h *warptrace.Header) *origin.Origin {
	if h.Origin != nil {
		return h.Origin
	}
	dir, name := filepath.Split(path)
	manifest := filepath.Join(dir, ManifestName)
	if !mentionsOrigins(manifest) {
		return nil
	}
	s, err := Open(ctx, manifest)
	if err != nil {
		return nil
	}
	for i := range s.Launches {
		if l := &s.Launches[i]; filepath.FromSlash(l.File) == name && l.Kernel == h.Kernel {
			return l.Origin
		}
	}
	return nil
}

// mentionsOrigins keeps most manifests from being read launch by launch: few programs have a compiler of graphs.
func mentionsOrigins(manifest string) bool {
	info, err := os.Stat(manifest)
	if err != nil || !info.Mode().IsRegular() || info.Size() > mostBeside {
		return false
	}
	f, err := os.Open(manifest)
	if err != nil {
		return false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostBeside))
	return err == nil && bytes.Contains(text, []byte(`"origin"`))
}
