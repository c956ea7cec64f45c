package session

import (
	"path/filepath"
	"testing"

	"github.com/prlx-go/prlx/core/recording/origin"
	"github.com/prlx-go/prlx/core/recording/warptrace"
)

func TestTheOriginOfARecordingMayStandBesideIt(t *testing.T) {
	made := launch("triton_poi_0", 1)
	made.entry = `"origin":{"graph":"0/0","backward":false,"nodes":[{"node":"sin","op":"aten.sin.default","file":"model.py","line":3}]}`
	dir := write(t, launch("mine", 1), made)
	at := func(name, kernel string) string {
		o := OriginOf(t.Context(), filepath.Join(dir, name), &warptrace.Header{Kernel: kernel})
		if o == nil {
			return ""
		}
		return o.Text
	}
	if got, want := at("triton_poi_0_1.prlx", "triton_poi_0"), "aten.sin.default, at model.py:3, graph 0/0"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, other := range [][2]string{{"mine_0.prlx", "mine"}, {"nowhere.prlx", "triton_poi_0"}, {"triton_poi_0_1.prlx", "of another run"}} {
		if got := at(other[0], other[1]); got != "" {
			t.Errorf("%v: got %q, want none", other, got)
		}
	}
	inside := &origin.Origin{Graph: "7/0"}
	if got := OriginOf(t.Context(), filepath.Join(dir, "triton_poi_0_1.prlx"), &warptrace.Header{Origin: inside}); got != inside {
		t.Errorf("got %v, want what the recording holds", got)
	}
	manifest(t, dir, `{"origin":`)
	if got := at("triton_poi_0_1.prlx", "triton_poi_0"); got != "" {
		t.Errorf("a manifest that cannot be read: got %q", got)
	}
}
