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

// everyone is the import list of the one package that may import all others.
const everyone = "everyone"

// packages says which packages of the module each package may import, and why no others. The root is "."; a package
// below another may import that one and what it may.
var packages = map[string]struct {
	may string // separated by spaces
	why string
}{
	".":                   {may: "", why: "the vocabulary: what it imported, every package would import"},
	"internal/index":      {may: ".", why: "the numbers must be recomputable from transactions alone"},
	"internal/appendonly": {may: "", why: "a list for immutable values, of any type"},
	"internal/family": {
		may: ". internal/appendonly internal/cache",
		why: "what all data families have in common depends on none of them",
	},
	"internal/registry": {
		may: ". internal/coding internal/family internal/memory internal/sites internal/tokens",
		why: "the list of data families; they are pure, so the list is",
	},
	"internal/memory": {
		may: ". internal/family internal/index",
		why: "memory prices use the fixing and the change of the index",
	},
	"internal/coding": {
		may: ". internal/family internal/index",
		why: "values must be recomputable from what the sources reported alone",
	},
	"internal/ln": {may: "", why: "logarithms depend on nothing but numbers"},
	"internal/tokens": {
		may: ". internal/family internal/index internal/ln",
		why: "values must be recomputable from observations and the methodology alone",
	},
	"internal/utilization": {
		may: ". internal/appendonly internal/family internal/index",
		why: "values must be recomputable from readings and the methodology alone",
	},
	"internal/access": {may: ".", why: "access is a function of its arguments"},
	"internal/snapshot": {
		may: ". internal/appendonly internal/cache internal/family internal/jsonrows internal/memfile internal/registry " +
			"internal/utilization",
		why: "the read model is memory; live decides where its points come from",
	},
	"internal/memfile":  {may: "", why: "a file holds bytes, whatever they are"},
	"internal/jsonrows": {may: ".", why: "rows and their compressed form depend on the points alone"},
	"internal/sites":    {may: ". internal/family", why: "a response depends only on the list of sites and the query"},
	"internal/limit":    {may: "", why: "a limiter counts keys of any type"},
	"internal/store": {
		may: ". internal/cache internal/latency internal/merkle internal/proof internal/tracing verifier",
		why: "the database stores what others compute and decides nothing; the log is hashed as it is written",
	},
	"internal/merkle": {may: "", why: "a tree over entries does not depend on what they say"},
	"internal/store/storetest": {
		may: ". internal/store tools/process tools/relay tools/testenv",
		why: "tests of the store need servers that they can stop",
	},
	"internal/keys": {
		may: ". internal/access internal/store",
		why: "a key is checked in memory; the store announces changes",
	},
	"internal/seal":   {may: "", why: "it seals bytes, whatever they are"},
	"internal/factor": {may: ".", why: "whether a factor is right follows from what is stored, what is given and the time"},
	"internal/account": {
		may: ". internal/access internal/factor internal/hasher internal/keys internal/limit internal/redact internal/seal " +
			"internal/store",
		why: "accounts are looked up in memory; the store announces changes",
	},
	"internal/hasher":              {may: "", why: "its process knows passwords, and nothing else"},
	"internal/disk":                {may: "", why: "it asks the system about a folder, whatever is in it"},
	"internal/doctor":              {may: "internal/disk internal/files", why: "a machine is examined without what runs on it"},
	"internal/tracing":             {may: "", why: "it times work, whatever is done"},
	"internal/tracing/tracingtest": {may: "", why: "a collector that judges our traces is made without our code"},
	"internal/linelog":             {may: ".", why: "it writes lines, whatever they say"},
	"internal/latency":             {may: "", why: "it counts durations, whatever takes them"},
	"internal/metrics": {
		may: ". internal/account internal/api internal/disk internal/index internal/keys internal/limit/sharedlimit " +
			"internal/linelog internal/notify internal/publish internal/push internal/snapshot internal/store internal/web",
		why: "it reads what the parts of a server know, and none of them knows it",
	},
	"internal/flatparquet": {may: "", why: "how a file is read does not depend on what is in it"},
	"internal/ingest": {
		may: ". internal/family internal/flatparquet internal/registry internal/store",
		why: "importing does not depend on computing, serving or following",
	},
	"internal/live": {
		may: ". internal/family internal/index internal/observed internal/registry internal/snapshot internal/store " +
			"internal/utilization",
		why: "it moves points from the store into the snapshot, and computes none",
	},
	"verifier": {may: "", why: "readers who trust no one use it in their own programs"},
	"client": {
		may: ". internal/httperror verifier",
		why: "programs of readers import it: what it needs of Assay is the vocabulary, the form of errors and the proof",
	},
	"internal/httperror": {may: ".", why: "the server writes errors and the client reads them, by one table"},
	"internal/fetch":     {may: "", why: "it sends requests, whatever they are about"},
	"internal/pin":       {may: "internal/fetch internal/files verifier", why: "it keeps keys of logs, for monitors and witnesses"},
	"internal/logtest":   {may: "", why: "a log that judges ours is made without our code"},
	"internal/anchor": {
		may: ". internal/fetch internal/proof", why: "a token is checked with nothing but what it is for",
	},
	"internal/certs":      {may: "", why: "which certificate a client gets does not depend on what is served"},
	"internal/certtest":   {may: "", why: "an authority that judges our certificates is made without our code"},
	"internal/anchortest": {may: "", why: "an authority that judges our requests is made without our code"},
	"internal/witness":    {may: ". internal/fetch internal/files verifier", why: "a witness knows nothing of a log but its checkpoints"},
	"internal/monitor": {
		may: "internal/fetch internal/files internal/merkle verifier", why: "it knows of a server what everyone can see",
	},
	"internal/proof": {may: ". verifier", why: "what is hashed and signed must be checkable with nothing else"},
	"internal/values": {
		may: ". internal/coding internal/family internal/index internal/memory internal/tokens internal/utilization",
		why: "values must be recomputable from observations and the methodology alone",
	},
	"internal/observed": {
		may: ". internal/family internal/index internal/registry internal/store internal/utilization",
		why: "it reads what sources reported, and computes nothing from it",
	},
	"internal/publish": {
		may: ". internal/index internal/observed internal/proof internal/store internal/tracing " +
			"internal/utilization internal/values verifier",
		why: "it writes for readers that may be other processes",
	},
	"internal/verify": {
		may: ". internal/anchor internal/family internal/files internal/index internal/merkle internal/observed internal/proof " +
			"internal/publish internal/registry internal/store internal/values verifier",
		why: "it recomputes what was published with the publisher's code",
	},
	"internal/backtest": {
		may: ". internal/index internal/observed internal/publish internal/store internal/tokens",
		why: "it computes what would have been published, of GPUs and of labs, and proves nothing",
	},
	"internal/demo": {
		may: ". internal/coding internal/family internal/ingest internal/memory internal/publish internal/registry " +
			"internal/sites internal/store internal/tokens",
		why: "a synthetic market is imported like a real feed",
	},
	"internal/dashboard": {may: "", why: "the pages are files that use the API like any other program"},
	"internal/oidc":      {may: ".", why: "an identity of a provider is not yet an account"},
	"internal/usage":     {may: ". internal/store", why: "it counts by id, and knows neither callers nor routes"},
	"internal/redact":    {may: "", why: "hiding keys in a text needs nothing but the text"},
	"internal/cache":     {may: "", why: "it keeps values of any type"},
	"internal/bulk":      {may: ". internal/cache", why: "which files there are follows from what changed when"},
	"internal/download": {
		may: ". client internal/bulk internal/files",
		why: "it knows of a server what the client reads, and trusts none of it before it was checked",
	},
	"internal/files": {may: "", why: "how a file is opened does not depend on what is in it"},
	"internal/http1": {may: "internal/memfile", why: "it serves any handler, and its fuzz test compares it with net/http alone"},
	"internal/table": {may: ".", why: "a table is made of the text of a response, whatever it is about"},
	"internal/web": {
		may: ". internal/access internal/cache internal/http1 internal/httperror internal/latency internal/limit " +
			"internal/limit/sharedlimit internal/memfile internal/push internal/redact internal/table " +
			"internal/tracing",
		why: "the transport knows no market data and cannot reach the database",
	},
	"internal/push": {may: "", why: "it sends events to connections, whatever they say"},
	"internal/events": {
		may: ". internal/access internal/family internal/snapshot internal/utilization",
		why: "every node must make the same events from its own snapshot, and from nothing else",
	},
	"internal/api": {
		may: ". internal/access internal/bulk internal/cache internal/coding internal/events internal/family internal/index " +
			"internal/limit/sharedlimit internal/memory internal/proof internal/push internal/redact internal/sites " +
			"internal/snapshot internal/table internal/tokens internal/utilization internal/values internal/web",
		why: "market data comes from memory",
	},
	"internal/alert":   {may: ".", why: "which alerts fire follows from what was published"},
	"internal/webhook": {may: "", why: "it sends bytes to an address, whatever they say"},
	"internal/mail":    {may: "", why: "it sends texts, whatever they say"},
	"internal/notify": {
		may: ". internal/access internal/account internal/alert internal/live internal/mail internal/redact internal/store " +
			"internal/webhook",
		why: "it connects alerts, which are pure, with the store and with those who receive messages",
	},
	"internal/links": {
		may: ". internal/access internal/account internal/redact internal/store",
		why: "a link is opened in memory; the store announces changes",
	},
	"internal/personal": {
		may: ". internal/redact internal/store",
		why: "what a reader keeps is read when its page is shown; nothing else depends on it",
	},
	"internal/chart": {may: ".", why: "a picture is made of points and words, whatever they are about"},
	"internal/share": {
		may: ". internal/access internal/api internal/chart internal/limit/sharedlimit internal/table internal/web",
		why: "what is shared comes from memory, through the routes of the API",
	},
	"internal/console": {
		may: ". internal/access internal/account internal/api internal/cache internal/factor internal/keys " +
			"internal/limit/sharedlimit internal/links internal/merkle internal/notify internal/oidc internal/personal " +
			"internal/proof internal/usage internal/web verifier",
		why: "it serves what may wait for the database, through the packages that know it",
	},
	"internal/intake": {
		may: ". internal/access internal/files internal/ingest internal/keys internal/proof internal/store " +
			"internal/tracing internal/web verifier",
		why: "it imports what arrives over HTTP or in a folder, and neither computes nor publishes",
	},
	"internal/natsqueue": {may: "internal/intake", why: "it delivers messages, whatever is in them"},
	"docs":               {may: "", why: "documents are texts"},
	"internal/mcp": {
		may: ". docs internal/access internal/api internal/web verifier",
		why: "tools call the routes of the API, and cannot reach what is behind them",
	},
	"internal/apitest": {
		may: ". internal/account internal/api internal/coding internal/console internal/dashboard internal/factor " +
			"internal/family internal/index internal/intake internal/keys internal/links internal/mcp internal/memory internal/notify " +
			"internal/personal internal/push internal/seal internal/share internal/sites internal/snapshot internal/store " +
			"internal/store/storetest internal/tokens internal/usage internal/web internal/webhook tools/strict",
		why: "tests of the server's packages need the whole server",
	},
	"tools/relay":          {may: "", why: "it relays bytes between any two programs"},
	"tools/secondverifier": {may: "", why: "it is a second opinion: what judges a proof shares nothing with what makes it"},
	"tools/report":         {may: "", why: "it writes figures into documents, whatever they measure"},
	"tools/testenv":        {may: "", why: "tests of any package ask it which servers they may use"},
	"tools/process":        {may: "", why: "it runs any program"},
	"tools/strict":         {may: "", why: "it closes a description, whatever it describes"},
	"tools/target":         {may: "tools/process", why: "tools that attack the program run it the same way"},
	"tools/attacks": {
		may: "tools/process tools/report tools/target",
		why: "it attacks the program from outside, and knows only what an attacker knows",
	},
	"tools/abuse": {
		may: ". internal/keys internal/store tools/process tools/report tools/strict tools/target",
		why: "it attacks the program from outside; only its 100,000 keys it writes into the database itself",
	},
	"tools/bench": {
		may: "tools/process tools/report",
		why: "it measures the program from outside, as it measures nginx or psql",
	},
	"tools/mcp":          {may: "tools/process tools/target", why: "it judges the tools for agents from outside"},
	"tools/peers/stdlib": {may: "", why: "Assay is compared with it, so it has nothing of Assay"},
	"tools/restore": {
		may: "tools/process tools/report",
		why: "it makes and restores backups of the program's databases, from outside",
	},
	"tools/drill": {
		may: "tools/process tools/relay tools/report",
		why: "it breaks the servers that the program depends on, from outside",
	},
	"tools/growth": {
		may: ". internal/keys internal/proof internal/store tools/process tools/report",
		why: "it measures the program from outside; only catalogs, keys, usage and many values it writes into the database itself",
	},
	"tools/incidents": {
		may: "tools/process tools/report",
		why: "it lets things happen to the program, from outside",
	},
	"cmd/assay": {may: everyone, why: "the command wires the packages together"},
}

