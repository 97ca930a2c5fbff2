package assay_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/assaydata/assay"

// everyone is the import list of the one place that may know all rooms.
const everyone = "everyone"

// rooms says which packages of ours each package may import, and why no others. The root is "."; a folder inside a room
// may import the room and what the room may.
var rooms = map[string]struct {
	may string
	why string
}{
	".":                        {"", "the vocabulary: whatever it imported, everybody would"},
	"internal/index":           {".", "the numbers must be recomputable from transactions alone"},
	"internal/appendonly":      {"", "a list for immutable values, of any type"},
	"internal/family":          {". internal/appendonly", "what all data families have in common depends on none of them"},
	"internal/registry":        {". internal/coding internal/family internal/memory internal/sites internal/tokens", "the list of data families; they are pure, so the list is"},
	"internal/memory":          {". internal/family internal/index", "prices of memory stand at the fixing of the index, and change is reckoned as there"},
	"internal/coding":          {". internal/family internal/index", "values must be recomputable from what the sources reported alone"},
	"internal/tokens":          {". internal/family internal/index", "token prices and workload costs must be recomputable from observations and the methodology alone"},
	"internal/access":          {".", "who may see what is a function of its arguments, to be read and tested as one"},
	"internal/snapshot":        {". internal/appendonly internal/family internal/registry", "the read model is memory; where its points come from is the business of live"},
	"internal/sites":           {". internal/family", "what a list of sites answers depends on that list and the question only"},
	"internal/limit":           {"", "a limiter counts keys of any type; it has no word of ours in it"},
	"internal/store":           {".", "the database keeps what others compute and decides nothing itself"},
	"internal/store/storetest": {". internal/store tools/process tools/relay tools/testenv", "tests of the store need servers that they can stop"},
	"internal/keys":            {". internal/access internal/store", "a key is checked in memory, and the store tells when keys change"},
	"internal/account":         {". internal/access internal/keys internal/store", "people are looked up in memory, and the store tells when anything about them changes"},
	"internal/ingest":          {". internal/family internal/registry internal/store", "rows come in whether or not anybody computes, serves or follows"},
	"internal/live":            {". internal/family internal/registry internal/snapshot internal/store", "it carries points from the store into the snapshot, and computes none"},
	"internal/proof":           {".", "what is hashed and signed must be checkable with nothing else at hand"},
	"internal/publish":         {". internal/index internal/proof internal/store", "it writes for readers that may be other processes, so it knows none of them"},
	"internal/verify":          {". internal/index internal/proof internal/publish internal/store", "it recomputes what was published with the publisher's code"},
	"internal/backtest":        {". internal/index internal/publish internal/store", "it computes what would have been published, and proves nothing"},
	"internal/demo":            {". internal/coding internal/ingest internal/memory internal/publish internal/sites internal/store internal/tokens", "a synthetic market goes in by the same door as a real feed"},
	"internal/dashboard":       {"", "the pages are files, and read the API like any other program"},
	"internal/oidc":            {".", "whoever signs in elsewhere is nobody here yet"},
	"internal/usage":           {". internal/store", "it counts what it is told, and knows neither callers nor routes"},
	"internal/httpapi":         {". internal/access internal/account internal/coding internal/dashboard internal/family internal/index internal/keys internal/limit internal/limit/sharedlimit internal/memory internal/oidc internal/proof internal/sites internal/snapshot internal/tokens internal/usage", "answers come from memory"},
	"tools/relay":              {"", "it relays bytes between any two programs"},
	"tools/report":             {"", "it writes figures into documents, whatever they measure"},
	"tools/testenv":            {"", "tests of any package ask it which servers they may use"},
	"tools/process":            {"", "it runs any program"},
	"tools/bench":              {"tools/process tools/report", "it measures the program from outside, as it measures nginx or psql"},
	"tools/drill":              {"tools/process tools/relay tools/report", "it breaks the servers that the program depends on, from outside"},
	"cmd/assay":                {everyone, "the command ties the rooms together"},
}

// never says why httpapi keeps away from rooms that would be tempting. keys imports the store for its own refresh, which
// no request waits for; so this is about what httpapi itself can call.
var never = map[string]string{
	"internal/store":    "a read never waits for the database",
	"internal/ingest":   "the API only reads",
	"internal/publish":  "a request must not be able to make a value",
	"internal/verify":   "proving takes a while, and is the work of a command",
	"internal/backtest": "so does a backtest",
	"internal/live":     "the holder is all that the follower and the server share",
	"internal/demo":     "the server does not know made-up data from real but by the snapshot's mark",
}

// pure says which standard packages the rooms without side effects leave alone, and why.
var pure = map[string]string{
	"database/sql": "the database belongs to store",
	"net/http":     "HTTP belongs to httpapi",
	"os":           "files and the environment belong to cmd/assay and store",
}

var pureRooms = []string{
	"internal/index", "internal/appendonly", "internal/family", "internal/registry", "internal/memory", "internal/coding", "internal/tokens", "internal/sites", "internal/proof", "internal/access", "internal/snapshot", "internal/limit",
}

// clock is what of package time reads the clock or waits for it.
var clock = []string{"Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Sleep"}

// room is one package of the module, without its tests.
type room struct {
	name    string
	imports []string
	files   []*ast.File
}

