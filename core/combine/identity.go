package combine

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prlx-go/prlx/core/fault"
	"github.com/prlx-go/prlx/core/lazyregexp"
)

// identity is who a trace belongs to.
type identity struct {
	ID     string // what the user and every report call the node
	Number int    // the node's number in clock files; -1 when it has none
	Source string // how ID was found: "given", "name", "rank", "host", "order", "mark" (as prlx named it before), "process" (a recording beside the trace of its process)
}

var numbered = lazyregexp.New(`(?i)(?:^|[^a-z])(node|rank|host|worker|proc|process|task)[-_.]?(\d{1,6})(?:[^0-9]|$)`)

// ranked finds the number of a process in a name that also numbers its host, as in "node3.rank17.xplane.pb": there the process is meant.
var ranked = lazyregexp.New(`(?i)(?:^|[^a-z])(rank)[-_.]?(\d{1,6})(?:[^0-9]|$)`)

// identityFromPath looks for a number in the file's name, then in the directories above it, nearest first.
func identityFromPath(path string) (identity, bool) { return fromPath(path, ranked, numbered) }

// rankFromPath is the same for the number of a rank alone: of "rank3/node0.xplane.pb", beside that of another rank of node 0.
func rankFromPath(path string) (identity, bool) { return fromPath(path, ranked) }

// fromPath is the identity that the first of some patterns finds in the nearest name of a path that has one.
func fromPath(path string, patterns ...*lazyregexp.Regexp) (identity, bool) {
	rest := filepath.ToSlash(path)
	for range 8 {
		dir, name := filepath.Split(strings.TrimSuffix(rest, "/"))
		if name == "" {
			break
		}
		for _, p := range patterns {
			m := p.FindStringSubmatch(name)
			if m == nil {
				continue
			}
			if n, err := strconv.Atoi(m[2]); err == nil {
				return identity{ID: strings.ToLower(m[1]) + strconv.Itoa(n), Number: n, Source: "name"}, true
			}
		}
		rest = dir
	}
	return identity{}, false
}

var trailing = lazyregexp.New(`^[A-Za-z_.-]*?(\d{1,6})$`)

// givenIdentity is the identity of ID=PATH: the number is the digits that the ID ends in.
func givenIdentity(id string) identity {
	i := identity{ID: id, Number: -1, Source: "given"}
	if m := trailing.FindStringSubmatch(id); m != nil {
		i.Number, _ = strconv.Atoi(m[1])
	}
	return i
}

// facts is what identities are made of.
type facts struct {
	place             int // among the inputs as they were given
	path, given, host string
	byHost            bool     // its path names its host, not the node
	marked            string   // the name that prlx gave it when it was aligned
	members           []string // the nodes that it holds, where these are several
	rank              *int64
}

// mergedIdentity is the identity of a trace that holds several nodes: their names, or the first and the last of many.
func mergedIdentity(members []string) identity {
	i := identity{ID: strings.Join(members, "+"), Number: -1, Source: "mark"}
	if len(members) > 4 {
		i.ID = members[0] + ".." + members[len(members)-1]
	}
	return i
}

// identify names every node: as given; as prlx, or who merged it, named it before; else by a number in its path, nearest first; else by the
// rank there; else by the rank, else by the host recorded inside; else by its place in the order. All nodes without a name use the same rule,
// the first that names every one of them and no two nodes alike; when a rule names every one but some alike, and no better one follows, that
// is an error.
func identify(nodes []facts) ([]identity, error) {
	ids := make([]identity, len(nodes))
	fixed, taken := fixedNames(nodes, ids)
	named := func(rule func(path string) (identity, bool)) func(int) (identity, bool) {
		return func(k int) (identity, bool) {
			if nodes[k].byHost {
				return identity{}, false
			}
			return rule(nodes[k].path)
		}
	}
	rules := []func(int) (identity, bool){
		named(identityFromPath), named(rankFromPath),
		func(k int) (identity, bool) {
			if nodes[k].rank == nil || *nodes[k].rank < 0 || *nodes[k].rank > 1<<20 {
				return identity{}, false
			}
			n := int(*nodes[k].rank)
			return identity{ID: "rank" + strconv.Itoa(n), Number: n, Source: "rank"}, true
		},
		func(k int) (identity, bool) {
			if nodes[k].host == "" {
				return identity{}, false
			}
			return identity{ID: nodes[k].host, Number: -1, Source: "host"}, true
		},
		func(k int) (identity, bool) {
			k = nodes[k].place
			for taken["node"+strconv.Itoa(k)] {
				k += len(nodes)
			}
			return identity{ID: "node" + strconv.Itoa(k), Number: k, Source: "order"}, true
		},
	}
	var ambiguous []identity // what the first rule that named every node came up with, some of them alike
	for r, rule := range rules {
		named, apart := applyRule(ids, fixed, taken, rule)
		if named && apart {
			ambiguous = nil
			break
		}
		if named && ambiguous == nil {
			ambiguous = append(ambiguous, ids...)
		}
		if r == len(rules)-2 && ambiguous != nil { // the order given must not hide that two inputs claim to be one node
			break
		}
	}
	if ambiguous != nil {
		ids = ambiguous
	}
	if err := distinct(nodes, ids); err != nil {
		return nil, err
	}
	numberTheRest(ids, nodes)
	return ids, nil
}

