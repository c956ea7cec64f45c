package processor

// cpuid and xgetbv are the instructions of these names.
//
//go:noescape
func cpuid(leaf, sub uint32) (eax, ebx, ecx, edx uint32)

//go:noescape
func xgetbv() (eax, edx uint32)

// Bits of what cpuid and xgetbv say.
const (
	bitFMA     = 1 << 12 // leaf 1, ecx
	bitOSXSAVE = 1 << 27
	bitAVX     = 1 << 28
	bitF16C    = 1 << 29
	bitAVX2    = 1 << 5 // leaf 7, ebx
	bitsState  = 0b110  // xgetbv: the system keeps registers of 128 and of 256 bits
)

// HasAVX2 reports whether the processor and its system have vectors of 256 bits: AVX2, FMA and F16C.
func HasAVX2() bool {
	last, _, _, _ := cpuid(0, 0)
	if last < 7 {
		return false
	}
	const need = bitFMA | bitOSXSAVE | bitAVX | bitF16C
	if _, _, ecx, _ := cpuid(1, 0); ecx&need != need {
		return false
	}
	if state, _ := xgetbv(); state&bitsState != bitsState {
		return false
	}
	_, ebx, _, _ := cpuid(7, 0)
	return ebx&bitAVX2 != 0
}
