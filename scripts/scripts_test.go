package scripts_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// run runs a script in a new folder with the given files, and returns its output and exit status.
func run(t *testing.T, files map[string]string, script string, args ...string) (output string, status int) {
	t.Helper()
	return runWith(t, nil, files, script, args...)
}

// runWith is run with additions to the environment.
func runWith(
	t *testing.T, env []string, files map[string]string, script string, args ...string,
) (output string, status int) {
	t.Helper()
	path, err := filepath.Abs(script)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), env...)
	text, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// shop is a module of one package with these tests.
func shop(tests string) map[string]string {
	return map[string]string{
		"go.mod":       "module shop\n\ngo 1.26\n",
		"shop_test.go": "package shop\n\nimport \"testing\"\n" + tests,
	}
}

func wantOutput(t *testing.T, output string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(output, want) {
			t.Errorf("%q is missing in:\n%s", want, output)
		}
	}
}

func TestGoTest(t *testing.T) {
	t.Parallel()
	t.Run("reports skipped tests", func(t *testing.T) {
		t.Parallel()
		output, status := run(t, shop(`
func TestOpen(t *testing.T) { t.Log("noise") }
func TestDoors(t *testing.T) {
	t.Run("front", func(t *testing.T) { t.Skip("no key") })
	t.Run("back", func(t *testing.T) { t.Skip("no key") })
}
func TestRoof(t *testing.T) { t.SkipNow() }
`), "go-test", "./...")
		wantOutput(t, output, "ok  \tshop\t", "skipped 2 (TestDoors/front …): no key\n",
			"skipped 1 (TestRoof): no reason given\n", "covered: 2 tests of 1 packages; skipped: 3\n")
		if status != 0 || strings.Contains(output, "noise") {
			t.Errorf("status %d, output:\n%s", status, output)
		}
	})
	t.Run("fails when something is not covered", func(t *testing.T) {
		t.Parallel()
		output, status := run(t, shop(`
func TestOpen(t *testing.T) {}
func TestDoor(t *testing.T) { t.Skip("NOT COVERED: there is no door") }
`), "go-test", "./...")
		wantOutput(t, output, "1 of the skipped tests lack what they need")
		if status != 1 {
			t.Errorf("status %d, want 1", status)
		}
	})
	t.Run("counts what was left out", func(t *testing.T) {
		t.Parallel()
		output, status := run(t, shop(`
func TestOpen(t *testing.T) {}
func TestDoor(t *testing.T) { t.Skip("LEFT OUT: doors") }
`), "go-test", "./...")
		wantOutput(t, output, "1 of the skipped tests were left out on request")
		if status != 0 {
			t.Errorf("status %d, want 0", status)
		}
	})
	t.Run("fails when a package that is tested once skips a test", func(t *testing.T) {
		t.Parallel()
		f := func(whole string, want int) {
			t.Helper()
			output, status := runWith(t, []string{"WHOLE=" + whole}, shop(`
func TestOpen(t *testing.T) {}
func TestDoor(t *testing.T) { t.Skip("long") }
`), "go-test", "./...")
			if failed := strings.Contains(output, "shop skips tests"); status != want || failed != (want != 0) {
				t.Errorf("with WHOLE=%q the status is %d, want %d:\n%s", whole, status, want, output)
			}
		}
		f("bakery\nshop", 1)
		f("bakery\nshop/cellar", 0)
	})
	t.Run("prints failures", func(t *testing.T) {
		t.Parallel()
		output, status := run(t, shop(`
func TestOpen(t *testing.T) {}
func TestPrice(t *testing.T) { t.Error("one cent too much") }
`), "go-test", "./...")
		wantOutput(t, output, "one cent too much\n", "--- FAIL: TestPrice", "FAIL\tshop\t",
			"covered: 2 tests of 1 packages; skipped: 0\n")
		if status != 1 || strings.Contains(output, "TestOpen") {
			t.Errorf("status %d, output:\n%s", status, output)
		}
	})
}

// make test runs the tests of RACED_WHOLE only under the race detector, in the short form. go-test notices a test that
// is skipped there, but not one that does less, nor one that is not built.
func TestRacedWhole(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "\nRACED_WHOLE := ")
	list, _, found := strings.Cut(strings.ReplaceAll(list, "\\\n", " "), "\n")
	if !found || len(strings.Fields(list)) < 10 {
		t.Fatalf("the Makefile has no list RACED_WHOLE: %q", list)
	}
	for folder := range strings.FieldsSeq(list) {
		files, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s has no Go files (%v)", folder, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, words := range []string{"testing.Short()", "testenv.OneGoroutine(", "//go:build !race"} {
				if strings.Contains(string(text), words) {
					t.Errorf("%s has %s, and is in RACED_WHOLE of the Makefile: make test would leave out a test", file, words)
				}
			}
		}
	}
}

func TestStress(t *testing.T) {
	t.Parallel()
	t.Run("passes", func(t *testing.T) {
		t.Parallel()
		output, status := run(t, shop(`func TestOpen(t *testing.T) {}`), "stress", "3", "./...")
		wantOutput(t, output, "all 3 runs passed")
		if status != 0 {
			t.Errorf("status %d, want 0", status)
		}
	})
	t.Run("counts failures by test", func(t *testing.T) {
		t.Parallel()
		output, status := run(t, shop(`
func TestOpen(t *testing.T) {}
func TestPrice(t *testing.T) { t.Error("one cent too much") }
`), "stress", "3", "./...")
		wantOutput(t, output, "3 of 3 runs failed", "3 --- FAIL: TestPrice\n")
		if status != 1 || strings.Contains(output, "TestOpen") {
			t.Errorf("status %d, output:\n%s", status, output)
		}
	})
	t.Run("refuses packages without tests", func(t *testing.T) {
		t.Parallel()
		files := map[string]string{"go.mod": "module shop\n\ngo 1.26\n", "shop.go": "package shop\n"}
		output, status := run(t, files, "stress", "3", "./...")
		wantOutput(t, output, "no tests in ./...")
		if status != 2 {
			t.Errorf("status %d, want 2", status)
		}
	})
}

func TestSteps(t *testing.T) {
	t.Parallel()
	makefile := map[string]string{"Makefile": `
good other:
	@echo I am $@
bad:
	@echo I am bad; false
`}
	t.Run("passes", func(t *testing.T) {
		t.Parallel()
		output, status := run(t, makefile, "steps", "good", "other")
		wantOutput(t, output, "==== good: ok after ", "I am good\n", "I am other\n", "steps: all passed after ")
		if status != 0 {
			t.Errorf("status %d, want 0", status)
		}
	})
	t.Run("names what failed and runs the rest", func(t *testing.T) {
		t.Parallel()
		output, status := run(t, makefile, "steps", "bad", "good", "other")
		wantOutput(t, output, "==== bad: FAILED after ", "I am bad\n", "I am good\n", "I am other\n", "steps: FAILED: bad ")
		if status != 1 {
			t.Errorf("status %d, want 1", status)
		}
	})
}
