package combine

import (
	"strconv"
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/fault"
)

func TestHowNodesAreNamed(t *testing.T) {
	rank := func(r int64) *int64 { return &r }
	for _, tc := range []struct {
		name  string
		nodes []facts
		want  string // ids with numbers, or the start of the error
	}{
		{"number in the file name", []facts{{path: "/d/node3.xplane.pb"}, {path: "/d/node12.xplane.pb"}}, "node3:3 node12:12"},
		{"number in a directory", []facts{{path: "/d/rank-1/plugins/profile/2026_01_02/h.xplane.pb"}, {path: "/d/rank-0/plugins/profile/2026_01_02/h.xplane.pb"}}, "rank1:1 rank0:0"},
		{"given", []facts{{path: "/a", given: "left"}, {path: "/b", given: "gpu7"}}, "left:-1 gpu7:7"},
		{"given beside a number", []facts{{path: "/node5.pb", given: "0"}, {path: "/node1.pb"}}, "0:0 node1:1"},
		{"ranks of hosts in directories", []facts{{path: "/rank1/plugins/profile/x/node7.xplane.pb"}, {path: "/rank0/plugins/profile/x/node7.xplane.pb"}}, "rank1:1 rank0:0"},
		{"hosts in directories of ranks", []facts{{path: "/rank1/node7.xplane.pb"}, {path: "/rank1/node8.xplane.pb"}}, "node7:7 node8:8"},
		{"ranks of hosts with numbers", []facts{{path: "/run/node7.rank13.xplane.pb"}, {path: "/run/node7.rank12.xplane.pb"}}, "rank13:13 rank12:12"},
		{"rank inside", []facts{{path: "/a.json", rank: rank(4)}, {path: "/b.json", rank: rank(2)}}, "rank4:4 rank2:2"},
		{"rank inside, one directory", []facts{{path: "/host1/a.json", rank: rank(0)}, {path: "/host1/b.json", rank: rank(1)}}, "rank0:0 rank1:1"},
		{"host inside", []facts{{path: "/a.pb", host: "tw003"}, {path: "/b.pb", host: "tw004"}}, "tw003:0 tw004:1"},
		{"order", []facts{{path: "/a.pb"}, {path: "/b.pb"}}, "node0:0 node1:1"},
		{"one node twice", []facts{{path: "/a/node0.pb"}, {path: "/b/node0.pb"}}, "/a/node0.pb and /b/node0.pb are both node"},
		{"one host twice", []facts{{path: "/a.pb", host: "h"}, {path: "/b.pb", host: "h"}}, "/a.pb and /b.pb are both node"},
		{"one number under two names", []facts{{path: "/node1.pb"}, {path: "/rank1.pb"}}, "/node1.pb (node1) and /rank1.pb (rank1) have the same node number"},
		{"named before, beside a raw one", []facts{{path: "/x.pb", marked: "node0"}, {path: "/y.pb", marked: "node1"}, {path: "/node2.pb"}}, "node0:0 node1:1 node2:2"},
		{"merged before, beside a raw one", []facts{{path: "/x.pb", members: []string{"node0", "node1"}}, {path: "/node2.pb"}}, "node0+node1:-1 node2:2"},
		{"merged before, and a raw one of a name inside", []facts{{path: "/x.pb", members: []string{"node0", "node1"}}, {path: "/node1.pb", host: "h"}}, "node0+node1:0 h:1"},
		{"many merged before", []facts{{path: "/x.pb", members: []string{"a", "b", "c", "d", "e"}}, {path: "/y.pb"}}, "a..e:-1 node1:1"},
		{"the order steps aside", []facts{{path: "/x.pb"}, {path: "/y.pb", marked: "node0"}}, "node2:2 node0:0"},
		{"two named alike before", []facts{{path: "/node3.pb", marked: "node0"}, {path: "/node4.pb", marked: "node0"}}, "node3:3 node4:4"},
		{"a number that was used before", []facts{{path: "/x.pb", marked: "node1"}, {path: "/rank1.pb", host: "h"}}, "node1:1 h:-1"},
		{"one id twice", []facts{{path: "/a.pb", given: "x"}, {path: "/b.pb", given: "x"}}, "/a.pb and /b.pb are both node"},
	} {
		for k := range tc.nodes {
			tc.nodes[k].place = k
		}
		ids, err := identify(tc.nodes)
		var got []string
		for _, id := range ids {
			got = append(got, id.ID+":"+strconv.Itoa(id.Number))
		}
		if err != nil {
			if !fault.Is(err, fault.Incompatible) || !strings.HasPrefix(err.Error(), tc.want) || fault.Of(err).Hint == "" {
				t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
			}
		} else if strings.Join(got, " ") != tc.want {
			t.Errorf("%s: %v, want %q", tc.name, got, tc.want)
		}
	}
}
