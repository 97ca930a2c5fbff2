package assay_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated parts of the documents again")

// mapDocument shows the packages, and follows a request and a transaction through the code.
const mapDocument = "docs/architecture.md"

const (
	mapBegin = "<!-- packages:begin, written by go test . -run TestArch_Map -update -->\n"
	mapEnd   = "<!-- packages:end -->\n"
)

// TestArch_Map checks that the table of packages in docs/architecture.md says what the package comments and the import
// rules say. With -update it writes the table.
func TestArch_Map(t *testing.T) {
	t.Parallel()
	text := readFile(t, mapDocument)
	before, rest, okBegin := strings.Cut(text, mapBegin)
	_, after, okEnd := strings.Cut(rest, mapEnd)
	if !okBegin || !okEnd {
		t.Fatalf("%s lacks the lines %q and %q", mapDocument, mapBegin, mapEnd)
	}
	want := before + mapBegin + packageTable(readPackages(t)) + mapEnd + after
	if text == want {
		return
	}
	if !*update {
		t.Fatalf("the table in %s is not current; write it with: go test . -run TestArch_Map -update", mapDocument)
	}
	if err := os.WriteFile(mapDocument, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// packageTable is the table of packages: the first sentence of each comment, and the import rule with its reason.
func packageTable(found map[string]*pkg) string {
	var b strings.Builder
	b.WriteString("\n| Package | What it does | May import | Because |\n|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(found)) {
		p := found[name]
		row, _ := p.rule()
		may, why := importList(packages[row].may), packages[row].why
		if row != name {
			may, why = "`"+row+"` and what it may", "part of `"+row+"`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", shownName(name), p.synopsis(), may, why)
	}
	b.WriteString("\n")
	return b.String()
}

// synopsis is the first sentence of the package comment, without its subject and its period.
func (p *pkg) synopsis() string {
	at := slices.IndexFunc(p.files, isDocumented)
	if at < 0 {
		return ""
	}
	words := strings.Fields(new(doc.Package).Synopsis(p.files[at].Doc.Text()))
	return strings.TrimSuffix(strings.Join(words[2:], " "), ".")
}

func importList(may string) string {
	switch may {
	case everyone:
		return "all"
	case "":
		return "–"
	}
	names := strings.Fields(may)
	for i, name := range names {
		names[i] = strings.TrimPrefix(shownName(name), "`internal/")
		if names[i] != shownName(name) {
			names[i] = "`" + names[i]
		}
	}
	return strings.Join(names, ", ")
}

func shownName(name string) string {
	if name == "." {
		return "root"
	}
	return "`" + name + "`"
}

// step is a line of a walk in docs/architecture.md: its number, a function and the file that has it.
var step = regexp.MustCompile("(?m)^([0-9]+)\\. `([^`]+)` in \\[`([^`]+)`\\]")

// TestArch_Walks checks that the functions that the walks through the code name exist in the files they name, and that
// the walks are short enough to follow.
func TestArch_Walks(t *testing.T) {
	t.Parallel()
	text := readFile(t, mapDocument)
	f := func(section string, most int) {
		t.Run(section, func(t *testing.T) {
			t.Parallel()
			checkWalk(t, text, section, most)
		})
	}
	f("A request, from socket to bytes", 12)
	f("A transaction, from file to reader", 20)
}

func checkWalk(t *testing.T, text, section string, most int) {
	t.Helper()
	_, rest, ok := strings.Cut(text, "\n## "+section+"\n")
	if !ok {
		t.Fatalf("%s has no such section", mapDocument)
	}
	body, _, _ := strings.Cut(rest, "\n## ")
	steps := step.FindAllStringSubmatch(body, -1)
	if len(steps) == 0 || len(steps) > most {
		t.Errorf("%d steps; 1 to %d are allowed", len(steps), most)
	}
	for i, s := range steps {
		if s[1] != strconv.Itoa(i+1) {
			t.Errorf("step %s should be %d", s[1], i+1)
		}
		if !slices.Contains(functions(t, s[3]), s[2]) {
			t.Errorf("%s has no function %s", s[3], s[2])
		}
	}
}

// functions lists the functions of a Go file, methods as Type.Method.
func functions(t *testing.T, file string) (names []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return nil
	}
	for _, declared := range parsed.Decls {
		if function, ok := declared.(*ast.FuncDecl); ok {
			names = append(names, receiver(function)+function.Name.Name)
		}
	}
	return names
}

// receiver is the type of a method's receiver with a dot, and empty for a plain function.
func receiver(function *ast.FuncDecl) string {
	if function.Recv == nil {
		return ""
	}
	typ := function.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if generic, ok := typ.(*ast.IndexExpr); ok {
		typ = generic.X
	}
	if ident, ok := typ.(*ast.Ident); ok {
		return ident.Name + "."
	}
	return ""
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
