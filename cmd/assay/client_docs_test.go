package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The documents whose Go examples are programs.
const (
	clientsDocument = "../../docs/clients.md"
	clientReadme    = "../../client/README.md"
)

// goExample is a block of Go in a document, and the output shown below it.
type goExample struct {
	code, output, block string
}

// goBlocks are a block of Go and, perhaps, a block of text below it.
var goBlocks = regexp.MustCompile("(?ms)^```go\n(.*?)^```$(?:\n```text\n(.*?)^```$)?")

func readGoExamples(markdown string) (examples []goExample) {
	for _, match := range goBlocks.FindAllStringSubmatch(markdown, -1) {
		examples = append(examples, goExample{match[1], match[2], match[0]})
	}
	return examples
}

// isProgram reports whether an example is a whole program.
func (e *goExample) isProgram() bool { return strings.HasPrefix(e.code, "package main\n") }

// TestDocs_Client runs every Go example of the documents against the demo, with the output that they show.
func TestDocs_Client(t *testing.T) {
	needProgram(t)
	demo, err := sharedDemo()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(&withStream{demo: demo.url, key: demo.keys.Full})
	t.Cleanup(server.Close)
	for _, file := range []string{clientReadme, clientsDocument} {
		text := readDocument(t, file)
		examples := readGoExamples(text)
		program := buildExamples(t, examples, server.URL)
		for i, e := range examples {
			t.Run(fmt.Sprintf("%s %d", filepath.Base(file), i+1), func(t *testing.T) {
				got := runExample(t, program[i], demo)
				if want := readGoExamples(text)[i]; want.output != "" && !isShown(got, want.output) {
					if !*update {
						t.Errorf("%s\nprints:\n%s\nand %s shows:\n%s", e.code, got, file, want.output)
					}
					text = strings.Replace(text, e.block, strings.Replace(e.block, e.output, shorten(got, e.output), 1), 1)
				}
			})
		}
		writeDocument(t, file, text)
	}
}

// withStream is the demo with a stream that has ended when a reader has seen one event: a real one would last.
type withStream struct{ demo, key string }

func (s *withStream) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	if in.URL.Path != "/api/stream" {
		target, err := url.Parse(s.demo)
		if err != nil {
			panic(err) // the demo responds there
		}
		httputil.NewSingleHostReverseProxy(target).ServeHTTP(out, in)
		return
	}
	out.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(out, ": welcome\n\nid: 1-0\nevent: hello\ndata: {\"success\":true,\"access\":\"full\",\"version\":1,\"heartbeat_seconds\":15}\n\n"+
		"id: 1-1\nevent: day\ndata: {\"gpu_type\":\"H100 SXM\"}\n\n"+
		"id: 1-2\nevent: bye\ndata: {\"reason\":\"key_revoked\",\"message\":\"The end of the test.\"}\n\n")
}

// runnable is a program with its arguments.
type runnable []string

// buildExamples builds the examples of a document: whole programs as they are, and all others in one program together.
func buildExamples(t *testing.T, examples []goExample, server string) (programs []runnable) {
	t.Helper()
	dir := t.TempDir()
	parts := filepath.Join(dir, "parts")
	var functions, cases strings.Builder
	for i, e := range examples {
		if e.isProgram() {
			program := filepath.Join(dir, fmt.Sprint("program", i))
			buildGo(t, program, strings.ReplaceAll(e.code, "http://127.0.0.1:8080", server))
			programs = append(programs, runnable{program})
			continue
		}
		fmt.Fprintf(&functions, "\nfunc example%d(ctx context.Context, c *client.Client) error {\n%s\n", i, e.code)
		if !strings.HasPrefix(lastLine(e.code), "return ") {
			functions.WriteString("return nil\n")
		}
		functions.WriteString("}\n")
		fmt.Fprintf(&cases, "case %q:\nerr = example%d(ctx, c)\n", fmt.Sprint(i), i)
		programs = append(programs, runnable{parts, fmt.Sprint(i)})
	}
	if functions.Len() == 0 {
		return programs
	}
	code := functions.String() + `
func main() {
	c, err := client.New("http://127.0.0.1:8080")
	ctx := context.Background()
	switch os.Args[1] {
	` + cases.String() + `}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
`
	buildGo(t, parts, "package main\n"+importsOf(code)+strings.ReplaceAll(code, "http://127.0.0.1:8080", server))
	return programs
}

func lastLine(code string) string {
	lines := strings.Split(strings.TrimRight(code, "\n"), "\n")
	return lines[len(lines)-1]
}

