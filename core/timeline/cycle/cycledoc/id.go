package cycledoc

import "fmt"

func ID(id uint64) string { return fmt.Sprintf("%016x", id) }
