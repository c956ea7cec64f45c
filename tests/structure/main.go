// Command structure prints what the house is made of: lines of code by folder, exported names that no other package's product code uses, and
// receivers with many methods.
//
//	go run ./tests/structure [-names] [-most 100]
//
// It runs in the root of the repository. With -most it fails where more names than that are exported for nobody.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
)

// manyMethods is how many methods a receiver may have before it is listed.
const manyMethods = 40

func main() {
	list := flag.Bool("names", false, "list the exported names that no other package's product code uses")
	most := flag.Int("most", -1, "fail where there are more of these names")
	flag.Parse()
	if err := run(os.Stdout, *list, *most); err != nil {
		fmt.Fprintln(os.Stderr, "structure:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, list bool, most int) error {
	lines, err := countLines(".")
	if err != nil {
		return err
	}
	printLines(out, lines)
	packages, err := load(".")
	if err != nil {
		return err
	}
	templates, err := inTemplates(".")
	if err != nil {
		return err
	}
	names := exported(packages, templates)
	unused := printNames(out, names, list)
	printReceivers(out, packages)
	if most >= 0 && unused > most {
		return fmt.Errorf("%d exported names are used by no other package's product code, at most %d may be: -names lists them", unused, most)
	}
	return nil
}

func printLines(out io.Writer, folders []folder) {
	fmt.Fprint(out, "Lines of code, without blank lines, comments, generated files and generators\n\n")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "folder\tproduct\ttests\t")
	sums := map[string][2]int{}
	for _, f := range folders {
		fmt.Fprintf(w, "%s\t%d\t%d\t\n", f.name, f.product, f.tests)
		for language, n := range f.languages {
			s := sums[language]
			sums[language] = [2]int{s[0] + n[0], s[1] + n[1]}
		}
	}
	for _, language := range languages {
		fmt.Fprintf(w, "all in %s\t%d\t%d\t\n", language.name, sums[language.name][0], sums[language.name][1])
	}
	w.Flush()
}

// printNames prints how many names each package exports for nobody, and returns how many that are.
func printNames(out io.Writer, names []name, list bool) int {
	byKind, byPackage, unused := map[string][2]int{}, map[string]int{}, 0
	var packages []string
	for _, n := range names {
		k := byKind[n.kind]
		k[1]++
		if !n.used {
			k[0]++
			unused++
			if byPackage[n.room]++; byPackage[n.room] == 1 {
				packages = append(packages, n.room)
			}
		}
		byKind[n.kind] = k
	}
	fmt.Fprintf(out, "\nExported names that no other package's product code uses: %d of %d\n\n", unused, len(names))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, kind := range kinds {
		fmt.Fprintf(w, "%s\t%d of %d\t\n", kind, byKind[kind][0], byKind[kind][1])
	}
	for _, p := range packages {
		fmt.Fprintf(w, "%s\t%d\t\n", p, byPackage[p])
	}
	w.Flush()
	for _, n := range names {
		if list && !n.used {
			fmt.Fprintln(out, n.kind, n.room+"."+n.name)
		}
	}
	return unused
}

func printReceivers(out io.Writer, packages []*room) {
	fmt.Fprintf(out, "\nReceivers with more than %d methods\n\n", manyMethods)
	for _, r := range receivers(packages) {
		fmt.Fprintf(out, "  %s.%s: %d\n", r.room, r.name, r.methods)
	}
}
