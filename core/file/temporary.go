package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// An output is written under a temporary name beside its final one: .NAME.prlx-part, or .NAME.1.prlx-part and so on while other
// processes write the same output. No other program uses that ending (.part is what browsers and downloaders use), so what stands under
// such a name was made by prlx and may be removed. Whoever writes it holds an advisory lock (flock) on it, which the system releases when the process dies,
// however it dies. So a temporary that nobody has locked was left by a run that was killed, and the next run that writes the same
// output takes its place. On a file system without locks leftovers stay, and each run takes a number that is free.

// temporaryEnding ends the temporary names of prlx.
const temporaryEnding = ".prlx-part"

// maxTemporaries is how many temporaries of one output may stand beside each other: more processes never write the same output.
const maxTemporaries = 1000

// temporaryName is the n-th temporary name for path.
func temporaryName(path string, n int) string {
	dir, base := filepath.Split(path)
	if n > 0 {
		base += "." + strconv.Itoa(n)
	}
	return filepath.Join(dir, "."+base+temporaryEnding)
}

// isTemporaryOf reports whether name is a temporary name for base.
func isTemporaryOf(name, base string) bool {
	return strings.HasPrefix(name, "."+base+".") && strings.HasSuffix(name, temporaryEnding)
}

// claimFile creates and locks a temporary file for path, or takes over one that a killed run left.
func claimFile(path string) (*os.File, error) {
	for n := range maxTemporaries {
		f, err := claimOneFile(temporaryName(path, n))
		if f != nil || err != nil {
			return f, err
		}
	}
	return nil, &fs.PathError{Op: "create", Path: temporaryName(path, 0), Err: fs.ErrExist}
}

// claimOneFile returns neither a file nor an error when the name is another's.
func claimOneFile(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case err == nil:
		// A run that takes over leftovers may have locked and removed the file before we came to lock it.
		if lock(f) == errNotOurs || !stands(f, name) {
			f.Close()
			return nil, nil
		}
		return f, nil
	case !errors.Is(err, fs.ErrExist):
		return nil, err
	}
	if f, err = os.OpenFile(name, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0); err != nil {
		return nil, nil
	}
	if lock(f) != nil || !stands(f, name) || !ours(f) {
		f.Close()
		return nil, nil
	}
	if links(f) > 1 { // killed between giving the file its final name and removing this one: the file is complete, and not ours
		defer f.Close()
		if os.Remove(name) != nil {
			return nil, nil
		}
		return claimOneFile(name)
	}
	if f.Truncate(0) != nil {
		f.Close()
		return nil, nil
	}
	return f, nil
}

// claimDir creates and locks a temporary directory for path. What killed runs left under the same name is removed first.
func claimDir(path string) (name string, held *os.File, err error) {
	for n := range maxTemporaries {
		name = temporaryName(path, n)
		err = os.Mkdir(name, 0o700)
		if errors.Is(err, fs.ErrExist) {
			if !removeLeftDir(name) {
				continue
			}
			err = os.Mkdir(name, 0o700)
		}
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", nil, err
		}
		if held, err = os.Open(name); err != nil {
			return "", nil, err
		}
		if lock(held) != errNotOurs && stands(held, name) {
			return name, held, nil
		}
		held.Close()
	}
	return "", nil, &fs.PathError{Op: "mkdir", Path: temporaryName(path, 0), Err: fs.ErrExist}
}

// removeLeftDir removes a temporary directory, if nobody writes it, and reports whether it did.
func removeLeftDir(name string) bool {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_DIRECTORY, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return lock(f) == nil && stands(f, name) && ours(f) && os.RemoveAll(name) == nil
}

// errNotOurs says that another process, or another output of this one, holds the lock.
var errNotOurs = errors.New("locked by another writer")

// lock takes the lock without waiting for it. Other errors mean that the file system has no locks.
func lock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return errNotOurs
		}
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// stands reports whether name still names the open file.
func stands(f *os.File, name string) bool {
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(name)
	return err == nil && os.SameFile(opened, named)
}

// ours reports whether the file belongs to the user of this process and is what a run would have left: in a directory that others
// can write, a name may have been put there by somebody else.
func ours(f *os.File) bool {
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() && !st.IsDir() {
		return false
	}
	owner, ok := st.Sys().(*syscall.Stat_t)
	return ok && owner.Uid == uint32(os.Geteuid())
}

// links is how many names the file has.
func links(f *os.File) uint64 {
	st, err := f.Stat()
	if err != nil {
		return 0
	}
	if known, ok := st.Sys().(*syscall.Stat_t); ok {
		return uint64(known.Nlink)
	}
	return 1
}

// handedOver are the locked directories of this process that other processes fill, by temporary name: their lock must outlive the
// OutputDir that took it, until ResumeDir continues.
var handedOver sync.Map
