package ptx

import "slices"

// VideoNames are the video instructions. Their operands may be parts of registers.
var VideoNames = []string{
	"vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vmad", "vset",
	"vadd2", "vsub2", "vavrg2", "vabsdiff2", "vmin2", "vmax2", "vset2", "vadd4", "vsub4", "vavrg4", "vabsdiff4", "vmin4", "vmax4", "vset4",
}

// IsVideo reports whether a name is that of a video instruction.
func IsVideo(name string) bool {
	return len(name) > 3 && name[0] == 'v' && slices.Contains(VideoNames, name)
}

// part reads which part of a register a video instruction means, such as b0, h1 or b3210; "" what follows is none.
func (p *parser) part() string {
	end := p.pos + 1
	for end < len(p.text) && end < p.pos+6 && (p.text[end] >= '0' && p.text[end] <= '7' || end == p.pos+1 && (p.text[end] == 'b' || p.text[end] == 'h')) {
		end++
	}
	text := p.text[p.pos+1 : end]
	if len(text) < 2 || text[0] != 'b' && text[0] != 'h' {
		return ""
	}
	p.pos = end
	return p.intern(string(text))
}
