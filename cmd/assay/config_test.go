package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writeConfig writes a configuration file and returns its name.
func writeConfig(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "assay.toml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

const exampleConfig = `dir = "everywhere"
store = "postgres://ann:hunter2@db/assay?sslpassword=hunter2"
quiet = true

[serve]
addr = "0.0.0.0:8080"
trusted-proxies = ["10.0.0.0/8", "::1"]
key-limit = 1200
drain = "10s"
limits = "redis://:hunter2@one,two"

[key]
dir = "keys"

[key.create]
tier = "premium"
expires = 2030-01-01
dir = "new-keys"

[publish]
from = 2026-01-01T12:00:00Z
`

// wantSetting wants a setting with its value and source in the output of config check.
func wantSetting(t *testing.T, out, name, value, source string) {
	t.Helper()
	for line := range strings.Lines(out) {
		if cells := strings.Fields(line); cells[0] == name {
			if got := strings.Join(cells[1:], " "); got != value+" "+source {
				t.Errorf("%s is %q, want %q", name, got, value+" "+source)
			}
			return
		}
	}
	t.Errorf("%s is not in\n%s", name, out)
}

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	file := writeConfig(t, exampleConfig)
	check := func(command ...string) string {
		t.Helper()
		code, out, errs := runAssay(t, "", append([]string{"config", "check", "--config", file}, command...)...)
		if code != exitOK || errs != "" {
			t.Fatalf("config check ends with %d: %s", code, errs)
		}
		if strings.Contains(out, "hunter2") {
			t.Errorf("config check shows a password:\n%s", out)
		}
		return out
	}
	serve := check()
	wantSetting(t, serve, "addr", "0.0.0.0:8080", file+":6")
	wantSetting(t, serve, "dir", "everywhere", file+":1")
	wantSetting(t, serve, "store", "postgres://ann:xxxxx@db/assay?…", file+":2")
	wantSetting(t, serve, "limits", "redis://:xxxxx@one,two", file+":10")
	wantSetting(t, serve, "trusted-proxies", "10.0.0.0/8,::1", file+":7")
	wantSetting(t, serve, "key-limit", "1200", file+":8")
	wantSetting(t, serve, "drain", "10s", file+":9")
	wantSetting(t, serve, "role", "all", "default")
	wantSetting(t, serve, "quiet", "true", file+":3")
	create := check("key", "create")
	wantSetting(t, create, "tier", "premium", file+":16")
	wantSetting(t, create, "expires", "2030-01-01", file+":17")
	wantSetting(t, create, "dir", "new-keys", file+":18")
	wantSetting(t, check("key", "list"), "dir", "keys", file+":13")
	wantSetting(t, check("publish"), "from", "2026-01-01T12:00:00Z", file+":21")
	entry := `{"name":"from","value":"2026-01-01T12:00:00Z","source":"` + file + `:21"}`
	if out := check("publish", "--json"); !strings.Contains(out, entry) {
		t.Errorf("--json prints\n%s, want %s", out, entry)
	}
}

// The command line wins over the environment, and the environment over the file.
func TestConfig_Precedence(t *testing.T) { // not parallel: it sets the environment
	file := writeConfig(t, "dir = \"by-file\"\n[serve]\naddr = \"127.0.0.1:1\"\nkey-limit = 1\nrole = \"read\"\n")
	t.Setenv("ASSAY_CONFIG", file)
	t.Setenv("ASSAY_ADDR", "127.0.0.1:2")
	t.Setenv("ASSAY_KEY_LIMIT", "2")
	_, out, errs := runAssay(t, "", "config", "check")
	if errs != "" {
		t.Fatal(errs)
	}
	wantSetting(t, out, "addr", "127.0.0.1:2", "ASSAY_ADDR")
	wantSetting(t, out, "key-limit", "2", "ASSAY_KEY_LIMIT")
	wantSetting(t, out, "role", "read", file+":5")

	// A command that runs has the same values.
	_, _, errs = runAssay(t, "", "verify")
	if want := "there is no database in by-file. "; !strings.Contains(errs, want) {
		t.Errorf("verify says %q, want %q", errs, want)
	}
	t.Setenv("ASSAY_DIR", "by-environment")
	_, _, errs = runAssay(t, "", "verify")
	if want := "there is no database in by-environment. "; !strings.Contains(errs, want) {
		t.Errorf("verify says %q, want %q", errs, want)
	}
	_, _, errs = runAssay(t, "", "verify", "--dir", "by-flag")
	if want := "there is no database in by-flag. "; !strings.Contains(errs, want) {
		t.Errorf("verify says %q, want %q", errs, want)
	}
	t.Setenv("ASSAY_KEY_LIMIT", "many")
	code, _, errs := runAssay(t, "", "config", "check")
	const wrong = `invalid value "many" in ASSAY_KEY_LIMIT for --key-limit: must be a whole number`
	if want := wrong; code != exitUsage || !strings.Contains(errs, want) {
		t.Errorf("config check ends with %d and says %q, want %q", code, errs, want)
	}
	code, _, errs = runAssay(t, "", "verify", "--config", filepath.Join(t.TempDir(), "none.toml"))
	if want := "assay verify: --config: open "; code != exitFailed || !strings.HasPrefix(errs, want) {
		t.Errorf("without the file verify ends with %d and says %q", code, errs)
	}
}

