package llir

import (
	"strings"
	"testing"

	"github.com/prlx-go/prlx/core/recording/site"
)

// TestBarriersAreSitesWhereTheyAreAskedFor, of both kinds of GPU; one that only says that a warp has come is none.
func TestBarriersAreSitesWhereTheyAreAskedFor(t *testing.T) {
	for call, want := range map[string]bool{
		"tail call void @llvm.nvvm.barrier0()":                             true,
		"tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)":    true,
		"tail call void @llvm.amdgcn.s.barrier()":                          true,
		"tail call void @llvm.amdgcn.s.barrier.wait(i16 -1)":               true,
		"tail call void @llvm.amdgcn.s.barrier.signal(i32 -1)":             false,
		"tail call void @llvm.nvvm.bar.warp.sync(i32 -1)":                  false,
		`tail call void asm sideeffect "st.shared.b32 [$0], $1;", "r,r"()`: false,
	} {
		text := strings.Replace(small, "  %7 = icmp", "  "+call+", !dbg !7\n  %7 = icmp", 1)
		for _, asked := range []bool{true, false} {
			made := Instrument(text, Options{Barriers: asked})
			if made.Warning != "" {
				t.Fatalf("%s: %s", call, made.Warning)
			}
			found := 0
			for i := range made.Sites {
				if made.Sites[i].Kind == site.Barrier {
					found++
				}
			}
			if (found == 1) != (want && asked) || found > 1 {
				t.Errorf("%s, asked for: %v: %d sites", call, asked, found)
			}
			lines := strings.Split(made.Text, "\n")
			for n, line := range lines {
				if found == 1 && strings.Contains(line, call) && !strings.Contains(lines[n-1], "@prlx_record") {
					t.Errorf("%s: in front of it stands %s", call, lines[n-1])
				}
			}
			want := strings.Replace(text, "ptr addrspace(1) nofree readnone captures(none) %4)", "ptr addrspace(1) %4)", 1)
			if plain := withoutOurs(made.Text); plain != want {
				t.Errorf("%s: more was changed than calls of the recorder:\n%s", call, plain)
			}
		}
	}
}
