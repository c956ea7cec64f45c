package compile

// noJoin says that lanes which a block divides need not come together again: control cannot leave the function behind it, or
// does so only by a trap.
const noJoin = -1

// joins finds for each block the nearest one through which control passes on every way from it to an end of the function, traps
// aside: its immediate post-dominator. A compiler for GPUs lets lanes that a branch divided wait for each other there. len(succ)
// stands for the end of the function itself. This is the algorithm of Cooper, Harvey and Kennedy on the graph turned round.
func joins(succ [][]int32, leaves []bool) []int32 {
	n := len(succ)
	end := int32(n)
	pred := make([][]int32, n+1) // of the graph turned round: the ways into a block from what follows it
	next := make([][]int32, n+1)
	for v, list := range succ {
		for _, s := range list {
			pred[v] = append(pred[v], s)
			next[s] = append(next[s], int32(v))
		}
		if leaves[v] {
			pred[v] = append(pred[v], end)
			next[end] = append(next[end], int32(v))
		}
	}
	number, list := postorder(next, end)
	join := make([]int32, n+1)
	for v := range join {
		join[v] = noJoin
	}
	join[end] = end
	for changed := true; changed; {
		changed = false
		for i := len(list) - 2; i >= 0; i-- { // all but the end itself, those next to it first
			v, nearest := list[i], int32(noJoin)
			for _, p := range pred[v] {
				switch {
				case join[p] == noJoin:
				case nearest == noJoin:
					nearest = p
				default:
					nearest = meet(join, number, p, nearest)
				}
			}
			if nearest != join[v] {
				join[v], changed = nearest, true
			}
		}
	}
	return join[:n]
}

// meet is the first block that two have in common on their ways to the end.
func meet(join, number []int32, a, b int32) int32 {
	for a != b {
		for number[a] < number[b] {
			a = join[a]
		}
		for number[b] < number[a] {
			b = join[b]
		}
	}
	return a
}

// postorder numbers what can be reached from a root, the root last.
func postorder(next [][]int32, root int32) (number, list []int32) {
	number = make([]int32, len(next))
	seen := make([]bool, len(next))
	type step struct{ v, at int32 }
	seen[root] = true
	for stack := []step{{root, 0}}; len(stack) > 0; {
		top := &stack[len(stack)-1]
		if int(top.at) < len(next[top.v]) {
			s := next[top.v][top.at]
			top.at++
			if !seen[s] {
				seen[s] = true
				stack = append(stack, step{s, 0})
			}
			continue
		}
		number[top.v] = int32(len(list))
		list = append(list, top.v)
		stack = stack[:len(stack)-1]
	}
	return number, list
}
