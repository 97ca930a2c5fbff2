package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// plainColumns are the columns of a file of transactions without evidence.
var plainColumns = transactionColumns[:10]

// initFolder is a folder with a new database.
func initFolder(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if code, _, errs := runAssay(t, "", "init", "--dir", dir); code != exitOK {
		t.Fatal(errs)
	}
	return dir
}

// newFolder is a folder whose database has something for every list.
func newFolder(t *testing.T) (dir string) {
	t.Helper()
	dir = initFolder(t)
	rows := filepath.Join(dir, "rows.csv")
	header := strings.Join(plainColumns, ",") + "\n"
	write := func(text string) {
		if err := os.WriteFile(rows, []byte(header+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := func(want int, line string, args ...string) {
		t.Helper()
		words := append(append(strings.Fields(line), "--dir", dir), args...)
		if code, _, errs := runAssay(t, "", words...); code != want {
			t.Fatalf("%q ends with %d: %s", words, code, errs)
		}
	}
	write("t1,exchange,2025-06-10T10:15:00Z,H100 SXM,us-east,2.35,8,1.5,Alder,true\n")
	f(exitOK, "import transactions", rows)
	f(exitOK, "publish --from 2025-06-09 --to 2025-06-12")
	f(exitOK, "transaction withdraw --source exchange --reason wrong t1")
	write("t1,exchange,2025-06-10T10:15:00Z,H100 SXM,us-east,9.99,8,1.5,Alder,true\n")
	f(exitRejected, "import transactions", rows)
	f(exitOK, "account add ann@example.com --no-password")
	f(exitOK, "grant add ann@example.com full")
	f(exitOK, "org add Fund --plan full")
	f(exitOK, "org add-member Fund ann@example.com")
	f(exitOK, "key create --account ann@example.com --name desk")
	return dir
}

// Every list and every show prints one JSON document. Programs rely on the names of its fields.
func TestJSON(t *testing.T) {
	t.Parallel()
	dir := newFolder(t)
	const transaction = "evidence executed_at gpu_name gpus hours id price provider region source verified verified_by"
	f := func(command, fields string) {
		t.Helper()
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			code, out, errs := runAssay(t, "", append(strings.Fields(command), "--json", "--dir", dir)...)
			if code != exitOK || errs != "" {
				t.Fatalf("ends with %d: %s", code, errs)
			}
			var document any
			if err := json.Unmarshal([]byte(out), &document); err != nil {
				t.Fatalf("%v in\n%s", err, out)
			}
			if list, ok := document.([]any); ok && len(list) > 0 {
				document = list[0]
			}
			object, _ := document.(map[string]any)
			want := slices.Sorted(strings.FieldsSeq(fields))
			if got := slices.Sorted(maps.Keys(object)); !slices.Equal(got, want) {
				t.Errorf("the fields are %q, want %q, in\n%s", got, want, out)
			}
		})
	}
	f("key list", "id prefix tier name owner created_at expires_at revoked_at last_used_at state")
	f("account list", "email name plan plan_source plan_until created_at closed_at")
	f("account show ann@example.com",
		"email name plan plan_source plan_until created_at closed_at signs_in_by key_tier grants organizations keys")
	f("org list", "name plan plan_until created_at members")
	f("org show Fund", "name plan plan_until created_at members")
	f("grant list", "id email plan from until state")
	f("audit-log", "id at actor action subject detail")
	f("catalog list", "kind name free")
	f("methodology list", "version effective adopted_at reason approver")
	f("late", transaction+" change received_at pending")
	f("conflicts", transaction+" received_at")
	f("signing-key show", "public_key id created_at file")
	code, out, _ := runAssay(t, "", "conflicts", "--json", "--dir", dir)
	const want = "[\n" +
		`{"id":"t1","source":"exchange","executed_at":"2025-06-10T10:15:00.000Z","gpu_name":"H100 SXM",` +
		`"region":"us-east","price":9.99,"gpus":8,"hours":1.5,"provider":"Alder","verified":true,"evidence":"","verified_by":"","received_at":`
	if code != exitOK || !strings.HasPrefix(out, want) {
		t.Errorf("conflicts --json prints\n%s, want\n%s", out, want)
	}
}

// A list with nothing in it is an empty array.
func TestJSON_Empty(t *testing.T) {
	t.Parallel()
	dir := initFolder(t)
	for _, command := range []string{"key list", "grant list", "late", "org list"} {
		_, out, errs := runAssay(t, "", append(strings.Fields(command), "--json", "--dir", dir)...)
		if out != "[]\n" {
			t.Errorf("%s prints %q, %s", command, out, errs)
		}
	}
}

// Every command that lists or shows data has --json.
func TestJSON_Everywhere(t *testing.T) {
	t.Parallel()
	names := []string{"list", "show", "late", "conflicts", "audit-log", "version"}
	for _, c := range shownCommands() {
		path := c.CommandPath()
		isTOML := path == "assay methodology show"
		if slices.Contains(names, c.Name()) && !isTOML && c.Flag("json") == nil {
			t.Errorf("%s has no --json", path)
		}
	}
}

// --quiet leaves confirmations out, and neither errors nor requested output.
func TestQuiet(t *testing.T) {
	t.Parallel()
	dir := newFolder(t)
	f := func(code, outLines, errLines int, line string, args ...string) {
		t.Helper()
		words := append(append(strings.Fields(line), "--dir", dir), args...)
		got, out, errs := runAssay(t, "", words...)
		if got != code || strings.Count(out, "\n") != outLines || strings.Count(errs, "\n") != errLines {
			t.Errorf("%q ends with %d, want %d, and prints\n%s%s", words, got, code, out, errs)
		}
	}
	rows := filepath.Join(dir, "rows.csv")
	f(exitRejected, 0, 1, "import transactions -q", rows) // the rejected row is reported
	f(exitOK, 0, 0, "publish -q --from 2025-06-09 --to 2025-06-12")
	f(exitOK, 0, 0, "verify -q")
	f(exitOK, 0, 0, "org plan Fund none -q")
	f(exitOK, 1, 0, "key create -q --tier full --name desk")
	f(exitOK, 1, 0, "account password ann@example.com --quiet")
	f(exitOK, 2, 0, "grant list -q")
	f(exitFailed, 0, 1, "org plan Nothing none -q")
	f(exitUsage, 0, 2, "org plan Fund gold -q")
}

func TestPrintTable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	rows := [][]string{{"KIND", "NAME", "LABEL"}, {"gpu", "H200", ""}, {"lab", "z-ai", "Z.ai"}}
	if err := printTable(&b, rows); err != nil {
		t.Fatal(err)
	}
	const want = "KIND  NAME  LABEL\ngpu   H200\nlab   z-ai  Z.ai\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
