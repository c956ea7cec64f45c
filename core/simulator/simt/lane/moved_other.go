//go:build !amd64

package lane

// These are never called: wide is false.

func moved32(a, b *[Lanes]uint32, by uint32) bool { return moved32InGo(a, b, by) }

func moved64(a, b *[Lanes]uint64, by uint64) bool { return moved64InGo(a, b, by) }

func atLeast(a *[Lanes]uint32, least uint32) bool { return atLeastInGo(a, least) }

func rowsOfMatrices(*[4]*[Lanes]uint32, int, *byte, *[Lanes]uint32, uint32) {}

func columnsOfMatrices(*[4]*[Lanes]uint32, int, *byte, *[Lanes]uint32, uint32) {}

func pieces(*[Lanes][rowBytes]byte, *[Lanes]uint32, uint32, *byte, *[Lanes]uint64, uint64) {}