// never lists what the packages that serve market data must not import, directly or through others, with the reason.
var never = map[string]string{
	"database/sql":      "a read never waits for the database",
	"internal/account":  "sessions and accounts are in the database; api is given a function that looks in memory",
	"internal/keys":     "the keyring reads the database; web is given a function that looks in memory",
	"internal/usage":    "usage is in the database; web is given a function that counts in memory",
	"internal/console":  "it may wait for the database",
	"internal/store":    "a read never waits for the database",
	"internal/ingest":   "the API only reads",
	"internal/publish":  "a request must not be able to publish a value",
	"internal/verify":   "verification takes long and belongs to a command",
	"internal/backtest": "a backtest takes long and belongs to a command",
	"internal/notify":   "alerts are in the database; they are evaluated and delivered beside the server",
	"internal/links":    "share links are in the database; share is given a function that looks in memory",
	"internal/personal": "watchlists and saved views are in the database; market data is the same for all who may see it",
	"internal/live":     "the snapshot is all that the follower and the server share",
	"internal/demo":     "the server knows synthetic data only by the snapshot's mark",
}

// pure lists the standard packages that packages without side effects must not import, with the reason.
var pure = map[string]string{
	"database/sql": "the database belongs to store",
	"net/http":     "HTTP belongs to the packages that serve it",
	"os":           "files and the environment belong to cmd/assay and store",
}

