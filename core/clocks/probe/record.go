package probe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/prlx-go/prlx/core/fault"
)

// Header is the first line of a file of stamps: whose they are.
type Header struct {
	Meta   bool   `json:"meta"`   // true
	Schema string `json:"schema"` // prlx.probes/1
	Node   int    `json:"node_id"`
	Name   string `json:"name"`             // host:port in the list of peers
	Host   string `json:"host_clock"`       // identity of the clock: the boot id of the kernel
	ID     string `json:"session"`          // of the job
	Peers  int    `json:"peers"`            // in the list
	Rate   any    `json:"rate,omitempty"`   // probes a second
	Kernel bool   `json:"kernel,omitempty"` // the kernel stamps packets here
	By     string `json:"producer,omitempty"`

	Hostname string  `json:"hostname,omitempty"` // of this machine, by which traces know it
	Ranks    [][]int `json:"ranks,omitempty"`    // by peer: the processes of the job that are on its host, where the list of peers is not theirs
}

// Limits of files.
const (
	rowsAFile  = 3 << 20 // a reader takes 4,194,304
	keptParts  = 4       // into how many files what is kept is divided
	mostUnsaid = 1 << 20 // bytes that wait for a full disk
)

// recorder appends exchanges to files in a directory, as raw probe stamps. What was flushed survives the end of the process; a line that was
// cut is completed or removed by the next recorder of that node. With a time to keep, older files are removed.
type recorder struct {
	dir    string
	header Header
	keep   time.Duration

	part    int // number of the file in use
	f       *os.File
	size    int64 // of whole lines
	rows    int
	began   int64 // mono, when the file was begun
	pending bytes.Buffer
	waiting int // rows in pending

	Written int64 // rows
	Lost    int64 // rows that the disk did not take
	err     error
}

// newRecorder opens the last file of the node in dir, or begins the first.
func newRecorder(dir string, header Header, keep time.Duration, mono int64) (*recorder, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fault.FromIO(dir, err)
	}
	header.Schema, header.Meta = "prlx.probes/1", true
	r := &recorder{dir: dir, header: header, keep: keep, part: 1}
	found, _ := filepath.Glob(r.path(0)) // of a ring the first files may be gone
	for _, path := range found {
		r.part = max(r.part, r.number(path))
	}
	return r, r.open(mono)
}

// path is the name of a file of the node; number 0 is the pattern of all but the first.
func (r *recorder) path(part int) string {
	name := fmt.Sprintf("probes_node%d.jsonl", r.header.Node)
	switch {
	case part == 0:
		name = fmt.Sprintf("probes_node%d.*.jsonl", r.header.Node)
	case part > 1:
		name = fmt.Sprintf("probes_node%d.%d.jsonl", r.header.Node, part)
	}
	return filepath.Join(r.dir, name)
}

// number is that of a file that has a name of path; 0 where another text stands in the place of a number.
func (r *recorder) number(path string) int {
	text := strings.TrimPrefix(filepath.Base(path), fmt.Sprintf("probes_node%d.", r.header.Node))
	part, _ := strconv.Atoi(strings.TrimSuffix(text, ".jsonl"))
	return part
}

// Path returns the file that is written now.
func (r *recorder) Path() string { return r.path(r.part) }

// open opens the file in use for appending. A line without an end was cut when a recorder died, and is removed.
func (r *recorder) open(mono int64) error {
	path := r.Path()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return fault.FromIO(path, err)
	}
	size, rows, err := wholeLines(f)
	if err == nil {
		err = f.Truncate(size)
	}
	if err != nil {
		f.Close()
		return fault.FromIO(path, err)
	}
	r.f, r.size, r.rows, r.began = f, size, rows, mono
	line, err := json.Marshal(r.header)
	if err != nil {
		return fault.New(fault.Internal, "%v", err)
	}
	r.pending.Write(line)
	r.pending.WriteByte('\n')
	return r.flush(mono)
}

// wholeLines returns where the last whole line of a file ends, and how many there are.
func wholeLines(f *os.File) (size int64, lines int, err error) {
	buf := make([]byte, 1<<16)
	at := int64(0)
	for {
		n, err := f.ReadAt(buf, at)
		lines += bytes.Count(buf[:n], []byte{'\n'})
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			size = at + int64(i) + 1
		}
		at += int64(n)
		if errors.Is(err, io.EOF) {
			return size, lines, nil
		}
		if err != nil {
			return 0, 0, err
		}
	}
}

// exchange takes one exchange. It is in the file after the next Flush.
func (r *recorder) Exchange(e *exchange) {
	if r.pending.Len() > mostUnsaid {
		r.Lost++
		return
	}
	b := r.pending.AvailableBuffer()
	b = append(b, `{"src":`...)
	b = strconv.AppendInt(b, int64(e.Src), 10)
	b = append(b, `,"dst":`...)
	b = strconv.AppendInt(b, int64(e.Dst), 10)
	b = append(b, `,"seq":`...)
	b = strconv.AppendInt(b, int64(e.Seq), 10)
	kinds := [4]byte{}
	for i, s := range [4]stamp{e.T1, e.T2, e.T3, e.T4} {
		b = append(b, `,"t`...)
		b = append(b, byte('1'+i), '"', ':')
		b = strconv.AppendInt(b, s.NS, 10)
		kinds[i] = 'u'
		if s.Kernel {
			kinds[i] = 'k'
		}
	}
	b = append(b, `,"stamps":"`...)
	b = append(b, kinds[:]...)
	b = append(b, '"', '}', '\n')
	r.pending.Write(b)
	r.waiting++
}

// flush writes what waits. A disk that is full is no reason to end: what fits nowhere is counted as lost, and the file never ends in the
// middle of a line for longer than a write takes.
func (r *recorder) flush(mono int64) error {
	if r.pending.Len() > 0 {
		n, err := r.f.WriteAt(r.pending.Bytes(), r.size)
		if err != nil {
			r.err = fault.FromIO(r.Path(), err)
			_ = r.f.Truncate(r.size) // a part may be there, whatever the count says; the next flush writes it again
			return r.err
		}
		r.size += int64(n)
		r.rows += r.waiting
		r.Written += int64(r.waiting)
		r.pending.Reset()
		r.waiting, r.err = 0, nil
	}
	if r.rows >= rowsAFile || r.keep > 0 && mono-r.began >= int64(r.keep)/keptParts {
		return r.roll(mono)
	}
	return nil
}

// roll begins the next file, and removes the one that is older than what is kept.
func (r *recorder) roll(mono int64) error {
	old := r.f
	r.part++
	if err := r.open(mono); err != nil {
		if r.f == old {
			r.part--
		}
		return err
	}
	if r.keep > 0 && r.part > keptParts+2 {
		_ = os.Remove(r.path(r.part - keptParts - 2))
	}
	if err := old.Close(); err != nil {
		return fault.FromIO(r.path(r.part-1), err)
	}
	return nil
}

// close writes what waits and closes the file. What the disk does not take is lost and counted.
func (r *recorder) close(mono int64) error {
	err := r.flush(mono)
	r.Lost += int64(r.waiting)
	r.waiting = 0
	if r.f != nil {
		if e := r.f.Close(); err == nil && e != nil {
			err = fault.FromIO(r.Path(), e)
		}
	}
	return err
}
