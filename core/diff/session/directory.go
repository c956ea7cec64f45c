package session

import (
	"cmp"
	"context"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/job"
)

// list makes a session of a directory without a manifest: of the recordings directly in it, by the number at the end of their names.
func (s *Session) list(ctx context.Context, root *os.Root) error {
	dir, err := root.Open(".")
	if err != nil {
		return fault.FromIO(s.Dir, err)
	}
	defer dir.Close()
	for {
		entries, err := dir.ReadDir(1024)
		for _, e := range entries {
			if name := e.Name(); strings.HasSuffix(name, ".prlx") && !e.IsDir() {
				number, _ := numberIn(name)
				s.Launches = append(s.Launches, Launch{File: name, Number: number})
			}
		}
		if len(s.Launches) > maxLaunches {
			return fault.New(fault.Limit, "more than %d recordings in one directory", maxLaunches).WithPath(s.Dir)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return fault.FromIO(s.Dir, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if len(s.Launches) == 0 {
		return fault.Formatf(s.Dir, fault.Unknown, "no session: the directory has neither %s nor a .prlx file", ManifestName).
			WithHint("record one with prlx simulate --record DIR, or name the directory that a run wrote")
	}
	slices.SortFunc(s.Launches, func(a, b Launch) int { return cmp.Or(cmp.Compare(a.Number, b.Number), strings.Compare(a.File, b.File)) })
	// There is nothing but the headers to name the launches by.
	if err := s.Describe(job.New(ctx, job.Options{})); err != nil {
		return err
	}
	s.numberLaunches()
	return nil
}

// numberLaunches decides the order: by the launch index of the headers where all of them have one, else by the names, in which
// launches without a number are counted.
func (s *Session) numberLaunches() {
	known := true
	for i := range s.Launches {
		l := &s.Launches[i]
		if l.Kernel == "" {
			l.Kernel = kernelIn(l.File)
		}
		known = known && l.Header != nil && l.Header.Version > 1
	}
	if known {
		for i := range s.Launches {
			s.Launches[i].Number = s.Launches[i].Header.Launch
		}
		slices.SortStableFunc(s.Launches, func(a, b Launch) int { return cmp.Compare(a.Number, b.Number) })
		return
	}
	for i := range s.Launches {
		if _, ok := numberIn(s.Launches[i].File); !ok {
			for k := range s.Launches {
				s.Launches[k].Number = uint64(k)
			}
			return
		}
	}
}

// numberIn is the number at the end of a recording's name: 7 of "kernel_7.prlx".
func numberIn(name string) (uint64, bool) {
	stem := strings.TrimSuffix(path.Base(name), ".prlx")
	digits := stem[len(strings.TrimRight(stem, "0123456789")):]
	if digits == "" || len(digits) > 15 {
		return 0, false
	}
	var n uint64
	for _, d := range []byte(digits) {
		n = n*10 + uint64(d-'0')
	}
	return n, true
}

// kernelIn is the name without its number, for a recording whose header cannot be read.
func kernelIn(name string) string {
	stem := strings.TrimSuffix(path.Base(name), ".prlx")
	return strings.TrimRight(strings.TrimRight(stem, "0123456789"), "_-.")
}
