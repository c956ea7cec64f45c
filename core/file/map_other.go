//go:build !unix

package file

import (
	"errors"
	"os"
)

func mapFile(*os.File, int64, int) ([]byte, error) { return nil, errors.ErrUnsupported }

func unmapFile([]byte) {}

func offsetIn([]byte, uintptr) (int64, bool) { return 0, false }