// fixedNames names the nodes that need no rule: those that the user named, and those that were named when they were combined or merged
// before, unless two of these are named alike. taken are all names of nodes that are in use then.
func fixedNames(nodes []facts, ids []identity) (fixed []bool, taken map[string]bool) {
	for _, before := range []bool{true, false} {
		fixed, taken = make([]bool, len(nodes)), map[string]bool{}
		numbers, alike := map[int]bool{}, false
		for k, n := range nodes {
			names := n.members
			switch {
			case n.given != "":
				ids[k], fixed[k] = givenIdentity(n.given), true
				names = append(slices.Clone(names), n.given)
			case n.members != nil && before:
				ids[k], fixed[k] = mergedIdentity(n.members), true
			case n.marked != "" && before:
				ids[k], fixed[k], names = givenIdentity(n.marked), true, []string{n.marked}
				ids[k].Source = "mark"
			}
			for _, name := range names {
				alike = alike || taken[name]
				taken[name] = true
			}
			if m := ids[k].Number; fixed[k] && m >= 0 {
				alike = alike || numbers[m]
				numbers[m] = true
			}
		}
		if !alike {
			break
		}
	}
	return fixed, taken
}

// applyRule names the nodes that are not fixed. named says that the rule had a name for each, apart that no two are alike, nor like a
// name that is taken.
func applyRule(ids []identity, fixed []bool, taken map[string]bool, rule func(int) (identity, bool)) (named, apart bool) {
	seen, numbers := maps.Clone(taken), map[int]bool{}
	apart = true
	for k := range ids {
		if fixed[k] && ids[k].Source == "mark" && ids[k].Number >= 0 {
			numbers[ids[k].Number] = true
		}
	}
	for k := range ids {
		if fixed[k] {
			continue
		}
		id, ok := rule(k)
		if !ok {
			return false, false
		}
		apart = apart && !seen[id.ID] && !numbers[id.Number]
		seen[id.ID] = true
		ids[k] = id
	}
	return true, apart
}

func distinct(nodes []facts, ids []identity) error {
	seen := map[string]int{}
	numbers := map[int]int{}
	for k, id := range ids {
		if j, dup := seen[id.ID]; dup {
			return fault.New(fault.Incompatible, "%s and %s are both node %q", nodes[j].path, nodes[k].path, id.ID).
				WithHint("give each a name: 0=%s 1=%s", nodes[j].path, nodes[k].path)
		}
		seen[id.ID] = k
		if id.Number < 0 {
			continue
		}
		if j, dup := numbers[id.Number]; dup {
			return fault.New(fault.Incompatible, "%s (%s) and %s (%s) have the same node number %d", nodes[j].path, ids[j].ID, nodes[k].path, id.ID, id.Number).
				WithHint("give each a name: 0=%s 1=%s", nodes[j].path, nodes[k].path)
		}
		numbers[id.Number] = k
	}
	return nil
}

// numberTheRest numbers nodes without a number of their own by their place, when no node has one; else they stay without.
func numberTheRest(ids []identity, nodes []facts) {
	for _, id := range ids {
		if id.Number >= 0 {
			return
		}
	}
	for k := range ids {
		ids[k].Number = nodes[k].place
	}
}

// describe says how the nodes were told apart, for the log.
func describe(ids []identity) string {
	how := map[string]string{
		"given": "as given", "name": "by the number in their path", "rank": "by the rank recorded inside", "host": "by the host recorded inside",
		"order": "by the order given", "mark": "as they were when they were combined or merged before",
	}
	own := slices.DeleteFunc(slices.Clone(ids), func(id identity) bool { return id.Source == "process" })
	said := how[own[len(own)-1].Source]
	if slices.ContainsFunc(ids, func(id identity) bool { return id.Source == "mark" }) { // and others by a rule
		said = how["mark"]
		if i := slices.IndexFunc(ids, func(id identity) bool { return id.Source != "mark" }); i >= 0 {
			said += ", others " + how[ids[i].Source]
		}
	}
	return fmt.Sprintf("nodes are named %s: %s", said, strings.Join(names(ids), ", "))
}

func names(ids []identity) []string {
	out := make([]string, len(ids))
	for k, id := range ids {
		out[k] = id.ID
	}
	return out
}