// A mistake anywhere in the file is reported with its line, whichever command runs; help and version still work.
func TestConfig_Mistakes(t *testing.T) {
	t.Parallel()
	f := func(name, text, want string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := writeConfig(t, text)
			for _, command := range []string{"config check", "catalog list"} {
				code, out, errs := runAssay(t, "", append(strings.Fields(command), "--config", file)...)
				got, _, _ := strings.Cut(errs, "\n")
				if want := "assay " + command + ": " + file + want; code != exitUsage || out != "" || got != want {
					t.Errorf("%s ends with %d and says\n%s, want\n%s", command, code, got, want)
				}
			}
			if code, _, errs := runAssay(t, "", "help", "serve", "--config", file); code != exitOK {
				t.Errorf("help ends with %d: %s", code, errs)
			}
		})
	}
	f("unknown setting", "\nadr = \"x\"\n", `:2: unknown setting "adr". Did you mean addr?`)
	f("unknown setting of a command", "[serve]\nroles = \"read\"\n",
		`:2: unknown setting "roles" in [serve]. Did you mean role?`)
	f("setting of another command", "[serve]\ntier = \"full\"\n", `:2: unknown setting "tier" in [serve]`)
	f("unknown section", "\n\n[serv]\naddr = \"x\"\n", `:3: unknown section [serv]. Did you mean serve?`)
	f("unknown section below", "[key.creat]\n", `:1: unknown section [key.creat]. Did you mean create?`)
	f("old name", "[audit]\n", `:1: unknown section [audit]. Did you mean audit-log?`)
	f("string for a number", "[serve]\nkey-limit = \"12\"\n", `:2: key-limit must be a whole number, not a string`)
	f("number for a string", "dir = 5\n", `:1: dir must be a string, not a number`)
	f("number for a time", "[serve]\ndrain = 10\n", `:2: drain must be a string, not a number`)
	f("string for a switch", "quiet = \"yes\"\n", `:1: quiet must be true or false, not a string`)
	f("date for a string", "dir = 2026-01-01\n", `:1: dir must be a string, not a date`)
	f("mixed array", "[serve]\ncors-origins = [\"a\", 3]\n",
		`:2: cors-origins must be a string or an array of strings, not an array`)
	f("value out of bounds", "[serve]\nkey-limit = 0\n",
		`:2: invalid value "0" for key-limit: must be a whole number from 1 to 1000000`)
	f("duplicate", "dir = \"a\"\ndir = \"b\"\n", `:2: Key 'dir' has already been defined`)
	f("syntax", "dir = \n", `:1: expected value but found '\n' instead`)
	f("array of tables", "[[serve]]\naddr = \"x\"\n", `:1: unknown setting "serve". Did you mean server?`)
	f("setting that names a command", "serve = 3\n", `:1: unknown setting "serve". Did you mean server?`)
	f("config in the file", "config = \"other.toml\"\n", `:1: unknown setting "config"`)
}

func TestRedact(t *testing.T) {
	t.Parallel()
	f := func(value, want string) {
		t.Helper()
		if got := redactAddress(value); got != want {
			t.Errorf("redactAddress(%q) = %q, want %q", value, got, want)
		}
	}
	f("data", "data")
	f("sqlite://data", "sqlite://data")
	f("postgres://ann:secret@db/assay", "postgres://ann:xxxxx@db/assay")
	f("postgres://db/assay?password=secret", "postgres://db/assay?…")
	f("postgres://ann:secret@db:port/assay", "postgres://…")
}
