package origin

import (
	"strings"
	"testing"
)

func TestTextNamesOperationsModulesAndLines(t *testing.T) {
	add := Node{Node: "add", Op: "aten.add.Tensor", Module: "layers.0 (Linear)", File: "/home/me/model.py", Line: 12}
	relu := Node{Node: "relu", Op: "aten.relu.default", Module: "layers.0 (Linear)", File: `C:\me\model.py`, Line: 12}
	many := []Node{{Op: "a"}, {Op: "b"}, {Op: "c"}, {Op: "d"}, {Op: "e"}, {Op: "e"}, {Op: "f"}}
	for _, test := range []struct {
		name   string
		origin *Origin
		want   string
	}{
		{"no nodes", &Origin{Graph: "0/0"}, ""},
		{"one", &Origin{Graph: "0/0", Nodes: []Node{add}}, "aten.add.Tensor in layers.0 (Linear), at model.py:12, graph 0/0"},
		{
			"fused",
			&Origin{Graph: "1/0", Backward: true, Region: "step 3", Nodes: []Node{add, relu}},
			"aten.add.Tensor and aten.relu.default in layers.0 (Linear), at model.py:12, backward of graph 1/0, in step 3",
		},
		{"many", &Origin{Graph: "0/0", Nodes: many}, "a, b, c, d and 2 more, graph 0/0"},
	} {
		test.origin.Text = "what a file claims"
		if err := test.origin.Check(); err != nil || test.origin.Text != test.want {
			t.Errorf("%s: got %q and error %v, want %q", test.name, test.origin.Text, err, test.want)
		}
	}
}

func TestCheckRefusesWhatNoCompilerSays(t *testing.T) {
	good := &Origin{Graph: "0/0", Nodes: make([]Node, MaxNodes)}
	if err := good.Check(); err != nil {
		t.Errorf("%d nodes: %v", MaxNodes, err)
	}
	if err := (*Origin)(nil).Check(); err != nil {
		t.Errorf("none: %v", err)
	}
	for name, bad := range map[string]*Origin{
		"nodes": {Nodes: make([]Node, MaxNodes+1)},
		"text":  {Nodes: []Node{{Code: strings.Repeat("x", maxText+1)}}},
		"graph": {Graph: strings.Repeat("x", maxText+1)},
	} {
		if bad.Check() == nil {
			t.Errorf("%s: too much was taken", name)
		}
	}
}
