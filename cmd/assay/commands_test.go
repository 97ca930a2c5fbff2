package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/assaydata/assay"
)

// runAssay runs a command line as main would.
func runAssay(t *testing.T, in string, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), args, streams{in: strings.NewReader(in), out: &stdout, err: &stderr})
	return code, stdout.String(), stderr.String()
}

// shownCommands are all commands that help shows.
func shownCommands() (list []*cobra.Command) {
	eachCommand(newRootCommand(&streams{}), func(c *cobra.Command) {
		if !hidden(c) {
			list = append(list, c)
		}
	})
	return list
}

func hidden(c *cobra.Command) bool { return c.Hidden || c.HasParent() && hidden(c.Parent()) }

// Every command explains itself: a short text, examples that work, flags with texts, and lines that fit a terminal.
func TestHelp(t *testing.T) {
	t.Parallel()
	commands := shownCommands()
	if len(commands) < 50 {
		t.Fatalf("help shows %d commands", len(commands))
	}
	for _, c := range commands {
		// Here, not in the subtest: a command's list of flags also writes to its parents, which the subtests share.
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s: --%s has no text", c.CommandPath(), f.Name)
			}
		})
		t.Run(c.CommandPath(), func(t *testing.T) {
			t.Parallel()
			if c.Short == "" || strings.HasSuffix(c.Short, ".") || strings.Contains(c.Short, "\n") {
				t.Errorf("the short text is %q: one line without a period is expected", c.Short)
			}
			code, out, errs := runAssay(t, "", append(commandWords(c), "--help")...)
			if code != exitOK || errs != "" {
				t.Fatalf("--help ends with %d:\n%s", code, errs)
			}
			if !strings.Contains(out, "\nExamples:\n  ") {
				t.Error("help has no examples")
			}
			for line := range strings.Lines(out) {
				if n := len([]rune(strings.TrimRight(line, "\n"))); n > helpWidth {
					t.Errorf("a line has %d columns: %s", n, line)
				}
			}
			checkExamples(t, c.Example)
		})
	}
}

// assayCall is a call of assay in an example: behind it up to a pipe, a redirection, a parenthesis or the end of the
// line.
var assayCall = regexp.MustCompile(`(?:^|[|(=] *|\.toml )assay ([^|<>()\n]*)`)

func checkExamples(t *testing.T, examples string) {
	t.Helper()
	text := strings.ReplaceAll(examples, "\\\n", " ")
	for line := range strings.Lines(text) {
		calls := assayCall.FindAllStringSubmatch(strings.TrimSpace(line), -1)
		if len(calls) == 0 && !strings.HasPrefix(strings.TrimSpace(line), "man ") {
			t.Errorf("no call of assay in the example %q", line)
		}
		for _, call := range calls {
			checkCall(t, shellWords(call[1]))
		}
	}
}

// shellWords splits a line as a shell would, with double quotes only.
func shellWords(line string) (words []string) {
	for _, word := range regexp.MustCompile(`(?:[^\s"]|"[^"]*")+`).FindAllString(line, -1) {
		words = append(words, strings.ReplaceAll(word, `"`, ""))
	}
	return words
}

