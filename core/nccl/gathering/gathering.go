// Package gathering looks at recordings of NCCL's events one by one, and brings those of many folders into one place: a folder or an archive.
//
// It says of each file whose it is, what it holds and whether its checksums are right. It replaces nothing: a file that stands there already
// is left as it is. A recording whose process goes on is copied as it is at that moment. It joins nothing; the rooms beside it do.
package gathering

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/job"
	"github.com/prlx-go/prlx/core/nccl/segment"
	"github.com/prlx-go/prlx/core/verdict"
)

// schema names the document.
const schema = "prlx.nccl-collect/1"

// archiveEnding is how the name of an archive ends; other outputs are folders.
const archiveEnding = ".tar.zst"

// What became of a file.
const (
	checked      = "checked"       // it was looked at; nothing was to be written
	copied       = "copied"        // it was brought
	alreadyThere = "already-there" // the same stood there already
	differs      = "differs"       // another stood there, and was left
	unreadable   = "unreadable"    // it is no recording, or cannot be read
)

// Document is what was found and brought.
type Document struct {
	Schema     string          `json:"schema"`
	Conclusion verdict.Verdict `json:"conclusion"`         // passed: the recordings of all ranks are whole and were brought
	Output     string          `json:"output,omitempty"`   // where the files are
	Format     string          `json:"format,omitempty"`   // directory or tar.zst
	Complete   bool            `json:"complete"`           // every file was brought, or was there already
	Hosts      int             `json:"hosts"`              // that the files are of
	Files      []Row           `json:"files"`              // by name
	Warnings   []string        `json:"warnings,omitempty"` // about files
}

// Row is a file.
type Row struct {
	Path        string         `json:"path"`
	Name        string         `json:"name"`
	Outcome     string         `json:"outcome"`
	Problem     string         `json:"problem,omitempty"`
	Bytes       int64          `json:"bytes"`
	Host        string         `json:"host,omitempty"`
	PID         uint32         `json:"pid,omitempty"`
	Level       uint32         `json:"level"`
	NCCLVersion uint32         `json:"nccl_version,omitempty"` // such as 22807
	GPU         string         `json:"gpu,omitempty"`          // bus id, where it is known
	State       string         `json:"state,omitempty"`        // making, recording (or ended without saying so) or ended
	Comms       int            `json:"communicators"`
	Calls       map[string]int `json:"calls,omitempty"` // init, start, state, stop, finalize
	Segments    int            `json:"segments"`
	Sound       int            `json:"sound_segments"`   // with a right checksum; segments that are not full have none
	Corrupt     int            `json:"corrupt_segments"` // with a wrong one: nothing of these is believed
	Damaged     int            `json:"damaged_segments"` // that do not hold records to their end
	Gone        int            `json:"gone_segments"`    // that were written and are not in the file
	Harm        []string       `json:"harm,omitempty"`   // what of the file is damaged, in sentences
	Lost        uint64         `json:"lost"`             // callbacks that the recorder counted and could not write
	Overwritten uint64         `json:"overwritten"`      // records that made room for newer ones
}

var states = map[segment.State]string{segment.Making: "making", segment.Recording: "recording", segment.Ended: "ended"}

var kinds = map[segment.Kind]string{segment.Init: "init", segment.Start: "start", segment.Update: "state", segment.Stop: "stop", segment.Finalize: "finalize"}

// Gather looks at files and copies them to output, a folder or an archive; with no output it only looks.
func Gather(j *job.Job, paths []string, output string) (*Document, error) {
	d := &Document{Schema: schema, Files: []Row{}}
	sink, err := openSink(output)
	if err != nil {
		return nil, err
	}
	defer sink.abort()
	d.Output, d.Format = output, sink.format()
	j.Progress().SetStage("collect")
	hosts, ranks := map[string]bool{}, census{}
	for _, path := range paths {
		if err := j.Context().Err(); err != nil {
			return nil, err
		}
		row := Row{Path: path, Name: filepath.Base(path)}
		if err := one(j.Context(), sink, &row, ranks); err != nil {
			return nil, err
		}
		if row.Host != "" {
			hosts[row.Host] = true
		}
		d.add(row)
	}
	d.Hosts = len(hosts)
	if d.Format == "directory" { // others may have brought theirs before
		ranks.beside(j.Context(), output)
	}
	d.conclude(ranks)
	return d, sink.finish()
}

func (d *Document) add(row Row) {
	d.Files = append(d.Files, row)
	d.Complete = true
	for i := range d.Files {
		d.Complete = d.Complete && d.Files[i].Outcome != differs && d.Files[i].Outcome != unreadable
	}
	if len(row.Harm) > 0 {
		d.Warnings = append(d.Warnings, row.Name+" is damaged: "+strings.Join(row.Harm, ", "))
	}
	if row.State == "recording" && row.Outcome == copied {
		d.Warnings = append(d.Warnings, row.Name+": its process had not ended, or ended without saying so; the copy is of this moment")
	}
}

// one looks at a file and brings it. Only what stands in the way of all of them is an error.
func one(ctx context.Context, to sink, row *Row, ranks census) error {
	f, err := segment.Open(ctx, row.Path)
	if err != nil {
		return row.refuse(err)
	}
	defer f.Close()
	if err := row.look(ctx, f); err != nil {
		return row.refuse(err)
	}
	ranks.add(f)
	row.Outcome = checked
	if to.format() == "" {
		return nil
	}
	spooled, err := file.Unnamed()
	if err != nil {
		return err
	}
	defer spooled.Close()
	copied, err := f.Copy(ctx, spooled)
	if err != nil {
		return row.refuse(err)
	}
	row.Bytes = copied.Bytes
	row.Outcome, err = to.put(row.Name, spooled, copied.Bytes)
	if row.Outcome == differs {
		row.Problem = "another file of that name stands there and was left"
	}
	return err
}

