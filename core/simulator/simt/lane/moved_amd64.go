package lane

//go:noescape
func moved32(a, b *[Lanes]uint32, by uint32) bool

//go:noescape
func moved64(a, b *[Lanes]uint64, by uint64) bool

//go:noescape
func atLeast(a *[Lanes]uint32, least uint32) bool

//go:noescape
func rowsOfMatrices(to *[4]*[Lanes]uint32, n int, from *byte, at *[Lanes]uint32, off uint32)

//go:noescape
func columnsOfMatrices(to *[4]*[Lanes]uint32, n int, from *byte, at *[Lanes]uint32, off uint32)

//go:noescape
func pieces(to *[Lanes][rowBytes]byte, at *[Lanes]uint32, off uint32, from *byte, source *[Lanes]uint64, by uint64)
