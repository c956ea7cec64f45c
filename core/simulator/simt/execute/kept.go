package execute

import "encoding/binary"

// keepPointers lets later launches follow the pointers that a kernel left in variables of its module. They hold the addresses of this launch, in
// which arrays are numbered as they were passed; where arrays stand from launch to launch they become addresses of the process, which
// every launch understands.
func (r *Running) keepPointers() {
	for i := range r.Variables.list {
		v := &r.Variables.list[i]
		if v.constant {
			continue
		}
		for at := 0; at+8 <= len(v.bytes); at += 8 {
			word := v.bytes[at : at+8]
			if host, ok := r.Global.InProcess(binary.LittleEndian.Uint64(word)); ok {
				binary.LittleEndian.PutUint64(word, host)
			}
		}
	}
}