func checkCall(t *testing.T, words []string) {
	t.Helper()
	cmd, rest, err := newRootCommand(&streams{}).Find(words)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil && cmd.Args != nil {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err == nil && cmd.HasAvailableSubCommands() && len(rest) > 0 {
		err = unknownCommand(cmd, rest[0])
	}
	if err != nil {
		t.Errorf("the example %q does not parse: %v", words, err)
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	f := func(want int, args ...string) {
		t.Helper()
		if code, _, errs := runAssay(t, "not a header\n", args...); code != want {
			t.Errorf("%q ends with %d, want %d: %s", args, code, want, errs)
		}
	}
	dir := initFolder(t)
	rows := filepath.Join(dir, "rows.csv")
	if err := os.WriteFile(rows, []byte(strings.Join(transactionColumns, ",")+"\nbad\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f(exitOK)
	f(exitOK, "help", "serve")
	f(exitOK, "template", "memory")
	f(exitFailed, "verify", "--dir", filepath.Join(dir, "none"))
	f(exitFailed, "verify", "--config", filepath.Join(dir, "none.toml"))
	f(exitUsage, "frobnicate")
	f(exitUsage, "key")
	f(exitUsage, "serve", "--frobnicate")
	f(exitUsage, "serve", "--addr", "nowhere")
	f(exitRejected, "import", "transactions", "--dir", dir, rows)
}

func TestSuggestions(t *testing.T) {
	t.Parallel()
	f := func(want string, args ...string) {
		t.Helper()
		code, out, errs := runAssay(t, "", args...)
		if first, _, _ := strings.Cut(errs, "\n"); code != exitUsage || out != "" || first != want {
			t.Errorf("%q ends with %d:\n%s%s, want\n%s", args, code, out, errs, want)
		}
	}
	f(`assay: unknown command "imprt". Did you mean import?`, "imprt")
	f(`assay: unknown command "xylophone"`, "xylophone")
	f(`assay key: unknown command "lsit". Did you mean list?`, "key", "lsit")
	f(`assay key: unknown command "xylophone". Commands: create, list, limit, revoke`, "key", "xylophone")
	f(`assay import: unknown command "model". Did you mean models?`, "import", "model")
	f("assay serve: unknown flag --adr. Did you mean --addr?", "serve", "--adr", "x")
	f("assay serve: unknown flag --address. Did you mean --addr?", "serve", "--address", "x")
	f("assay serve: unknown flag --oidc-clientid. Did you mean --oidc-client-id?", "serve", "--oidc-clientid=x")
	f("assay serve: unknown flag -dir. Long flags have two dashes: --dir", "serve", "-dir", "x")
	f("assay serve: unknown flag -store-read. Long flags have two dashes: --store-read", "serve", "-store-read=x")
	f("assay serve: unknown flag -x", "serve", "-x")
	f("assay serve: --addr needs a value", "serve", "--addr")
	f(`assay serve: invalid value "many" for --key-limit: must be a whole number from 1 to 1000000`,
		"serve", "--key-limit", "many")
	f(`assay demo: invalid value "one" for --seed: must be a whole number`, "demo", "--seed", "one")
	for _, domains := range []string{"@example.com", "example", "example.com,", "*.example.com", "example.com other.com"} {
		f(`assay serve: invalid value "`+domains+`" for --oidc-email-domains: must be domains such as example.com, `+
			`with commas between them`, "serve", "--oidc-email-domains", domains)
	}
	f("assay serve: --oidc-issuer is required to sign in through a provider", "serve", "--dir",
		filepath.Join(t.TempDir(), "data"), "--addr", "127.0.0.1:0", "--init", "--log-level", "error",
		"--oidc-email-domains", "example.com")
	f(`assay grant add: missing EMAIL and PLAN`, "grant", "add")
	f(`assay grant add: missing PLAN`, "grant", "add", "ann@example.com")
}

// The shell completes commands, flags and values from fixed sets.
func TestCompletion(t *testing.T) {
	t.Parallel()
	f := func(want string, args ...string) {
		t.Helper()
		code, out, _ := runAssay(t, "", append([]string{"__completeNoDesc"}, args...)...)
		completions, _, _ := strings.Cut(out, "\n:")
		if got := strings.ReplaceAll(completions, "\n", " "); code != exitOK || got != want {
			t.Errorf("%q completes %q, want %q", args, got, want)
		}
	}
	f("serve", "serv")
	f("create list limit revoke", "key", "")
	f("all read publish", "serve", "--role", "")
	f("info warn error", "serve", "--log-level", "")
	f("--oidc-issuer --oidc-client-id --oidc-client-secret-file --oidc-name --oidc-email-domains", "serve", "--oidc")
	f(strings.Join(familyNames(), " "), "import", "")
	f(strings.Join(familyNames(), " "), "template", "")
	f("csv ndjson", "template", "memory", "--format", "")
	f("premium full", "key", "create", "--tier", "")
	f("trial premium full", "grant", "add", "ann@example.com", "")
	f("member owner", "org", "add-member", "Fund", "ann@example.com", "--role", "")
	f("create", "help", "key", "cr")
	for _, shell := range []string{"bash", "zsh", "fish"} {
		code, out, errs := runAssay(t, "", "completion", shell)
		if code != exitOK || errs != "" || !strings.Contains(out, "__complete") {
			t.Errorf("completion %s ends with %d: %s", shell, code, errs)
		}
		if shell == "bash" {
			check := exec.Command("bash", "-n")
			check.Stdin = strings.NewReader(out)
			if text, err := check.CombinedOutput(); err != nil {
				t.Errorf("bash -n: %v\n%s", err, text)
			}
		}
	}
}

// Every command has a manual page with the parts that man shows.
func TestMan(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "man1")
	code, _, errs := runAssay(t, "", "man", "--out", folder)
	if code != exitOK {
		t.Fatal(errs)
	}
	commands := slices.DeleteFunc(shownCommands(), func(c *cobra.Command) bool { return c.Name() == "help" })
	for _, c := range commands {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-")
		page, err := os.ReadFile(filepath.Join(folder, name+".1"))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, part := range []string{`.TH "` + strings.ToUpper(name) + `" "1"`, ".SH NAME", ".SH SYNOPSIS", ".SH EXAMPLE"} {
			if !bytes.Contains(page, []byte(part)) {
				t.Errorf("%s.1 has no %s", name, part)
			}
		}
	}
	pages, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(pages) != len(commands) {
		t.Errorf("there are %d pages for %d commands (%v)", len(pages), len(commands), err)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	_, text, _ := runAssay(t, "", "version")
	_, flag, _ := runAssay(t, "", "--version")
	if flag != text || !strings.HasPrefix(text, "assay "+assay.Release()+" (commit ") {
		t.Errorf("assay version prints %q, assay --version %q", text, flag)
	}
	_, document, _ := runAssay(t, "", "version", "--json")
	var v programVersion
	if err := json.Unmarshal([]byte(document), &v); err != nil || v != newVersion() || !strings.HasPrefix(v.Go, "go1.") {
		t.Errorf("assay version --json prints %s (%v)", document, err)
	}
	f := func(v programVersion, want string) {
		t.Helper()
		if got := v.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	f(programVersion{Release: "1.2.3", Go: "go1.26", Schema: 7}, "assay 1.2.3 (commit unknown, go1.26, schema 7)")
	f(programVersion{Release: "1.2.3", Commit: "abc", Go: "go1.26", Schema: 7},
		"assay 1.2.3 (commit abc, go1.26, schema 7)")
	f(programVersion{Release: "1.2.3", Commit: "abc", Modified: true, Go: "go1.26", Schema: 7},
		"assay 1.2.3 (commit abc-dirty, go1.26, schema 7)")
}

// cliDocument is the reference of all commands, written from their help.
const cliDocument = "../../docs/cli.md"

func TestDocs_CLI(t *testing.T) {
	t.Parallel()
	want := commandReference(t)
	if *update {
		writeDocument(t, cliDocument, want)
		return
	}
	if readDocument(t, cliDocument) != want {
		t.Error("docs/cli.md is out of date: go test ./cmd/assay -run TestDocs_CLI -update")
	}
}

var referenceIntroduction = strings.ReplaceAll(`# Command line

<!-- Written by go test ./cmd/assay -run TestDocs_CLI -update. Do not edit. -->

The help of every command, as 'assay COMMAND --help' prints it. Every command also has the flags of 'assay' itself:
'--config', '--quiet' and '--help'. 'assay completion' sets up your shell, and 'assay man' writes manual pages.
`, "'", "`")

// sharedFlags are the lines of help that are the same for every command.
var sharedFlags = regexp.MustCompile(`\n +-h, --help .*|\n\nGlobal flags:\n(?: .*\n)+|` +
	`\n\nFlags:\n +-h, --help .*|\n\nRun 'assay .*`)

func commandReference(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	text.WriteString(referenceIntroduction)
	commands := shownCommands()
	writeHelp := func(c *cobra.Command) {
		_, help, _ := runAssay(t, "", append(commandWords(c), "--help")...)
		if c.HasParent() {
			help = sharedFlags.ReplaceAllString(help, "\n")
		}
		help = strings.TrimSuffix(strings.TrimSpace(help), "\n\nFlags:")
		text.WriteString("\n```text\n" + help + "\n```\n")
	}
	text.WriteString("\n## assay\n")
	writeHelp(commands[0])
	for _, group := range commandGroups {
		text.WriteString("\n## " + strings.TrimSuffix(group.Title, ":") + "\n")
		for _, c := range commands[1:] {
			if topCommand(c).GroupID == group.ID {
				text.WriteString("\n### " + c.CommandPath() + "\n")
				writeHelp(c)
			}
		}
	}
	return text.String()
}

// topCommand is the command right below assay that a command belongs to.
func topCommand(c *cobra.Command) *cobra.Command {
	for c.Parent().HasParent() {
		c = c.Parent()
	}
	return c
}

// No text of help has a word that we replaced.
func TestHelp_PlainEnglish(t *testing.T) {
	t.Parallel()
	words := regexp.MustCompile(`(?i)\b(anew|goes on|nobody|somebody|whoever|in hand|is told|hears|so many words)\b`)
	for _, c := range shownCommands() {
		if found := words.FindAllString(c.Short+" "+c.Long, -1); len(found) > 0 {
			t.Errorf("%s says %q", c.CommandPath(), slices.Compact(found))
		}
	}
}
