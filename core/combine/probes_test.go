package combine

import (
	"context"
	"math/rand"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/clocks/clockfile"
	"github.com/prlx-go/prlx/core/clocks/offsets"
)

// TestOfTooManyStampsTheFastestAreKeptOverTheWholeTime: files come one after the other, and all nodes keep the same share.
func TestOfTooManyStampsTheFastestAreKeptOverTheWholeTime(t *testing.T) {
	const each, nodes, most = 4000, 3, 2500
	r := rand.New(rand.NewSource(1))
	begin := int64(1_760_000_000_000_000_000)
	ahead := [nodes]int64{0, 5_000_000, -3_000_000}
	p := &probes{}
	var slow, all int64
	for src := range nodes {
		var file []clockfile.Stamp
		for i := range each {
			dst := (src + 1 + i%2) % nodes
			at := begin + int64(i)*10_000_000
			there, back := 20_000+int64(r.ExpFloat64()*50_000), 20_000+int64(r.ExpFloat64()*50_000)
			file = append(file, clockfile.Stamp{
				Src: int32(src), Dst: int32(dst), Seq: int64(i), T1: at + ahead[src], T2: at + there + ahead[dst],
				T3: at + there + 5000 + ahead[dst], T4: at + there + 5000 + back + ahead[src],
			})
			all += there + back
		}
		p.add(file, most)
	}
	if p.read != each*nodes || len(p.stamps) > most || len(p.stamps) < most/2 || p.halve != 3 {
		t.Fatalf("%d of %d stamps are kept, halved %d times", len(p.stamps), p.read, p.halve)
	}
	count := map[[2]int32]int{}
	tenth := map[int64]int{}
	for _, s := range p.stamps {
		count[[2]int32{s.Src, s.Dst}]++
		tenth[(s.T1-begin)/4_000_000_000]++
		slow += s.LongestTrip()
	}
	for k, n := range count {
		if n < 240 || n > 260 {
			t.Errorf("%d stamps of %v, want an eighth of 2000", n, k)
		}
	}
	for i := range int64(10) {
		if n := tenth[i]; n < 120 {
			t.Errorf("%d stamps of the %d-th tenth of the time", n, i)
		}
	}
	if kept, mean := slow/int64(len(p.stamps)), all/(each*nodes); kept > mean*3/4 {
		t.Errorf("the kept stamps took %d ns on average, all %d", kept, mean)
	}
	s, err := p.solve(context.Background(), offsets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "of 12000 probe stamps 1500 are used, the fastest of every 8") {
		t.Errorf("warnings %q", s.Warnings)
	}
	for _, n := range s.Nodes {
		y, bound, _ := n.Map.At(begin + 20_000_000_000 + ahead[n.Node])
		if e := y - begin - 20_000_000_000; max(e, -e) > bound {
			t.Errorf("node %d is off by %d ns, bound %d", n.Node, e, bound)
		}
	}
}
