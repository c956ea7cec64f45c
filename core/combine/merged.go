package combine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/trace/aligned"
	"github.com/prlx-go/prlx/core/trace/source"
)

// A trace may hold several nodes: those that prlx merged, as its mark says, or ranks that another tool merged, as its processes say.

// isMerged reports whether another tool merged the trace out of several ranks. Nothing is known of how their clocks relate.
func (n *Node) isMerged() bool { return n.mark == nil && n.merged != nil }

// parts returns how many nodes the trace holds.
func (n *Node) parts() int {
	switch {
	case n.mark != nil:
		return len(n.mark.Nodes)
	case n.merged != nil:
		return len(n.merged.Ranks)
	}
	return 1
}

// member is one of the nodes of a trace that holds several.
func (n *Node) member(part int) source.MergedRank {
	if n.mark != nil {
		return source.MergedRank{ID: n.mark.Nodes[part].ID, Rank: n.mark.Nodes[part].Rank}
	}
	return n.merged.Ranks[part]
}

// members lists the nodes of a trace that holds several, nil for others.
func (n *Node) members() []string {
	if n.parts() < 2 {
		return nil
	}
	out := make([]string, n.parts())
	for part := range out {
		out[part] = n.member(part).ID
	}
	return out
}

// referenceName is the node on whose clock the times are where node n is the reference: of a merged trace the one that its mark or the
// user names, else its first.
func (n *Node) referenceName(asked string) string {
	members := n.members()
	switch {
	case members == nil:
		return n.ID
	case n.mark != nil && slices.Contains(members, n.mark.Reference):
		return n.mark.Reference
	case slices.Contains(members, asked):
		return asked
	}
	return members[0]
}

// nodesOfProcesses returns, by process, which node of a merged Chrome trace it is of; nil where the trace holds one.
func (n *Node) nodesOfProcesses() []int {
	if n.parts() < 2 {
		return nil
	}
	byPID := map[string]int{}
	if n.mark != nil {
		for i := range n.mark.Nodes {
			for _, pid := range n.mark.Nodes[i].Processes {
				byPID[fmt.Sprint(pid)] = i
			}
		}
	}
	if len(byPID) == 0 && n.merged != nil && len(n.merged.Ranks) == n.parts() {
		return n.merged.RankOf
	}
	out := make([]int, len(n.layout))
	for i, p := range n.layout {
		out[i] = -1
		if k, ok := byPID[unquoted(p.TextID)]; ok {
			out[i] = k
		}
	}
	return out
}

// groupsOfAll is what a trace that another tool merged says of process groups: whose rank it names is not known.
func (n *Node) groupsOfAll() *source.Distributed {
	if n.facts.Distributed == nil {
		return nil
	}
	d := *n.facts.Distributed
	d.Rank = -1
	return &d
}

// markMember says in a mark which of the ranks of a trace that another tool merged a node is.
func (n *Node) markMember(part int, one *aligned.Node) {
	if !n.isMerged() {
		return
	}
	one.Rank, one.Method = n.merged.Ranks[part].Rank, MethodNone
}

// noteMerged says which traces hold several ranks, and what that means.
func noteMerged(nodes []*Node) (said remarks) {
	for _, n := range nodes {
		if n.isMerged() {
			said.note("%s holds %d ranks that another tool merged: %s; each is a node of its own in collectives and in what is written, and how their clocks relate is not known",
				n.ID, len(n.merged.Ranks), shortList(n.merged.IDs()))
		}
	}
	return said
}

// markKept notes in the mark of a trace that keeps its own document which processes are whose.
func (n *Node) markKept(m *aligned.Mark) {
	if !n.isMerged() {
		return
	}
	for i, part := range n.merged.RankOf {
		if pid, err := strconv.ParseInt(n.layout[i].TextID, 10, 64); err == nil && part >= 0 {
			m.Nodes[part].Processes = append(m.Nodes[part].Processes, pid)
		}
	}
}

// processNamed says whose a process of node k is. recorded is its name in the input, what it is without that of its node.
func (d *chromeDocument) processNamed(k, part int, recorded, what string) string {
	n := d.in.nodes[k]
	if n.parts() == 1 || part < 0 {
		return processName(n, what)
	}
	member, id := n.member(part), d.marks.mark.Nodes[d.marks.mine[k][part]].ID
	if n.mark != nil && id == member.ID && (recorded == id || strings.HasPrefix(recorded, id+" · ") || strings.HasPrefix(recorded, id+" rank ")) {
		return recorded // as prlx named it before
	}
	own := &Node{identity: identity{ID: id}, tag: id, Rank: member.Rank}
	if n.mark != nil {
		own.Host = n.mark.Nodes[part].Host
	}
	return processName(own, what)
}

// shortList lists a few of many.
func shortList(names []string) string {
	if len(names) > 8 {
		return strings.Join(names[:4], ", ") + ", ... " + names[len(names)-1]
	}
	return strings.Join(names, ", ")
}
