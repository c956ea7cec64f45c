package hlo

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// Budget bounds how many ids the group lists of several modules may have together, as written and spread over replicas and
// partitions.
type Budget struct{ left atomic.Int64 }

// NewBudget returns the budget of one file: 32 million, eight times what one group list may have.
func NewBudget() *Budget {
	b := &Budget{}
	b.left.Store(8 * maxMembers)
	return b
}

// Take reports whether n ids more are within the budget; the nil Budget has no end.
func (b *Budget) Take(n int64) bool { return b == nil || b.left.Add(-n) >= 0 }

var errLists = errors.New("lists of ids are not written like {0,1},{2,3}")

// ErrDamaged stands for the group list of a module that was damaged when it was read.
var ErrDamaged = errors.New("the replica groups are damaged")

// NewModule makes a module of what was kept of one: the exported fields of m, whose ops keep their order.
func NewModule(m Module, budget *Budget) (*Module, error) {
	if (m.Replicas == 0) != (m.Partitions == 0) || m.Replicas < 0 || m.Partitions < 0 || m.Replicas > maxDevices || m.Partitions > maxDevices || m.Replicas*m.Partitions > maxDevices ||
		m.Devices != nil && len(m.Devices) != m.Replicas*m.Partitions {
		return nil, errors.New("the device assignment contradicts itself")
	}
	m.budget, m.spread, m.byName = budget, nil, make(map[string]int, len(m.Ops))
	for i := range m.Ops {
		if _, taken := m.byName[m.Ops[i].Name]; !taken {
			m.byName[m.Ops[i].Name] = i
		}
	}
	return &m, nil
}

// NewGroups makes a group list of its lists, or of the error for which there are none.
func NewGroups(lists [][]int64, err error) *Groups { return &Groups{explicit: lists, err: err} }

// AppendLists appends lists of ids as HLO writes replica groups: {0,1},{2,3}. Three ids or more at equal distances are a range:
// {0..7}, {0..56/8}.
func AppendLists(dst []byte, lists [][]int64) []byte {
	for i, ids := range lists {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '{')
		for k := 0; k < len(ids); {
			if k > 0 {
				dst = append(dst, ',')
			}
			n := run(ids[k:])
			dst = strconv.AppendInt(dst, ids[k], 10)
			if n > 1 {
				dst = strconv.AppendInt(append(dst, ".."...), ids[k+n-1], 10)
				if step := ids[k+1] - ids[k]; step != 1 {
					dst = strconv.AppendInt(append(dst, '/'), step, 10)
				}
			}
			k += n
		}
		dst = append(dst, '}')
	}
	return dst
}

// run returns how many ids at the front are one range; 1 where that is not worth writing.
func run(ids []int64) int {
	if len(ids) < 3 || ids[0] < 0 || ids[1] <= ids[0] {
		return 1
	}
	step, n := ids[1]-ids[0], 2
	for n < len(ids) && ids[n] > ids[n-1] && ids[n]-ids[n-1] == step {
		n++
	}
	if n < 3 {
		return 1
	}
	return n
}

// ParseLists reads what AppendLists wrote. The ids of all lists count against the budget.
func ParseLists(text string, budget *Budget) ([][]int64, error) {
	var lists [][]int64
	for text != "" {
		if lists != nil {
			rest, ok := strings.CutPrefix(text, ",")
			if !ok {
				return nil, errLists
			}
			text = rest
		}
		end := strings.IndexByte(text, '}')
		if end < 0 || text[0] != '{' {
			return nil, errLists
		}
		ids, err := parseIDs(text[1:end], budget)
		if err != nil {
			return nil, err
		}
		lists, text = append(lists, ids), text[end+1:]
	}
	return lists, nil
}

func parseIDs(text string, budget *Budget) ([]int64, error) {
	if !budget.Take(1) { // a list costs memory even when it is empty
		return nil, ErrTooMany
	}
	if text == "" {
		return []int64{}, nil
	}
	var ids []int64
	for field := range strings.SplitSeq(text, ",") {
		first, last, step, err := parseRange(field)
		if err != nil {
			return nil, err
		}
		n := (last - first) / step // one less than there are
		if n >= maxMembers || !budget.Take(n+1) {
			return nil, ErrTooMany
		}
		ids = slices.Grow(ids, int(n)+1)
		for k := range n + 1 {
			ids = append(ids, first+k*step)
		}
	}
	return ids, nil
}

// parseRange reads 5, 0..7 or 0..56/8.
func parseRange(field string) (first, last, step int64, err error) {
	from, rest, isRange := strings.Cut(field, "..")
	if first, err = strconv.ParseInt(from, 10, 64); err != nil {
		return 0, 0, 0, errLists
	}
	if !isRange {
		return first, first, 1, nil
	}
	to, by, stepped := strings.Cut(rest, "/")
	if step = 1; stepped {
		if step, err = strconv.ParseInt(by, 10, 64); err != nil {
			return 0, 0, 0, errLists
		}
	}
	if last, err = strconv.ParseInt(to, 10, 64); err != nil || first < 0 || last <= first || step < 1 || (last-first)%step != 0 {
		return 0, 0, 0, errLists
	}
	return first, last, step, nil
}
