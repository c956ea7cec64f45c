package memory

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// Standing are arrays that kernels may reach through pointers which they load, launch after launch: whoever owns them says when they come
// and go, and a launch need not list them. They have the addresses of the process only. Its methods may be called at any time: a launch
// sees those that were there when it began.
type Standing struct {
	mu   sync.Mutex
	list atomic.Pointer[[]region] // in ascending order, disjoint
	gone []freed                  // the latest that went, a ring
	next int                      // of the ring
}

// freed is an array that was there once.
type freed struct {
	Name  string
	Host  uint64
	Bytes uint64
}

// remembered is how many arrays that went are remembered.
const remembered = 1024

// Change adds arrays and removes those that begin at some addresses of the process, in one step; removed ones first. Of arrays that overlap
// the one that is there stays, and the other is not added: its owner joins such arrays. It returns how many there are.
func (s *Standing) Change(add []Allocation, remove []uint64) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var old []region
	if p := s.list.Load(); p != nil {
		old = *p
	}
	out := make(map[uint64]bool, len(remove))
	for _, host := range remove {
		out[host] = true
	}
	list := make([]region, 0, len(old)+len(add))
	for i := range old {
		if r := &old[i]; out[r.base] {
			s.forget(r)
		} else {
			list = append(list, *r)
		}
	}
	kept := len(list)
	for i := range add {
		if a := &add[i]; a.known() {
			r := region{base: a.Host, host: a.Host, bytes: a.Bytes, index: -1, name: a.Name, readOnly: a.ReadOnly}
			if a.Unwritten {
				r.fresh = new(atomic.Bool)
				r.fresh.Store(true)
			}
			list = append(list, r)
		}
	}
	if len(list) > kept {
		slices.SortStableFunc(list, func(x, y region) int { return cmp.Compare(x.base, y.base) })
		end := uint64(0)
		list = slices.DeleteFunc(list, func(r region) bool {
			if r.base < end {
				return true
			}
			end = r.base + uint64(len(r.bytes))
			return false
		})
	}
	s.list.Store(&list)
	return len(list)
}

func (s *Standing) forget(r *region) {
	f := freed{r.name, r.base, uint64(len(r.bytes))}
	if len(s.gone) < remembered {
		s.gone = append(s.gone, f)
		return
	}
	s.gone[s.next] = f
	s.next = (s.next + 1) % remembered
}

// Freed says which array had an address of the process that went last, of those that are remembered.
func (s *Standing) Freed(address uint64) (f freed, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.gone {
		at := len(s.gone) - 1 - i
		if len(s.gone) == remembered {
			at = (s.next + at) % remembered
		}
		if g := &s.gone[at]; address-g.Host < g.Bytes {
			return *g, true
		}
	}
	return freed{}, false
}

// All are the arrays as they are now, in ascending order.
func (s *Standing) All() []Allocation {
	var all []Allocation
	if p := s.list.Load(); p != nil {
		for i := range *p {
			r := &(*p)[i]
			all = append(all, Allocation{Name: r.name, Host: r.base, Bytes: r.bytes, ReadOnly: r.readOnly})
		}
	}
	return all
}

// At is the array that has an address of the process, as it is now.
func (s *Standing) At(address uint64) (Allocation, bool) {
	p := s.list.Load()
	if p == nil {
		return Allocation{}, false
	}
	list := *p
	i, found := slices.BinarySearchFunc(list, address, func(r region, address uint64) int { return cmp.Compare(r.base, address) })
	if !found {
		i--
	}
	if i < 0 || address-list[i].base >= uint64(len(list[i].bytes)) {
		return Allocation{}, false
	}
	r := &list[i]
	return Allocation{Name: r.name, Host: r.base, Bytes: r.bytes, ReadOnly: r.readOnly, Unwritten: r.fresh != nil && r.fresh.Load()}, true
}

// Written says that somebody writes the arrays that begin at some addresses of the process.
func (s *Standing) Written(hosts ...uint64) {
	p := s.list.Load()
	if p == nil {
		return
	}
	for _, host := range hosts {
		if r := below(*p, host); r != nil && r.base == host && r.fresh != nil {
			r.fresh.Store(false)
		}
	}
}

// Stand makes arrays that stand reachable, as they are now.
func (g *Global) Stand(s *Standing) {
	if p := s.list.Load(); p != nil {
		g.standing = *p
	}
}

// known reports whether an array has an address of the process by which it can be found.
func (a *Allocation) known() bool {
	end := a.Host + uint64(len(a.Bytes))
	return a.Host > nullPage && len(a.Bytes) > 0 && end > a.Host && end < SharedWindow
}

// below is the last region of a list that does not begin behind an address, nil when there is none.
func below(list []region, address uint64) *region {
	low, high := 0, len(list)
	for low < high {
		middle := int(uint(low+high) / 2)
		if list[middle].base <= address {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == 0 {
		return nil
	}
	return &list[low-1]
}

// holds reports whether an address is one of the region's bytes.
func (in *region) holds(address uint64) bool {
	return in != nil && address-in.base < uint64(len(in.bytes))
}
