package kernels

import (
	"errors"
	"io"
	"os"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/format"
	"github.com/prlx-go/prlx/core/job"
)

// readOnce reports whether what is at path can be read only once, so that nothing looks at its head first: stdin, or a pipe.
func readOnce(path string) bool {
	st, err := os.Stat(path)
	return path == "-" || err == nil && st.Mode()&os.ModeNamedPipe != 0
}

// Read reads the kernels and marks of a trace: Chrome / Kineto JSON or XSpace, plain or compressed; JSON only from "-", which is stdin,
// and from a pipe.
func Read(j *job.Job, path string, opt Options) (*Trace, error) {
	ctx := j.Context()
	if !readOnce(path) {
		head, _, err := file.Head(ctx, path, format.HeadBytes)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, err
		}
		switch kind := format.Of(head); {
		case err != nil:
		case kind == format.XSpace:
			return readXSpace(j, path, opt)
		case kind.Known() && kind != format.Chrome && kind != format.Empty, kind == format.Binary:
			return nil, kind.Refuse(path, "an XSpace (.xplane.pb) or Chrome / Kineto JSON trace")
		}
	}
	in, err := file.OpenStream(ctx, path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	j.Progress().SetStage("read")
	j.Progress().SetTotal(max(0, in.DiskSize()))
	done := int64(0)
	g, err := readChrome(ctx, in, path, opt, func() {
		j.Progress().Add(in.Consumed() - done)
		done = in.Consumed()
	})
	if err != nil {
		return nil, err
	}
	return g.finish(ctx, "chrome")
}
