package simt

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// wide is a register of 16, 32 or 64 bits as the manual's tables know it.
var wide = []int{16, 32, 64}

func bitsOfType(t string) int {
	n, _ := strconv.Atoi(strings.TrimLeft(t, "busf"))
	return n
}

// chop is the value of the low bits of a register, as an integer of a type.
func chop(v uint64, t string) (value int64, unsigned uint64) {
	shift := 64 - bitsOfType(t)
	if t[0] == 's' {
		value = int64(v<<shift) >> shift
		return value, uint64(value)
	}
	return int64(v << shift >> shift), v << shift >> shift
}

// extended is a value of a type in a register of some bits.
func extended(v uint64, t string, register int) uint64 {
	_, v = chop(v, t)
	return v << (64 - register) >> (64 - register)
}

// saturated is a value of one type, limited to what another one holds.
func saturated(v uint64, from, to string) uint64 {
	signed, unsigned := chop(v, from)
	bits := bitsOfType(to)
	low, high := int64(0), uint64(math.MaxUint64)>>(64-bits)
	if to[0] == 's' {
		low, high = math.MinInt64>>(64-bits), high>>1
	}
	switch {
	case from[0] == 's' && signed < 0:
		return uint64(max(signed, low))
	default:
		return min(unsigned, high)
	}
}

// widthCase is one instruction with what it should leave in its register.
type widthCase struct {
	text string // %D is the result, %S the source
	d, s int    // bits of the registers
	want func(v uint64) uint64
}

var integerTypes = []string{"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"}

// conversions are all conversions between integers, with registers of every width that fits.
func widthConversions() (list []widthCase) {
	for _, to := range integerTypes {
		for _, from := range integerTypes {
			for _, d := range wide {
				for _, s := range wide {
					if d < bitsOfType(to) || s < bitsOfType(from) {
						continue
					}
					list = append(list, widthCase{fmt.Sprintf("cvt.%s.%s %%D, %%S;", to, from), d, s, func(v uint64) uint64 {
						_, v = chop(v, from)
						return extended(v, to, d)
					}}, widthCase{fmt.Sprintf("cvt.sat.%s.%s %%D, %%S;", to, from), d, s, func(v uint64) uint64 {
						return extended(saturated(v, from, to), to, d)
					}})
				}
			}
		}
		for _, r := range wide { // floats have registers of their size, or of more bits
			for _, float := range []struct {
				name string
				bits int
				as   func(uint64) float64
			}{
				{"f32", 32, func(v uint64) float64 { return float64(math.Float32frombits(uint32(v))) }},
				{"f64", 64, math.Float64frombits},
			} {
				if r < bitsOfType(to) {
					continue
				}
				for _, s := range wide {
					if s < float.bits {
						continue
					}
					list = append(list, widthCase{fmt.Sprintf("cvt.rzi.%s.%s %%D, %%S;", to, float.name), r, s, func(v uint64) uint64 {
						return extended(truncated(float.as(v), to), to, r)
					}})
				}
			}
		}
		for _, d := range []int{32, 64} { // what 16 bits hold, singles hold exactly
			for _, s := range wide {
				if s < bitsOfType(to) || bitsOfType(to) > 16 {
					continue
				}
				list = append(list, widthCase{fmt.Sprintf("cvt.rn.f32.%s %%D, %%S;", to), d, s, func(v uint64) uint64 {
					signed, _ := chop(v, to)
					return uint64(math.Float32bits(float32(signed)))
				}})
			}
		}
	}
	return list
}

// truncated is a float as an integer of a type, limited to what that holds; NaN is 0.
func truncated(v float64, t string) uint64 {
	low, high := 0.0, math.Ldexp(1, bitsOfType(t))
	if t[0] == 's' {
		low, high = -high/2, high/2
	}
	switch v = math.Trunc(v); {
	case v != v && bitsOfType(t) == 64:
		return 1 << 63
	case v != v:
		return 0
	case v >= high:
		return saturated(math.MaxUint64>>1|uint64(map[bool]int64{true: 0, false: math.MinInt64}[t[0] == 's']), "u64", t)
	case v < low:
		return uint64(int64(low))
	case v >= math.MaxInt64:
		return uint64(v)
	}
	return uint64(int64(v))
}

