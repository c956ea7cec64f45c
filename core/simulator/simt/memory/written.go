package memory

// Stored finds where a store to all of [low, high) goes: which allocation it writes, and how far into it low is. ok is false when a
// store of one lane to all of that would fail a check other than that of alignment, and where no allocation of the launch is: in memory that
// malloc gave. legal is that of the Transfer.
func (g *Global) Stored(low, high, legal uint64) (allocation int, offset uint64, ok bool) {
	in := g.within(low, high, legal)
	if in == nil || in.readOnly || in.index < 0 {
		return -1, 0, false
	}
	return in.index, low - in.base, true
}

// Addresses are the bounds of the addresses that the simulator gives to allocations.
func (g *Global) Addresses() (low, high uint64) {
	if g.last > 0 {
		return firstSlot, lastSlot
	}
	return firstSlot, firstSlot + uint64(len(g.regions))<<g.bits
}

// Place is where an allocation begins: as kernels have it, and in the process.
func (g *Global) Place(allocation int) (kernel, process uint64) {
	return g.regions[allocation].base, g.regions[allocation].host
}

// Bytes are those of an allocation.
func (g *Global) Bytes(allocation int) []byte { return g.regions[allocation].bytes }

// Locate says in which allocation the address of a fault is, and where.
func (g *Global) Locate(f *Fault) {
	if in := g.within(f.Address, f.Address+uint64(f.Bytes), 0); in != nil {
		f.near(in)
		f.Offset = f.Address - in.base
	}
}

// Parameters are those of the kernel that point to the allocation in which an address lies, as bits.
func (g *Global) Parameters(address uint64) uint64 {
	if in := g.within(address, address+1, 0); in != nil {
		return in.params | g.any
	}
	return 0
}
