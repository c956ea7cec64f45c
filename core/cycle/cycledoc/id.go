package cycledoc

import "fmt"

// ID writes the id of a class: 16 hexadecimal digits, because JSON readers round beyond 2^53.
func ID(id uint64) string { return fmt.Sprintf("%016x", id) }
