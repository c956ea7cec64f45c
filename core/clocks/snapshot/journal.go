package snapshot

import (
	"errors"
	"io"
	"os"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// CompressAbove is the size from which a finished file of pairs is compressed.
const CompressAbove = 64 << 10

// Journal is a file of pairs that is written while it is recorded: each line is one write, so that whoever is killed leaves all that was
// read up to then.
type Journal struct {
	mu   sync.Mutex
	path string
	f    *os.File
	line []byte
}

// NewJournal makes a file of pairs; one that is there already is an error.
func NewJournal(path string, h Header) (*Journal, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	j := &Journal{path: path, f: f}
	if err := j.write(AppendHeader(nil, h)); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(path))
	}
	return j, nil
}

func (j *Journal) write(line []byte) error {
	j.line = line
	n, err := j.f.Write(line)
	if err != nil && n > 0 { // half a line on a full disk: readers would take what follows for its rest
		if st, e := j.f.Stat(); e == nil {
			err = errors.Join(err, j.f.Truncate(st.Size()-int64(n)))
		}
	}
	return err
}

// Pair writes a pair.
func (j *Journal) Pair(p Pair) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.write(AppendPair(j.line[:0], p))
}

// Discipline writes what the system says of its own clock.
func (j *Journal) Discipline(d Discipline) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.write(AppendDiscipline(j.line[:0], d))
}

// Finish writes the counters, closes the file, and compresses one of more than 64 KiB. It returns the name that the file then has.
func (j *Journal) Finish(c Counters) (string, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	err := j.write(AppendCounters(j.line[:0], c))
	if err = errors.Join(err, j.f.Close()); err != nil {
		return j.path, err
	}
	return Compress(j.path)
}

// Compress compresses a finished file of pairs of more than 64 KiB: the compressed one takes its place under a name with .zst. It returns
// the name that the file then has.
func Compress(path string) (string, error) {
	st, err := os.Stat(path)
	if err != nil || st.Size() <= CompressAbove {
		return path, err
	}
	to := path + ".zst"
	if err := compress(path, to+".part"); err != nil {
		return path, errors.Join(err, os.Remove(to+".part"))
	}
	if err := os.Rename(to+".part", to); err != nil {
		return path, err
	}
	return to, os.Remove(path)
}

func compress(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	z, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return errors.Join(err, out.Close())
	}
	_, err = io.Copy(z, in)
	return errors.Join(err, z.Close(), out.Close())
}
