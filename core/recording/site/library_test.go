package site

import "testing"

func placed(file string, line uint32) Frame { return Frame{Function: "k", File: file, Line: line} }

func TestTheUsersLineNamesASite(t *testing.T) {
	library, user, caller := placed("/x/triton/language/standard.py", 314), placed("/home/me/k.py", 12), placed("/home/me/k.py", 40)
	for name, c := range map[string]struct {
		chain     []Frame
		libraries []string
		want      int
	}{
		"in a library":                   {[]Frame{library, user}, nil, 1},
		"a helper of the user's":         {[]Frame{user, caller}, nil, 0},
		"a library in a helper":          {[]Frame{library, library, user, caller}, nil, 2},
		"windows":                        {[]Frame{placed(`C:\py\triton\language\math.py`, 3), user}, nil, 1},
		"inductor's runtime":             {[]Frame{placed("/x/torch/_inductor/runtime/triton_helpers.py", 3), user}, nil, 1},
		"a name that only looks like it": {[]Frame{placed("/x/mytriton/language/math.py", 3), user}, nil, 0},
		"a header of CUDA":               {[]Frame{placed("/x/include/surface_indirect_functions.h", 206), user}, nil, 1},
		"one of its folders":             {[]Frame{placed("/x/include/cooperative_groups/details/sync.h", 9), user}, nil, 1},
		"a library alone":                {[]Frame{library, placed("/x/triton/language/core.py", 9)}, nil, 1},
		"a caller without a line":        {[]Frame{library, placed("/home/me/k.py", 0)}, nil, 0},
		"no libraries":                   {[]Frame{library, user}, []string{"none"}, 0},
		"one more by name":               {[]Frame{user, placed("/home/me/main.py", 2)}, []string{"k.py"}, 1},
		"one more by folder":             {[]Frame{user, placed("/srv/main.py", 2)}, []string{"home/me"}, 1},
		"one more by glob":               {[]Frame{user, placed("/srv/main.py", 2)}, []string{"/home/*/k.py"}, 1},
		"one more, and those known":      {[]Frame{library, user, placed("/srv/main.py", 2)}, []string{"k.py"}, 2},
		"nothing known":                  {nil, nil, 0},
	} {
		table := NewTable([]Site{{Chain: c.chain}})
		if c.libraries != nil {
			table = table.WithLibraries(c.libraries)
		}
		s, want := table.At(0), Frame{}
		if len(c.chain) > 0 {
			want = c.chain[c.want]
		}
		if s.Shown() != want || len(s.Inside()) != c.want {
			t.Errorf("%s: got %v with %d frames inside, want %v with %d", name, s.Shown(), len(s.Inside()), want, c.want)
		}
	}
}

func TestATableWithLibrariesLeavesTheOtherAsItWas(t *testing.T) {
	one := NewTable([]Site{{ID: 7, Key: 9, Chain: []Frame{placed("/x/triton/language/standard.py", 1), placed("k.py", 2)}}})
	two := one.WithLibraries([]string{noLibrary})
	if got := FormatLocation(one.At(0)); got != "k.py:k:2:0" {
		t.Errorf("the first table names %s, want k.py:k:2:0", got)
	}
	if got := FormatLocation(two.At(0)); got != "/x/triton/language/standard.py:k:1:0" {
		t.Errorf("the second table names %s, want the line of the library", got)
	}
	if i, ok := two.ByKey(9); !ok || i != 0 {
		t.Errorf("the second table does not find key 9: %d, %t", i, ok)
	}
}