var purePackages = []string{
	"internal/index", "internal/alert", "internal/appendonly", "internal/family", "internal/registry", "internal/memory",
	"internal/coding", "internal/ln", "internal/tokens", "internal/sites", "internal/proof", "internal/access",
	"internal/snapshot", "internal/events", "internal/limit", "internal/cache", "internal/redact", "internal/merkle", "internal/chart",
	"verifier",
}

// clock lists the functions of package time that read the clock or wait for it.
var clock = []string{"Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Sleep"}

// pkg is one package of the module, without its tests.
type pkg struct {
	name    string
	imports []string
	files   []*ast.File
}

// readPackages parses the module. The test reads the files itself instead of calling the go command, so that the cache
// of test results sees what was read, and files for other systems count too.
func readPackages(t *testing.T) map[string]*pkg {
	t.Helper()
	found := map[string]*pkg{}
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
			found[name] = &pkg{name: name}
		}
		found[name].add(t, parsed)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// skipFolder leaves out other modules, test data and hidden folders.
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

func (p *pkg) add(t *testing.T, file *ast.File) {
	t.Helper()
	p.files = append(p.files, file)
	for _, spec := range file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		p.imports = append(p.imports, name)
	}
}

// own lists the imports that are packages of this module, named as in the table.
func (p *pkg) own() (names []string) {
	for _, name := range p.imports {
		if name == module {
			names = append(names, ".")
		} else if inside, ok := strings.CutPrefix(name, module+"/"); ok {
			names = append(names, inside)
		}
	}
	return names
}

