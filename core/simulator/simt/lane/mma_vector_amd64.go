package lane

// wideProduct says to the products in assembly where the registers are. A group is what is multiplied at a time: 8 k of f16, bf16 and tf32,
// 16 of bytes, 4 of f64. Fields stand where mma_vector_amd64.s expects them.
type wideProduct struct {
	d, c   [4]*[Lanes]uint32 // the upper eight rows, then the lower ones; two each, of f16 one each
	a      [8]*[Lanes]uint32 // by group: the upper eight rows, the lower ones. Of tf32 four k each: upper, lower, upper, lower
	b      [4]*[Lanes]uint32 // by group; of tf32 four k each
	groups int
	flags  int
}

// wideDoubles is wideProduct of f64.
type wideDoubles struct {
	d, c   [4]*[Lanes]uint64
	a      [8]*[Lanes]uint64
	b      [4]*[Lanes]uint64
	groups int
	flags  int
}

// Flags of a wideProduct.
const (
	flagSignedA  = 1 // of bytes
	flagSignedB  = 2
	flagSaturate = 4
	flagLower    = 1 // of f64: there are sixteen rows
)

// productOfHalves finds the registers of a wideProduct of one group or two itself: v lists those of D, A, B and C.
//
//go:noescape
func productOfHalves(r *Regs, v *int32, groups int)

//go:noescape
func productToHalves(p *wideProduct)

//go:noescape
func productOfBrains(p *wideProduct)

//go:noescape
func productOfWords(p *wideProduct)

//go:noescape
func productOfBytes(p *wideProduct)

//go:noescape
func productOfDoubles(p *wideDoubles)

// wider is a product with vectors of 256 bits, nil where there is none. It has the bits of the one that it takes the place of.
func (s mmaShape) wider(a, b, c string, saturate bool) func(r *Regs, v []int32) {
	switch {
	case !wide:
	case a == "f16" && c == "f16":
		return s.wideHalves
	case a == "f16":
		return func(r *Regs, v []int32) { productOfHalves(r, &v[0], s.b) }
	case a == "bf16":
		return func(r *Regs, v []int32) {
			p := s.fill32(r, v)
			productOfBrains(&p)
		}
	case a == "tf32":
		return s.wideWords
	case a == "f64":
		return s.wideDoubles
	case a == "s8" || a == "u8":
		return s.wideBytes(integerFlags(a, b, saturate))
	case a == "s4" || a == "u4":
		return s.wideNibbles(integerFlags(a, b, saturate))
	}
	return nil
}

func integerFlags(a, b string, saturate bool) (flags int) {
	if a[0] == 's' {
		flags |= flagSignedA
	}
	if b[0] == 's' {
		flags |= flagSignedB
	}
	if saturate {
		flags |= flagSaturate
	}
	return flags
}

// fill32 is a product with two registers of A, one of B and accumulators of 32 bits, one group or two.
func (s mmaShape) fill32(r *Regs, v []int32) (p wideProduct) {
	p.groups = s.b
	_ = v[4]
	for i := range p.d {
		p.d[i] = &r.R32[v[i]]
	}
	v = v[4:]
	for i, reg := range v[:s.a] {
		p.a[i&7] = &r.R32[reg]
	}
	for i, reg := range v[s.a : s.a+s.b] {
		p.b[i&3] = &r.R32[reg]
	}
	v = v[s.a+s.b:]
	for i := range p.c {
		p.c[i] = &r.R32[v[i]]
	}
	return p
}

func (s mmaShape) wideHalves(r *Regs, v []int32) {
	d, a, b, c := s.split(v, 2)
	p := wideProduct{groups: s.b}
	for i := range 2 {
		p.d[i], p.c[i] = &r.R32[d[i]], &r.R32[c[i]]
	}
	for i, reg := range a {
		p.a[i&7] = &r.R32[reg]
	}
	for i, reg := range b {
		p.b[i&3] = &r.R32[reg]
	}
	productToHalves(&p)
}

