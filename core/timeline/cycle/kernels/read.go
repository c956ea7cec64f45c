package kernels

import (
	"errors"
	"io"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
)

// Read reads the kernels and marks of a trace: Chrome / Kineto JSON or XSpace, plain or compressed, or "-" for stdin (JSON only).
func Read(j *job.Job, path string, opt Options) (*Trace, error) {
	ctx := j.Context()
	if path != "-" {
		head, _, err := file.Head(ctx, path, headBytes)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, err
		}
		if err == nil && isXSpace(head) {
			return readXSpace(j, path, opt)
		}
		if hint := otherFormat(head); hint != "" {
			return nil, fault.Formatf(path, 0, "not a trace that cycles are found in").WithHint("%s", hint)
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

// headBytes is how much of a file is looked at to know its format.
const headBytes = 1 << 12

// isXSpace tells XSpace by its first bytes: a plane (field 1) whose length and first field make sense.
func isXSpace(head []byte) bool {
	if len(head) < 2 || head[0] != 0x0a && head[0] != 0x12 && head[0] != 0x1a && head[0] != 0x22 {
		return false
	}
	i := 1
	for i < len(head) && i < 10 && head[i] >= 0x80 { // the length
		i++
	}
	if i++; i >= len(head) {
		return len(head) <= 10
	}
	switch c := head[i]; head[0] {
	case 0x0a: // XPlane: id, name, lines, metadata, stats
		return c == 0x08 || c == 0x12 || c == 0x1a || c == 0x22 || c == 0x2a || c == 0x32
	default:
		return c >= ' ' && c < 0x7f // an error, a warning or a host name
	}
}

// otherFormat says what to do with files that people pass and that are no traces of kernels.
func otherFormat(head []byte) string {
	switch {
	case len(head) > 262 && string(head[257:262]) == "ustar":
		return "this is a tar archive: unpack it and pass the traces in it"
	case len(head) >= 15 && string(head[:15]) == "SQLite format 3":
		return "this is a SQLite database, of Nsight Systems perhaps: export it as Chrome JSON"
	case len(head) >= 4 && string(head[:4]) == "PK\x03\x04":
		return "this is a ZIP archive: unpack it and pass the traces in it"
	}
	return ""
}
