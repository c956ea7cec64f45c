package file

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/prlx-go/prlx/core/fault"
)

// Output is a file being written under a temporary name beside its final one. Commit renames it, Abort removes it; until
// Commit nobody sees a half-written file under the final name.
type Output struct {
	path      string
	overwrite bool
	f         *os.File
	appended  int64
	mu        sync.Mutex
	done      bool
}

// Create starts an output. Without overwrite an existing file is an error now, before any work is done, and again at Commit.
// Missing parent directories are an error that names them.
func Create(path string, overwrite bool) (*Output, error) {
	if !overwrite {
		if _, err := os.Lstat(path); err == nil {
			return nil, fault.FromIO(path, os.ErrExist)
		}
	}
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return nil, fault.New(fault.IO, "is a directory, expected a file name for the output").WithPath(path).WithHint("name a file in it")
	} else if err == nil && !st.Mode().IsRegular() { // renaming would replace the device itself
		return nil, fault.New(fault.IO, "is a device or a pipe, expected a file name for the output").WithPath(path).WithHint("write to a file: outputs are not streams")
	}
	f, err := claimFile(path)
	if err != nil {
		return nil, parentError(path, err)
	}
	return &Output{path: path, overwrite: overwrite, f: f}, nil
}

// parentError says why nothing can be created beside path.
func parentError(path string, err error) *fault.Error {
	dir := filepath.Dir(path)
	e := fault.FromIO(dir, err)
	if errors.Is(err, fs.ErrNotExist) {
		e.Msg, e.Hint = "no such directory to write to", "make it first: mkdir -p "+dir
	}
	return e
}

// Path returns the final name.
func (o *Output) Path() string { return o.path }

// Write appends at the file position.
func (o *Output) Write(p []byte) (int, error) {
	n, err := o.f.Write(p)
	o.appended += int64(n)
	return n, o.wrap(err)
}

// Appended returns how many bytes Write has taken.
func (o *Output) Appended() int64 { return o.appended }

// WriteAt writes at an offset; several goroutines may write disjoint ranges.
func (o *Output) WriteAt(p []byte, off int64) (int, error) {
	n, err := o.f.WriteAt(p, off)
	return n, o.wrap(err)
}

// Truncate cuts the file, for writers that have written behind its end.
func (o *Output) Truncate(size int64) error { return o.wrap(o.f.Truncate(size)) }

// ReadAt reads back what was written (for checksums).
func (o *Output) ReadAt(p []byte, off int64) (int, error) {
	n, err := o.f.ReadAt(p, off)
	if err == io.EOF {
		return n, err
	}
	return n, o.wrap(err)
}

func (o *Output) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fault.FromIO(o.path, err)
}

// Commit closes the file and gives it its final name. On any error the temporary file is removed.
func (o *Output) Commit() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done {
		return nil
	}
	o.done = true
	tmp := o.f.Name()
	// Closing the file tells whether everything was written, and would release the lock before the file has its name.
	still, err := syscall.Dup(int(o.f.Fd()))
	if err == nil {
		defer syscall.Close(still)
		err = o.f.Chmod(0o644)
	}
	if cerr := o.f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = o.place(tmp)
	}
	if err != nil {
		os.Remove(tmp)
	}
	return o.wrap(err)
}

// place renames, or links when nothing may be overwritten: link fails if somebody created the name meanwhile.
func (o *Output) place(tmp string) error {
	if o.overwrite {
		return os.Rename(tmp, o.path)
	}
	if err := os.Link(tmp, o.path); err != nil {
		if os.IsExist(err) {
			return err
		}
		if _, serr := os.Lstat(o.path); serr == nil {
			return os.ErrExist
		}
		return os.Rename(tmp, o.path) // file systems without hard links
	}
	return os.Remove(tmp)
}

// Abort removes the temporary file. It does nothing after Commit and may be called twice: defer it.
func (o *Output) Abort() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done {
		return
	}
	o.done = true
	os.Remove(o.f.Name())
	o.f.Close()
}