// readRooms parses the module. The test reads the files itself instead of asking the go command: so the cache of test
// results sees what was read, and files for other systems count too.
func readRooms(t *testing.T) map[string]*room {
	t.Helper()
	found := map[string]*room{}
	tree := os.DirFS(".")
	err := fs.WalkDir(tree, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skipFolder(tree, file)
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		name := path.Dir(file)
		if found[name] == nil {
			found[name] = &room{name: name}
		}
		found[name].add(t, parsed)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// skipFolder keeps the walk inside this module's packages.
func skipFolder(tree fs.FS, folder string) error {
	if folder == "." {
		return nil
	}
	_, err := fs.Stat(tree, path.Join(folder, "go.mod"))
	base := path.Base(folder)
	if err == nil || base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".") {
		return fs.SkipDir
	}
	return nil
}

func (r *room) add(t *testing.T, file *ast.File) {
	t.Helper()
	r.files = append(r.files, file)
	for _, spec := range file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		r.imports = append(r.imports, name)
	}
}

// ours gives the imports that are packages of this module, named like rooms.
func (r *room) ours() (names []string) {
	for _, name := range r.imports {
		if name == module {
			names = append(names, ".")
		} else if inside, ok := strings.CutPrefix(name, module+"/"); ok {
			names = append(names, inside)
		}
	}
	return names
}

// rule is the row of the table for a package, and the room it stands in.
func (r *room) rule() (row string, ok bool) {
	for row = r.name; row != "."; row = path.Dir(row) {
		if _, ok := rooms[row]; ok {
			return row, true
		}
	}
	return row, r.name == "."
}

func TestArch_Arrows(t *testing.T) {
	found := readRooms(t)
	for _, name := range slices.Sorted(maps.Keys(found)) {
		r := found[name]
		row, ok := r.rule()
		if !ok {
			t.Errorf("%s is in no room: give it a row in the table, with a reason", name)
			continue
		}
		rule := rooms[row]
		allowed := strings.Fields(rule.may)
		if name != row {
			allowed = append(allowed, row)
		}
		for _, dep := range r.ours() {
			if rule.may != everyone && !slices.Contains(allowed, dep) {
				t.Errorf("%s imports %s; it may import [%s], because: %s", name, dep, rule.may, rule.why)
			}
		}
	}
	for name := range rooms {
		if found[name] == nil {
			t.Errorf("%s stands in the table and is gone from the module", name)
		}
	}
}

func TestArch_ReadsNeverWaitForTheDatabase(t *testing.T) {
	found := readRooms(t)
	for dep, why := range never {
		if found[dep] == nil {
			t.Errorf("%s is gone from the module: name the room that took its place", dep)
		}
		if slices.Contains(found["internal/httpapi"].ours(), dep) {
			t.Errorf("httpapi imports %s; it must not: %s", dep, why)
		}
	}
}

// testHelpers are the packages under internal that only tests import.
var testHelpers = []string{"internal/store/storetest"}

func TestArch_TheProductDoesNotImportTools(t *testing.T) {
	for name, r := range readRooms(t) {
		if strings.HasPrefix(name, "tools/") || slices.Contains(testHelpers, name) {
			continue
		}
		for _, dep := range r.ours() {
			if strings.HasPrefix(dep, "tools/") || slices.Contains(testHelpers, dep) {
				t.Errorf("%s imports %s; only tools and tests may: internal/ and cmd/ are the product", name, dep)
			}
		}
	}
}

func TestArch_RootIsStandardLibraryOnly(t *testing.T) {
	for _, name := range readRooms(t)["."].imports {
		if first, _, _ := strings.Cut(name, "/"); strings.Contains(first, ".") {
			t.Errorf("the root imports %s; clients import the root and should get nothing else with it", name)
		}
	}
}

func TestArch_PureRooms(t *testing.T) {
	found := readRooms(t)
	for _, name := range pureRooms {
		for _, dep := range found[name].imports {
			if why, bad := pure[dep]; bad {
				t.Errorf("%s imports %s; it must not: %s", name, dep, why)
			}
		}
		for _, file := range found[name].files {
			for _, call := range clockCalls(file) {
				t.Errorf("%s uses time.%s; it must not: now is an argument, so that tests are arithmetic", name, call)
			}
		}
	}
}

// clockCalls lists the uses of the clock in a file, by whatever name it imports package time.
func clockCalls(file *ast.File) (calls []string) {
	name := "time"
	for _, spec := range file.Imports {
		if spec.Path.Value == `"time"` && spec.Name != nil {
			name = spec.Name.Name
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok && slices.Contains(clock, selector.Sel.Name) {
			if pkg, ok := selector.X.(*ast.Ident); ok && pkg.Name == name {
				calls = append(calls, selector.Sel.Name)
			}
		}
		return true
	})
	return calls
}

func TestArch_EveryPackageHasADocument(t *testing.T) {
	for name, r := range readRooms(t) {
		if !slices.ContainsFunc(r.files, isDocumented) {
			t.Errorf("%s has no comment that begins with Package or, for a program, Command and its name", name)
		}
	}
}

func isDocumented(file *ast.File) bool {
	begin := "Package " + file.Name.Name + " "
	if file.Name.Name == "main" {
		begin = "Command "
	}
	return strings.HasPrefix(file.Doc.Text(), begin)
}

func TestArch_NoReplaceInGoMod(t *testing.T) {
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if found := regexp.MustCompile(`(?m)^\s*replace\b.*`).Find(text); found != nil {
		t.Errorf("go.mod has %q: whoever installs the program by its name would build something else", found)
	}
}