// importsOf lists the packages that a piece of code uses.
func importsOf(code string) string {
	var b strings.Builder
	for name, path := range map[string]string{
		"context": "context", "errors": "errors", "fmt": "fmt", "os": "os", "time": "time", "tabwriter": "text/tabwriter",
		"assay": "github.com/assaydata/assay", "client": "github.com/assaydata/assay/client",
	} {
		if regexp.MustCompile(`\b` + name + `\.[A-Z]`).MatchString(code) {
			fmt.Fprintf(&b, "import %q\n", path)
		}
	}
	return b.String()
}

// buildGo builds a program in the module of the repository, as a reader would in one that requires it.
func buildGo(t *testing.T, program, code string) {
	t.Helper()
	file := program + ".go"
	if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-o", program, file)
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, code)
	}
}

// runExample runs an example in a folder of its own, and returns what it prints. Only the one of the stream may fail,
// when that has ended.
func runExample(t *testing.T, program runnable, demo demoServer) string {
	t.Helper()
	cmd := exec.Command(program[0], program[1:]...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"ASSAY_KEY=" + demo.keys.Full, "LOG_KEY=" + demo.logKey(t)}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && !strings.Contains(stderr.String(), "The end of the test.") {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	return string(out)
}

// logKey is the key of the demo's log.
func (d demoServer) logKey(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(d.request(t, "curl -s http://127.0.0.1:8080/log/vkey"))
}

// isShown reports whether an output is the one that a document shows, which may end with "…" where there is more.
func isShown(got, shown string) bool {
	begin, more := strings.CutSuffix(shown, "…\n")
	return got == shown || more && strings.HasPrefix(got, begin) && len(got) > len(begin)
}

// shorten shows as many lines of an output as a document does.
func shorten(got, shown string) string {
	begin, more := strings.CutSuffix(shown, "…\n")
	lines := strings.SplitAfter(got, "\n")
	if n := strings.Count(begin, "\n"); more && n < len(lines) {
		return strings.Join(lines[:n], "") + "…\n"
	}
	return got
}

// shellTable is the block of a table that a shell makes, and what it prints.
var shellTable = regexp.MustCompile("(?ms)^```sh\n(url=.*?)^```$\n```text\n(.*?)^```$")

// TestDocs_ClientsTable runs the shell lines of the task in docs/clients.md. Every client shows all 90 days.
func TestDocs_ClientsTable(t *testing.T) {
	needProgram(t)
	demo, err := sharedDemo()
	if err != nil {
		t.Fatal(err)
	}
	text := readDocument(t, clientsDocument)
	block := shellTable.FindStringSubmatch(text)
	if block == nil {
		t.Fatalf("%s has no table of a shell", clientsDocument)
	}
	got := demo.shell(t, t.TempDir(), block[1])
	if strings.Count(got, "\n") != 91 {
		t.Errorf("it prints %d lines, want a head and 90 days:\n%s", strings.Count(got, "\n"), got)
	}
	if isShown(got, block[2]) {
		return
	}
	if !*update {
		t.Errorf("it prints:\n%s\n%s shows:\n%s", got, clientsDocument, block[2])
	}
	writeDocument(t, clientsDocument, strings.Replace(text, block[2], shorten(got, block[2]), 1))
}

// TestDocs_ClientsAreShort checks that each client does the task in less than 30 lines.
func TestDocs_ClientsAreShort(t *testing.T) {
	t.Parallel()
	blocks := regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$").FindAllStringSubmatch(readDocument(t, clientsDocument), -1)
	if len(blocks) < 4 {
		t.Errorf("%s has %d blocks", clientsDocument, len(blocks))
	}
	for _, block := range blocks {
		if lines := strings.Count(block[2], "\n"); lines >= 30 {
			t.Errorf("%s has a block of %s with %d lines", clientsDocument, block[1], lines)
		}
	}
}

// TestDocs_ClientsInReadme checks that the README has the programs of docs/clients.md, which other tests run.
func TestDocs_ClientsInReadme(t *testing.T) {
	t.Parallel()
	const readme, begin, end = "../../README.md", "<!-- clients:begin -->\n", "<!-- clients:end -->\n"
	var want strings.Builder
	section := regexp.MustCompile("(?ms)^## ([^\n]+)\n.*?(^```[a-z]+\n.*?^```\n)")
	for _, found := range section.FindAllStringSubmatch(readDocument(t, clientsDocument), -1) {
		fmt.Fprintf(&want, "<details><summary>%s</summary>\n\n%s\n</details>\n", found[1], found[2])
	}
	text := readDocument(t, readme)
	head, rest, _ := strings.Cut(text, begin)
	got, tail, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatalf("%s has no %s and %s", readme, begin, end)
	}
	if got != want.String() && !*update {
		t.Errorf("%s has:\n%s\n%s has:\n%s", readme, got, clientsDocument, want.String())
	}
	writeDocument(t, readme, head+begin+want.String()+end+tail)
}