// rule finds the row of the table for a package: its own, or that of the package above it.
func (p *pkg) rule() (row string, ok bool) {
	for row = p.name; row != "."; row = path.Dir(row) {
		if _, ok := packages[row]; ok {
			return row, true
		}
	}
	return row, p.name == "."
}

func TestArch_Imports(t *testing.T) {
	t.Parallel()
	found := readPackages(t)
	for _, name := range slices.Sorted(maps.Keys(found)) {
		p := found[name]
		row, ok := p.rule()
		if !ok {
			t.Errorf("%s is not in the table: add a row with what it may import and why", name)
			continue
		}
		rule := packages[row]
		allowed := strings.Fields(rule.may)
		if name != row {
			allowed = append(allowed, row)
		}
		for _, dep := range p.own() {
			if rule.may != everyone && !slices.Contains(allowed, dep) {
				t.Errorf("%s imports %s; it may import [%s], because: %s", name, dep, rule.may, rule.why)
			}
		}
	}
	for name := range packages {
		if found[name] == nil {
			t.Errorf("%s is in the table but not in the module", name)
		}
	}
}

func TestArch_ReadsNeverWaitForTheDatabase(t *testing.T) {
	t.Parallel()
	found := readPackages(t)
	for dep := range never {
		if found[dep] == nil && dep != "database/sql" {
			t.Errorf("%s is not in the module: name the package that replaced it", dep)
		}
	}
	for _, name := range []string{"internal/api", "internal/share", "internal/web"} {
		for dep, path := range closure(found, name) {
			if why, bad := never[dep]; bad {
				t.Errorf("%s imports %s, by way of %s; it must not: %s", name, dep, path, why)
			}
		}
	}
}