// memoryCases are loads and stores of every type with registers of every width that fits: %M is an address, %P a parameter.
func widthMemory() (list []widthCase) {
	for _, t := range append([]string{"b8", "b16", "b32", "b64", "f32", "f64"}, integerTypes...) {
		for _, r := range wide {
			if r < bitsOfType(t) {
				continue
			}
			load := func(v uint64) uint64 { return extended(v, t, r) }
			for _, where := range []string{"global", "shared", "local"} {
				list = append(list,
					widthCase{fmt.Sprintf("st.%s.b64 [%%M], %%S;\n\tld.%s.%s %%D, [%%M];", where, where, t), r, 64, load},
					widthCase{
						fmt.Sprintf("st.%s.b64 [%%M], %%Z;\n\tst.%s.%s [%%M], %%S;\n\tld.%s.b64 %%D, [%%M];", where, where, t, where), 64, r,
						func(v uint64) uint64 { return v << (64 - bitsOfType(t)) >> (64 - bitsOfType(t)) },
					})
			}
			list = append(list,
				widthCase{fmt.Sprintf("{\n\t.param .align 8 .b8 to[8];\n\t.param .align 8 .b8 back[8];\n\tst.param.b64 [to], %%S;\n\tcall (back), same, (to);\n\tld.param.%s %%D, [back];\n\t}", t), r, 64, load},
				widthCase{
					fmt.Sprintf("{\n\t.param .align 8 .b8 to[8];\n\t.param .align 8 .b8 back[8];\n\tst.param.b64 [to], %%Z;\n\tst.param.%s [to], %%S;\n\tcall (back), same, (to);\n\tld.param.b64 %%D, [back];\n\t}", t),
					64, r, func(v uint64) uint64 { return v << (64 - bitsOfType(t)) >> (64 - bitsOfType(t)) },
				},
				widthCase{fmt.Sprintf("ld.param.%s %%D, [n];", t), r, 64, func(uint64) uint64 { return load(widthParameter) }})
		}
	}
	return list
}

const widthParameter = 0xf1e2d3c4b5a69788

// widthKernel runs an instruction in every lane with a value of its own. The bits of its result beyond its register are seen too.
func widthKernel(c *widthCase) string {
	name := func(bits int, n int) string { return fmt.Sprintf("%%q%d_%d", bits, n) }
	text := strings.NewReplacer("%D", name(c.d, 1), "%S", name(c.s, 2), "%M", "%place", "%Z", "%zero").Replace(c.text)
	place := "\tadd.s64 %place, %out, 8;\n"
	switch {
	case strings.Contains(text, ".shared"):
		place = "\tmov.u64 %place, tile;\n\tmul.wide.u32 %offset, %t, 8;\n\tadd.s64 %place, %place, %offset;\n"
	case strings.Contains(text, ".local"):
		place = "\tmov.u64 %place, frame;\n"
	}
	source := map[int]string{16: "\tmov.b64 {%q16_2, %h1, %h2, %h3}, %v;\n", 32: "\tmov.b64 {%q32_2, %w1}, %v;\n", 64: "\tmov.b64 %q64_2, %v;\n"}[c.s]
	result := map[int]string{16: "\tmov.b64 %v, {%q16_1, %hz, %hz, %hz};\n", 32: "\tmov.b64 %v, {%q32_1, %wz};\n", 64: "\tmov.b64 %v, %q64_1;\n"}[c.d]
	return `.version 8.0
.target sm_80
.address_size 64
.func (.param .align 8 .b8 result[8]) same(.param .align 8 .b8 x[8])
{
	.reg .b64 %v;
	ld.param.b64 %v, [x];
	st.param.b64 [result], %v;
	ret;
}
.visible .entry k(.param .u64 out, .param .b64 n)
{
	.reg .b16 %q16_<3>, %h1, %h2, %h3, %hz;
	.reg .b32 %q32_<3>, %w1, %wz, %t;
	.reg .b64 %q64_<3>, %v, %out, %place, %offset, %zero;
	.shared .align 8 .b8 tile[256];
	.local .align 8 .b8 frame[8];
	ld.param.u64 %out, [out];
	mov.u32 %t, %tid.x;
	mul.wide.u32 %offset, %t, 16;
	add.s64 %out, %out, %offset;
	ld.global.b64 %v, [%out];
	mov.b64 %zero, 0;
	mov.b32 %wz, 0;
	mov.b16 %hz, 0;
` + place + source + "\t" + text + "\n" + result + "\tst.global.b64 [%out+8], %v;\n\tret;\n}\n"
}

