//go:build unix

package probe

import (
	"errors"
	"os"
	"syscall"

	"github.com/prlx-go/prlx/core/fault"
)

// tryLock opens a file and locks it for as long as it is open; nil when another process has.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fault.FromIO(path, err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, fault.FromIO(path, err)
}