func (s mmaShape) wideWords(r *Regs, v []int32) {
	p := s.fill32(r, v)
	if s.k == 4 {
		p.a[2], p.a[3], p.b[1] = &noWords, &noWords, &noWords
	}
	productOfWords(&p)
}

func (s mmaShape) wideBytes(flags int) func(r *Regs, v []int32) {
	if s.rows == 16 {
		return func(r *Regs, v []int32) {
			p := s.fill32(r, v)
			p.flags = flags
			productOfBytes(&p)
		}
	}
	return func(r *Regs, v []int32) {
		var nobody [Lanes]uint32
		d, a, b, c := s.split(v, s.c)
		p := wideProduct{flags: flags, groups: 1}
		p.d = [4]*[Lanes]uint32{&r.R32[d[0]], &r.R32[d[1]], &nobody, &nobody}
		p.c = [4]*[Lanes]uint32{&r.R32[c[0]], &r.R32[c[1]], &noWords, &noWords}
		p.a[0], p.a[1], p.b[0] = &r.R32[a[0]], &noWords, &r.R32[b[0]]
		productOfBytes(&p)
	}
}

// wideNibbles makes bytes of numbers of 4 bits, those at even k and those at odd ones: the order of k does not matter.
func (s mmaShape) wideNibbles(flags int) func(r *Regs, v []int32) {
	return func(r *Regs, v []int32) {
		var nobody [Lanes]uint32
		var left [8][Lanes]uint32
		var right [4][Lanes]uint32
		regD, regA, regB, regC := s.split(v, s.c)
		p := wideProduct{flags: flags, groups: 2 * len(regB)}
		for i := range p.d {
			p.d[i], p.c[i] = &nobody, &noWords
			if i < len(regD) {
				p.d[i], p.c[i] = &r.R32[regD[i]], &r.R32[regC[i]]
			}
		}
		for i := range p.a {
			p.a[i] = &noWords
		}
		for g, reg := range regB {
			nibbles(&right[2*g&3], &right[(2*g+1)&3], &r.R32[reg], flags&flagSignedB != 0)
			p.b[2*g&3], p.b[(2*g+1)&3] = &right[2*g&3], &right[(2*g+1)&3]
		}
		for n, reg := range regA {
			g, half := n, 0 // of the group, upper or lower rows
			if s.rows == 16 {
				g, half = n>>1, n&1
			}
			even, odd := (4*g+half)&7, (4*g+half+2)&7
			nibbles(&left[even], &left[odd], &r.R32[reg], flags&flagSignedA != 0)
			p.a[even], p.a[odd] = &left[even], &left[odd]
		}
		productOfBytes(&p)
	}
}

// nibbles takes the numbers of 4 bits of a register apart into bytes.
func nibbles(even, odd, x *[Lanes]uint32, signed bool) {
	sign := uint32(0)
	if signed {
		sign = 0x08080808
	}
	for l, w := range x {
		e, o := (w&0x0f0f0f0f)^sign, (w>>4&0x0f0f0f0f)^sign
		even[l] = ((e | 0x80808080) - sign) ^ 0x80808080 // bytes do not borrow from each other
		odd[l] = ((o | 0x80808080) - sign) ^ 0x80808080
	}
}

func (s mmaShape) wideDoubles(r *Regs, v []int32) {
	regD, regA, regB, regC := s.split(v, s.c)
	p := wideDoubles{groups: len(regB)}
	for i, reg := range regD {
		p.d[i&3], p.c[i&3] = &r.R64[reg], &r.R64[regC[i]]
	}
	for i, reg := range regB {
		p.b[i&3] = &r.R64[reg]
	}
	for i, reg := range regA {
		if s.rows == 8 {
			i *= 2
		}
		p.a[i&7] = &r.R64[reg]
	}
	if s.rows == 16 {
		p.flags = flagLower
	}
	productOfDoubles(&p)
}
