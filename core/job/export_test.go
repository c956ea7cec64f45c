package job

// Result waits for the end of a job, forgets it and returns what it returned.
func (t *Table) Result(id int64) ([]byte, error) {
	result, _, err := t.Collect(id)
	return result, err
}

// Len is the number of jobs whose results were not collected.
func (t *Table) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.jobs)
}

type Snapshot = snapshot

var NewBudget = newBudget