// PTX lets registers be wider than the type of ld, st and cvt: the low bits of a source count, a result fills its register.
func TestRegistersWiderThanTheType(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	values := []uint64{0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0xff80, 0xffff8000, math.MaxInt64, 1 << 63, math.MaxUint64}
	for _, c := range append(widthConversions(), widthMemory()...) {
		data := make([]byte, 32*16)
		for l := range 32 {
			v := r.Uint64()
			if l < len(values) {
				v = values[l]
			}
			if strings.Contains(c.text, ".rzi.") { // floats of all sizes
				f := r.NormFloat64() * math.Ldexp(1, r.IntN(72)-4)
				if v = math.Float64bits(f); strings.Contains(c.text, "f32") {
					v = uint64(math.Float32bits(float32(f))) | r.Uint64()<<32
				}
			}
			binary.LittleEndian.PutUint64(data[16*l:], v)
		}
		source := append([]byte(nil), data...)
		p, err := Load(context.Background(), "k.ptx", []byte(widthKernel(&c)))
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		result, err := p.Run(nil, testLaunch(1, 32, data, widthParameter))
		if err != nil {
			t.Errorf("%s with registers of %d and %d bits: %v", c.text, c.d, c.s, err)
			continue
		}
		if len(result.Findings) > 0 {
			t.Errorf("%s: %+v", c.text, result.Findings)
		}
		for l := range 32 {
			v := binary.LittleEndian.Uint64(source[16*l:])
			if got, want := binary.LittleEndian.Uint64(data[16*l+8:]), c.want(v); got != want {
				t.Errorf("%s with registers of %d and %d bits: of %016x %016x, want %016x", c.text, c.d, c.s, v, got, want)
				break
			}
		}
	}
}

// A register that is narrower than the type, or another size where sizes must be equal, is refused.
func TestRegistersThatDoNotFitAreRefused(t *testing.T) {
	for _, text := range []string{
		"cvt.s64.s32 %r1, %r2;", "cvt.u32.u64 %r1, %r2;", "cvt.f64.f32 %rd1, %u1;", "cvt.rn.f32.s32 %u1, %r2;", "ld.global.b64 %r1, [%rd1];",
		"st.global.b64 [%rd1], %r1;", "ld.global.f32 %u1, [%rd1];", "ld.param.b64 %r1, [out];", "add.s32 %r1, %rd1, %r2;", "add.s64 %rd1, %r1, %rd2;",
		"setp.eq.s32 %p1, %rd1, %rd2;", "selp.b32 %rd1, %r1, %r2, %p1;", "mov.b32 %rd1, %r1;", "and.b64 %rd1, %r1, %rd2;", "shl.b32 %rd1, %r1, 2;",
		"atom.global.add.u32 %rd1, [%rd2], %rd3;", "shfl.sync.bfly.b32 %rd1, %rd2, 1, 31, -1;", "mul.wide.u32 %r1, %r2, %r3;", "popc.b32 %rd1, %r1;",
	} {
		body := ".visible .entry k(.param .u64 out, .param .u32 n)\n{\n\t.reg .pred %p<4>;\n\t.reg .b32 %r<4>;\n\t.reg .b64 %rd<4>;\n\t.reg .u64 %u<2>;\n\t" + text + "\n\tret;\n}\n"
		if err := mustLoad(t, preamble+body).Check("k"); err == nil {
			t.Errorf("%s was not refused", text)
		}
	}
}