// OutputDir is a directory being filled under a temporary name beside its final one.
type OutputDir struct {
	path, tmp string
	held      *os.File // the temporary directory, open and locked; nil where another process has it
	overwrite bool
	done      bool
}

// CreateDir starts an output directory. Without overwrite an existing one is an error.
func CreateDir(path string, overwrite bool) (*OutputDir, error) {
	if st, err := os.Lstat(path); err == nil {
		if !overwrite {
			return nil, fault.FromIO(path, os.ErrExist)
		}
		if !st.IsDir() {
			return nil, fault.New(fault.IO, "is not a directory, and the output is one").WithPath(path).WithHint("name a directory, or one file: -o FILE.xplane.pb")
		}
	}
	tmp, held, err := claimDir(path)
	if err != nil {
		return nil, parentError(path, err)
	}
	return &OutputDir{path: path, tmp: tmp, held: held, overwrite: overwrite}, nil
}

// Create starts a file inside; it must be committed before the directory is.
func (d *OutputDir) Create(name string) (*Output, error) {
	return Create(filepath.Join(d.tmp, name), false)
}

// Commit gives the directory its final name. An existing one is moved aside first and removed after, so that a failure
// leaves the old one in place.
func (d *OutputDir) Commit() error {
	d.done = true
	defer d.release()
	err := os.Chmod(d.tmp, 0o755)
	if err == nil && d.overwrite {
		err = d.replace()
	} else if err == nil {
		err = os.Rename(d.tmp, d.path) // fails on a non-empty existing directory
	}
	if err != nil {
		os.RemoveAll(d.tmp)
		return fault.FromIO(d.path, err)
	}
	return nil
}

func (d *OutputDir) replace() error {
	old := d.tmp + ".old"
	if _, err := os.Lstat(d.path); err != nil {
		err := os.Rename(d.tmp, d.path)
		if err == nil { // a run that was killed between its two renames left the old one there
			err = os.RemoveAll(old)
		}
		return err
	}
	if err := os.RemoveAll(old); err != nil {
		return err
	}
	if err := os.Rename(d.path, old); err != nil {
		return err
	}
	if err := os.Rename(d.tmp, d.path); err != nil {
		return errorsJoinRestore(err, os.Rename(old, d.path))
	}
	return os.RemoveAll(old)
}

func errorsJoinRestore(err, restore error) error {
	if restore != nil {
		return restore
	}
	return err
}

// Abort removes what was written. It does nothing after Commit and may be called twice: defer it.
func (d *OutputDir) Abort() {
	if d.done {
		return
	}
	d.done = true
	os.RemoveAll(d.tmp)
	d.release()
}

// release gives up the lock.
func (d *OutputDir) release() {
	if d.held != nil {
		d.held.Close()
	}
}

// Temporary returns the name under which the directory is being filled, for writers in other processes. This process holds the
// directory until ResumeDir continues it here, or until it ends.
func (d *OutputDir) Temporary() string {
	if d.held != nil {
		handedOver.Store(d.tmp, d.held)
	}
	return d.tmp
}

// ResumeDir continues an output directory that another OutputDir of the same path began, possibly in another process.
func ResumeDir(temporary, path string, overwrite bool) (*OutputDir, error) {
	dir, base := filepath.Split(filepath.Clean(temporary))
	if !isTemporaryOf(base, filepath.Base(path)) || filepath.Clean(dir) != filepath.Clean(filepath.Dir(path)) {
		return nil, fault.New(fault.Internal, "%s is not a temporary directory of %s", temporary, path)
	}
	if st, err := os.Lstat(temporary); err != nil {
		return nil, fault.FromIO(temporary, err)
	} else if !st.IsDir() {
		return nil, fault.New(fault.Internal, "%s is not a directory", temporary)
	}
	d := &OutputDir{path: path, tmp: filepath.Clean(temporary), overwrite: overwrite}
	if held, ok := handedOver.LoadAndDelete(d.tmp); ok {
		d.held = held.(*os.File)
	}
	return d, nil
}