// refuse notes why a file cannot be read. What ends the work, such as a cancelled job, is an error still.
func (row *Row) refuse(err error) error {
	if errors.Is(err, context.Canceled) || fault.Of(err).Kind == fault.Internal {
		return err
	}
	row.Outcome, row.Problem = unreadable, err.Error()
	return nil
}

func (row *Row) look(ctx context.Context, f *segment.File) error {
	row.Host, row.PID, row.Level, row.NCCLVersion, row.State, row.Comms = f.Host, f.PID, f.Level, f.NCCLVersion, states[f.State], len(f.Comms)
	if g, ok := f.GPU(); ok {
		row.GPU = g.Bus
	}
	if info, err := os.Stat(row.Path); err == nil {
		row.Bytes = info.Size()
	}
	row.Calls = map[string]int{}
	seen, err := f.Walk(ctx, func(_ segment.Source, r *segment.Record) error {
		if kind := kinds[r.Kind]; kind != "" {
			row.Calls[kind]++
		}
		return nil
	})
	row.Segments, row.Sound, row.Corrupt, row.Damaged, row.Gone = seen.Segments+seen.Corrupt, seen.Checked, seen.Corrupt, seen.Damaged, seen.Gone
	row.Harm = append(append([]string{}, f.Harm...), seen.Harm()...)
	for code := range segment.Codes {
		row.Lost += f.LostNowhere[code]
		row.Overwritten += f.Overwritten[code]
		for i := range f.Threads {
			row.Lost += f.Threads[i].Lost[code]
		}
	}
	return err
}

// sink is where files go.
type sink interface {
	format() string
	put(name string, from io.ReaderAt, bytes int64) (outcome string, err error)
	finish() error
	abort()
}

func openSink(output string) (sink, error) {
	switch {
	case output == "":
		return nowhere{}, nil
	case strings.HasSuffix(output, archiveEnding):
		out, err := file.Create(output, false)
		if err != nil {
			return nil, err
		}
		packed, err := zstd.NewWriter(out)
		if err != nil {
			out.Abort()
			return nil, err
		}
		return &archive{out: out, packed: packed, tar: tar.NewWriter(packed), names: map[string]bool{}}, nil
	}
	if err := os.Mkdir(output, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fault.FromIO(output, err)
	}
	if info, err := os.Stat(output); err != nil || !info.IsDir() {
		return nil, fault.New(fault.IO, "is not a folder").WithPath(output).WithHint("name a new folder, or a file that ends in " + archiveEnding)
	}
	return folder(output), nil
}

type nowhere struct{}

func (nowhere) format() string                                 { return "" }
func (nowhere) put(string, io.ReaderAt, int64) (string, error) { return checked, nil }
func (nowhere) finish() error                                  { return nil }
func (nowhere) abort()                                         {}

// folder takes files under their own names, which are of one process each; several hosts may bring theirs into it at once.
type folder string

func (folder) format() string { return "directory" }
func (folder) finish() error  { return nil }
func (folder) abort()         {}

func (d folder) put(name string, from io.ReaderAt, bytes int64) (string, error) {
	path := filepath.Join(string(d), name)
	if outcome, err := compare(path, from, bytes); outcome != "" || err != nil {
		return outcome, err
	}
	out, err := file.Create(path, false)
	if err != nil {
		return "", err
	}
	if _, err := io.Copy(out, io.NewSectionReader(from, 0, bytes)); err != nil {
		out.Abort()
		return "", err
	}
	if err := out.Commit(); err != nil {
		if outcome, _ := compare(path, from, bytes); outcome != "" { // somebody else brought it meanwhile
			return outcome, nil
		}
		return "", err
	}
	return copied, nil
}

// compare says whether a file stands there already, and whether it is the same; "" where there is none.
func compare(path string, from io.ReaderAt, size int64) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fault.FromIO(path, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() != size {
		return differs, nil
	}
	a, b := make([]byte, 1<<20), make([]byte, 1<<20)
	for at := int64(0); at < size; at += int64(len(a)) {
		part := min(int64(len(a)), size-at)
		if _, err := f.ReadAt(a[:part], at); err != nil {
			return differs, nil
		}
		if _, err := from.ReadAt(b[:part], at); err != nil {
			return "", err
		}
		if !bytes.Equal(a[:part], b[:part]) {
			return differs, nil
		}
	}
	return alreadyThere, nil
}

// archive takes files one after another; two of one name are one too many.
type archive struct {
	out    *file.Output
	packed *zstd.Encoder
	tar    *tar.Writer
	names  map[string]bool
}

func (*archive) format() string { return "tar.zst" }

func (a *archive) put(name string, from io.ReaderAt, bytes int64) (string, error) {
	if a.names[name] {
		return differs, nil
	}
	a.names[name] = true
	if err := a.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: bytes, ModTime: time.Unix(0, 0), Format: tar.FormatPAX}); err != nil {
		return "", err
	}
	_, err := io.Copy(a.tar, io.NewSectionReader(from, 0, bytes))
	return copied, err
}

func (a *archive) finish() error {
	for _, close := range []func() error{a.tar.Close, a.packed.Close, a.out.Commit} {
		if err := close(); err != nil {
			return err
		}
	}
	return nil
}

func (a *archive) abort() { a.out.Abort() }
