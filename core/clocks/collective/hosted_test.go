package collective

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/file"
	"github.com/prlx-go/prlx/core/trace/chrometrace"
	"github.com/prlx-go/prlx/core/trace/event"
)

// glooRank is what PyTorch writes of a rank whose collectives gloo executed: ranges, and the groups that the rank is in. what lists name and
// shape of the input.
func glooRank(t *testing.T, rank int, groups [][]int64, what ...string) *Part {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, `{"distributedInfo":{"backend":"gloo","rank":%d,"world_size":4,"pg_config":[`, rank)
	for i, g := range groups {
		text := strings.ReplaceAll(fmt.Sprint(g), " ", ",")
		fmt.Fprintf(&b, `%s{"pg_name":"%d","pg_desc":"x","backend_config":"cpu:gloo","pg_size":%d,"ranks":%s}`, strings.Repeat(",", min(i, 1)), i, len(g), text)
	}
	fmt.Fprintf(&b, `]},"baseTimeNanoseconds":1760000000000000000,"traceEvents":[{"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"python"}}`)
	for i, w := range what {
		name, dims, _ := strings.Cut(w, " ")
		fmt.Fprintf(&b, ",\n"+`{"ph":"X","cat":"user_annotation","name":"gloo:%s","pid":1,"tid":%d,"ts":%d,"dur":50,"args":{"Input Dims":[%s]}}`, name, i%2, 100*i+rank, dims)
	}
	b.WriteString("]}")
	src, err := file.FromBytes("rank.json", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	trace, err := chrometrace.Scan(context.Background(), src, chrometrace.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	part, err := fromRecorded(context.Background(), src, trace, Options{Node: int32(rank)})
	if err != nil {
		t.Fatal(err)
	}
	return part
}

func repeated(n int, what ...string) []string {
	var out []string
	for range n {
		out = append(out, what...)
	}
	return out
}

// matchedBy counts the groups of a match by key and members.
func matchedBy(t *testing.T, parts ...*Part) (map[string]int, *Matched) {
	t.Helper()
	m, err := Match(context.Background(), Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for i := range m.Groups {
		g := &m.Groups[i]
		var nodes []int32
		for _, member := range g.Members {
			nodes = append(nodes, m.Part.Spans[member.Span].Node)
		}
		slices.Sort(nodes)
		out[fmt.Sprint(m.Part.Ops[g.Op].Key, nodes)]++
	}
	return out, m
}

// TestCollectivesOfGloo: ranges of the host, matched by order; the group of each is found by how often each rank executed it.
func TestCollectivesOfGloo(t *testing.T) {
	world, pair := []int64{0, 1, 2, 3}, []int64{0, 1}
	both, one := [][]int64{world, pair}, [][]int64{world}
	all := []string{"all_reduce [8, 8]", "all_gather [8, 8]", "broadcast [8, 8]", "barrier []", "send [4]", "all_to_all [4]"}
	var parts []*Part
	for rank := range 4 {
		groups, what := one, all
		if rank < 2 {
			groups, what = both, append(slices.Clone(all), "all_reduce [17]")
		}
		parts = append(parts, glooRank(t, rank, groups, repeated(5, what...)...))
	}
	got, m := matchedBy(t, parts...)
	want := map[string]int{
		"gloo/allreduce of 64[0 1 2 3]": 5, "gloo/allgather of 64[0 1 2 3]": 5, "gloo/broadcast of 64[0 1 2 3]": 5, "gloo/barrier[0 1 2 3]": 5,
		"gloo/send[0 1 2 3]": 5, "gloo/alltoall[0 1 2 3]": 5, "gloo/allreduce of 17[0 1]": 5,
	}
	if !maps.Equal(got, want) || len(m.Unmatched) > 0 {
		t.Errorf("%v, unmatched %+v", got, m.Unmatched)
	}
	for i := range m.Part.Ops {
		if o := &m.Part.Ops[i]; o.Guess || (o.Key == "gloo/send" || o.Key == "gloo/alltoall") != (o.Kind == event.Unknown) {
			t.Errorf("%+v", o)
		}
	}
}

// TestGroupsOfGlooAreNotGuessed: executions of two groups that nothing tells apart, and lost ones, are unmatched, with the reason.
func TestGroupsOfGlooAreNotGuessed(t *testing.T) {
	world := []int64{0, 1, 2, 3}
	reduce := "all_reduce [8]"
	for name, c := range map[string]struct {
		groups [4][][]int64
		counts [4]int
		want   map[string]int
	}{
		"one group, one lost": {[4][][]int64{{world}, {world}, {world}, {world}}, [4]int{5, 5, 4, 5}, nil},
		"pairs or the world":  {[4][][]int64{{world, {0, 1}}, {world, {0, 1}}, {world, {2, 3}}, {world, {2, 3}}}, [4]int{5, 5, 5, 5}, nil},
		"both on two ranks":   {[4][][]int64{{world, {0, 1}}, {world, {0, 1}}, {world}, {world}}, [4]int{8, 8, 5, 5}, nil},
		"only pairs": {
			[4][][]int64{{{0, 1}}, {{0, 1}}, {{2, 3}}, {{2, 3}}},
			[4]int{5, 5, 7, 7},
			map[string]int{"gloo/allreduce of 8[0 1]": 5, "gloo/allreduce of 8[2 3]": 7},
		},
		"no groups": {[4][][]int64{}, [4]int{5, 5, 5, 5}, nil},
	} {
		var parts []*Part
		for rank := range 4 {
			parts = append(parts, glooRank(t, rank, c.groups[rank], repeated(c.counts[rank], reduce)...))
		}
		got, m := matchedBy(t, parts...)
		for key := range got { // two ranks that are in the world group alone are matched where the rest cannot be
			if strings.HasSuffix(key, "[2 3]") && name == "both on two ranks" {
				delete(got, key)
			}
		}
		if len(got) != len(c.want) || len(c.want) > 0 && !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if c.want == nil && m.UnmatchedCount() == 0 {
			t.Errorf("%s: nothing is unmatched", name)
		}
	}
}

func TestGroupsAreFoundByCounts(t *testing.T) {
	world, pair := []int64{0, 1, 2}, []int64{0, 1}
	groups := map[int32][][]int64{0: {world, pair}, 1: {pair, world}, 2: {world}}
	for _, c := range []struct {
		executed map[int32]int
		want     map[int32][]int64
	}{
		{map[int32]int{0: 4, 1: 4, 2: 4}, map[int32][]int64{0: world, 1: world, 2: world}},
		{map[int32]int{0: 4, 1: 4}, map[int32][]int64{0: pair, 1: pair}},
		{map[int32]int{0: 6, 1: 6, 2: 4}, map[int32][]int64{2: world}},
		{map[int32]int{0: 3, 1: 4, 2: 4}, nil},
	} {
		if got := groupsByCount(groups, c.executed); len(got) != len(c.want) || len(got) > 0 && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: %v, want %v", c.executed, got, c.want)
		}
	}
}
