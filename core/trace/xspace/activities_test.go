package xspace

import (
	"context"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/trace/source"
)

// TestActivitiesAreWhatDevicesAndHostsDid: on recordings of GPUs each piece of work and each call that Launches visits is one of them, with the same
// number; copies are told by their names.
func TestActivitiesAreWhatDevicesAndHostsDid(t *testing.T) {
	linked, copies := 0, 0
	for _, path := range intact(t) {
		src := open(t, path)
		s := scan(t, src)
		type place struct {
			process, line int32
			at            source.Instant
			number        uint64
		}
		devices, hosts := map[place]int{}, map[place]int{}
		if err := s.Activities(context.Background(), src, func(a *source.Activity) {
			at := place{a.Process, a.Line, a.Start, a.Number}
			onDevice := strings.HasPrefix(s.Planes[a.Process].Name, "/device:")
			switch a.Role {
			case source.ActiveHost:
				hosts[at]++
			default:
				devices[at]++
			}
			if onDevice != (a.Role != source.ActiveHost) || a.EndNS < a.Start.NS {
				t.Fatalf("%s: %+v on %s", path, a, s.Planes[a.Process].Name)
			}
			if is := strings.HasPrefix(strings.ToLower(string(a.Name)), "mem"); a.Role == source.ActiveCopy {
				if copies++; !is {
					t.Errorf("%s: %s is a copy", path, a.Name)
				}
			}
		}); err != nil {
			t.Fatal(err)
		}
		if err := s.Launches(context.Background(), src, func(l *source.Launch) {
			list := devices
			if l.Role != source.LaunchWork {
				list = hosts
			}
			if l.Number > 0 {
				linked++
			}
			if list[place{l.Process, l.Line, l.Start, l.Number}] == 0 {
				t.Errorf("%s: %+v is no activity", path, l)
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	if linked == 0 || copies == 0 {
		t.Errorf("%d with numbers, %d copies", linked, copies)
	}
}
