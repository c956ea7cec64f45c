package warptrace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/recording/origin"
)

func someOrigin(t *testing.T) *origin.Origin {
	t.Helper()
	o := &origin.Origin{Region: "step 3", Graph: "0/1", Backward: true, More: 3, Nodes: []origin.Node{
		{Node: "add_1", Op: "aten.add.Tensor", Module: "0 (Linear)", File: "/m/model.py", Line: 12, Function: "forward", Code: "x + y"}, {},
	}}
	if err := o.Check(); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestV2HeaderKeepsWhatFitsOfAnOrigin(t *testing.T) {
	o := &origin.Origin{Graph: "0/0"}
	for i := range 100 {
		o.Nodes = append(o.Nodes, origin.Node{Node: fmt.Sprintf("node_%d", i), Op: "aten.add.Tensor", Code: strings.Repeat("x", 4000)})
	}
	h := v2TestHeader(1)
	h.Origin = o
	got := openV2Bytes(t, writeV2(t, h, nil, nil, never)).Header().Origin
	if n := len(got.Nodes); n < 50 || n > 65 || int64(n)+got.More != 100 {
		t.Errorf("got %d operations and %d more, want 100 together, of which 256 KiB are kept", n, got.More)
	}
	if want := fmt.Sprintf("aten.add.Tensor, graph 0/0; %d operations more that are not listed", got.More); got.Text != want {
		t.Errorf("got %q, want %q", got.Text, want)
	}
}

func TestV2HeaderRefusesOriginsThatNobodyWrites(t *testing.T) {
	many := encodeOrigin(&origin.Origin{Graph: "0/0"})
	for range origin.MaxNodes + 1 {
		many = many.sub(4, nil)
	}
	long := encodeOrigin(&origin.Origin{Graph: strings.Repeat("g", 5000)})
	for name, one := range map[string]message{"many operations": many, "a long text": long, "no message": {0xff}} {
		if _, err := decodeV2Header(message(nil).text(1, "k").sub(25, one)); err == nil {
			t.Errorf("%s: it was read", name)
		}
	}
}
