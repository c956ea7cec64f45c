package joining

import (
	"testing"

	"github.com/prlx-go/prlx/core/nccl/operation"
)

// TestWhoIsWhoWithoutAWorld: by host and process, and by GPU where a process has several.
func TestWhoIsWhoWithoutAWorld(t *testing.T) {
	b := &builder{hostOf: []int32{0, 0}, out: &operation.Job{
		Recordings: []*operation.Recording{{Host: "h", PID: 7, Members: []operation.Member{{Seat: 0, Comm: operation.None}}}, {Host: "h", PID: 8, Members: []operation.Member{{Seat: 1, Comm: operation.None}}}},
		Clocks:     make([]operation.HostClock, 1),
	}}
	b.ranks()
	var got string
	for _, r := range b.out.Ranks {
		got += r.ID + " "
	}
	if got != "h/7 h/8/0 h/8/1 " {
		t.Errorf("got %s", got)
	}
}