// closure lists what a package imports, directly or through others of the module, and one way to each.
func closure(found map[string]*pkg, name string) map[string]string {
	ways := map[string]string{}
	var visit func(name, way string)
	visit = func(name, way string) {
		for _, dep := range found[name].imports {
			dep = inModule(dep)
			if ways[dep] != "" {
				continue
			}
			ways[dep] = way + " → " + dep
			if found[dep] != nil {
				visit(dep, ways[dep])
			}
		}
	}
	visit(name, name)
	return ways
}

// inModule names a package of the module as the table does, and any other by its import path.
func inModule(path string) string {
	if path == module {
		return "."
	}
	return strings.TrimPrefix(path, module+"/")
}

// testHelpers are the packages under internal that only tests import.
var testHelpers = []string{"internal/apitest", "internal/certtest", "internal/logtest", "internal/store/storetest"}

func TestArch_TheProductDoesNotImportTools(t *testing.T) {
	t.Parallel()
	for name, r := range readPackages(t) {
		if strings.HasPrefix(name, "tools/") || slices.Contains(testHelpers, name) {
			continue
		}
		for _, dep := range r.own() {
			if strings.HasPrefix(dep, "tools/") || slices.Contains(testHelpers, dep) {
				t.Errorf("%s imports %s; only tools and tests may: internal/ and cmd/ are the product", name, dep)
			}
		}
	}
}

func TestArch_RootIsStandardLibraryOnly(t *testing.T) {
	t.Parallel()
	for _, name := range readPackages(t)["."].imports {
		if first, _, _ := strings.Cut(name, "/"); strings.Contains(first, ".") {
			t.Errorf("the root imports %s; it may import the standard library only", name)
		}
		if name == "net/http" {
			t.Errorf("the root imports %s; statuses and headers belong to internal/web", name)
		}
	}
}

// Readers import these packages. What they depend on, their programs depend on, too.
func TestArch_ReadersGetFewDependencies(t *testing.T) {
	t.Parallel()
	found := readPackages(t)
	for _, name := range []string{"client", "internal/httperror", "verifier"} {
		for _, dep := range found[name].imports {
			first, _, _ := strings.Cut(dep, "/")
			own := dep == module || strings.HasPrefix(dep, module+"/")
			if strings.Contains(first, ".") && !own && !strings.HasPrefix(dep, "golang.org/x/mod/") {
				t.Errorf("%s imports %s; it may import the standard library and the log's format, golang.org/x/mod", name, dep)
			}
		}
	}
}

func TestArch_PurePackages(t *testing.T) {
	t.Parallel()
	found := readPackages(t)
	for _, name := range purePackages {
		for _, dep := range found[name].imports {
			if why, bad := pure[dep]; bad {
				t.Errorf("%s imports %s; it must not: %s", name, dep, why)
			}
		}
		for _, file := range found[name].files {
			for _, call := range clockCalls(file) {
				t.Errorf("%s uses time.%s; it must not: the time is an argument, so that tests are arithmetic", name, call)
			}
		}
	}
}

// clockCalls lists the uses of the clock in a file, under any name that it imports package time by.
func clockCalls(file *ast.File) (calls []string) {
	name := "time"
	for _, spec := range file.Imports {
		if spec.Path.Value == `"time"` && spec.Name != nil {
			name = spec.Name.Name
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok && slices.Contains(clock, selector.Sel.Name) {
			if ident, ok := selector.X.(*ast.Ident); ok && ident.Name == name {
				calls = append(calls, selector.Sel.Name)
			}
		}
		return true
	})
	return calls
}

func TestArch_EveryPackageHasAComment(t *testing.T) {
	t.Parallel()
	for name, p := range readPackages(t) {
		if !slices.ContainsFunc(p.files, isDocumented) {
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
	t.Parallel()
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if found := regexp.MustCompile(`(?m)^\s*replace\b.*`).Find(text); found != nil {
		t.Errorf("go.mod has %q: go install would build something else", found)
	}
}
