package snapshot

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
)

// Finished is what became of a file of pairs.
type Finished struct {
	Path         string   // the file, compressed where it was large
	Clock        string   // the tracer's, as the file names it
	Pairs        int      // that the file holds
	BracketP99NS int64    // of them
	Counters     Counters // as the sampler wrote them
	Complete     bool     // it wrote them: it was not killed
	Synchronized bool     // something kept the system clock near UTC all the time, as the system says
	MaxErrorNS   int64    // how far, at most, the system clock was from UTC, as the system says; says nothing unless Synchronized
	Warnings     []string
	readings     *clockfile.Snapshots
}

// Finish reads a file of pairs that a sampler has written, writes it as a message SnapshotPairs where a path for that is given, and compresses it.
func Finish(ctx context.Context, path, message string, overwrite bool) (*Finished, error) {
	f, err := readRecording(ctx, path)
	if err != nil {
		return nil, err
	}
	if message != "" {
		if err := writeFile(message, overwrite, asMessage(f.readings)); err != nil {
			return nil, err
		}
	}
	if !strings.HasSuffix(path, ".zst") {
		if f.Path, err = compressed(path); err != nil {
			return nil, fault.FromIO(path, err)
		}
	}
	return f, nil
}

// readRecording reads a file of pairs.
func readRecording(ctx context.Context, path string) (*Finished, error) {
	src, err := file.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	c, err := clockfile.Read(ctx, src)
	if err != nil {
		return nil, err
	}
	if c.Kind != clockfile.KindSnapshots {
		return nil, fault.New(fault.Format, "holds %s, expected snapshots", c.Kind).WithPath(path)
	}
	s := c.Snapshots
	widths := make([]int64, 0, len(s.Pairs))
	for _, p := range s.Pairs {
		widths = append(widths, p.BracketNS)
	}
	f := &Finished{Path: path, Clock: s.TracerClock, Pairs: len(s.Pairs), Complete: s.Counters.Stated, Warnings: c.Warnings, readings: s}
	if len(s.System) > 0 && len(s.Pairs) > 0 {
		f.MaxErrorNS, f.Synchronized = clockfile.Kept(s.System, s.Pairs[0].SysNS, s.Pairs[len(s.Pairs)-1].SysNS)[clockfile.UTC]
	}
	t := s.Counters
	f.Counters = Counters{Taken: t.Taken, Missed: t.Missed, Dropped: t.Dropped, Wide: t.Wide, Failed: t.Failed, Unstored: t.Unstored}
	if slices.Sort(widths); len(widths) > 0 {
		f.BracketP99NS = widths[(len(widths)*99+99)/100-1]
	}
	return f, nil
}

func writeFile(path string, overwrite bool, b []byte) error {
	o, err := file.Create(path, overwrite)
	if err != nil {
		return err
	}
	defer o.Abort()
	if _, err := o.Write(b); err != nil {
		return err
	}
	return o.Commit()
}

// memberName is the member of a Chrome JSON under which readings of clocks stand in it.
const memberName = "prlx_snapshots"

// distributedName is the member in which Kineto says of which process group a process is.
const distributedName = "distributedInfo"

// Attach writes a Chrome JSON again with the readings of a file of pairs in it, compressed where the name of the output ends with .gz. Everything
// else is copied as it is. distributed is what is known of the process group, a JSON object: it is added where the trace does not say it; "" nothing.
func Attach(ctx context.Context, trace, pairs, output, distributed string, overwrite bool) (*Finished, error) {
	f, err := readRecording(ctx, pairs)
	if err != nil {
		return nil, err
	}
	src, err := file.Open(ctx, trace)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	end, empty, err := endOfObject(src)
	if err != nil {
		return nil, err
	}
	o, err := file.Create(output, overwrite)
	if err != nil {
		return nil, err
	}
	defer o.Abort()
	to, finish := io.Writer(o), func() error { return nil }
	if strings.HasSuffix(output, ".gz") {
		z := gzip.NewWriter(o)
		to, finish = z, z.Close
	}
	if _, err := io.Copy(to, io.NewSectionReader(src, 0, end)); err != nil {
		return nil, fault.FromIO(output, err)
	}
	added := member(f.readings)
	if distributed != "" && !mentions(src, distributedName) {
		added = append(append(added, ",\n\""+distributedName+"\": "...), distributed...)
	}
	if !empty {
		added = append([]byte(",\n"), added...)
	}
	if _, err := to.Write(append(added, "\n}\n"...)); err != nil {
		return nil, fault.FromIO(output, err)
	}
	if err := finish(); err != nil {
		return nil, fault.FromIO(output, err)
	}
	return f, o.Commit()
}

// mentions reports whether a member is named at the begin or the end of a file, where profilers put what is true of the whole.
func mentions(src *file.Source, name string) bool {
	const look = 64 << 10
	for _, from := range []int64{0, max(0, src.Size()-look)} {
		b := make([]byte, min(look, src.Size()-from))
		if _, err := src.ReadAt(b, from); (err == nil || err == io.EOF) && bytes.Contains(b, []byte(`"`+name+`"`)) {
			return true
		}
	}
	return false
}

// endOfObject finds the brace that ends a file that is a JSON object, and whether that has no members.
func endOfObject(src *file.Source) (end int64, empty bool, err error) {
	const space = " \t\r\n"
	head, err := src.Head(64)
	if err != nil {
		return 0, false, err
	}
	if len(bytes.TrimLeft(head, space)) == 0 || bytes.TrimLeft(head, space)[0] != '{' {
		return 0, false, fault.Formatf(src.Path(), 0, "is no JSON object: there is no place for readings of clocks")
	}
	tail := make([]byte, min(src.Size(), 4096))
	from := src.Size() - int64(len(tail))
	if _, err := src.ReadAt(tail, from); err != nil && err != io.EOF {
		return 0, false, fault.FromIO(src.Path(), err)
	}
	rest := bytes.TrimRight(tail, space)
	if len(rest) == 0 || rest[len(rest)-1] != '}' {
		return 0, false, fault.Formatf(src.Path(), src.Size(), "the JSON object has no end: the file was cut")
	}
	rest = bytes.TrimRight(rest[:len(rest)-1], space)
	if len(rest) == 0 {
		return 0, false, fault.Formatf(src.Path(), src.Size(), "the JSON object has no end that can be found")
	}
	return from + int64(len(rest)), rest[len(rest)-1] == '{' && from == 0 && len(bytes.TrimLeft(rest, space)) == 1, nil
}
