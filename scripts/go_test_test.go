package scripts_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// goTest runs scripts/go-test on a module of one package with this test file.
func goTest(t *testing.T, tests string) (output string, status int) {
	t.Helper()
	script, err := filepath.Abs("go-test")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module shop\n\ngo 1.26\n", "shop_test.go": "package shop\n\nimport \"testing\"\n" + tests} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(script, "./...")
	cmd.Dir = folder
	told, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(told), cmd.ProcessState.ExitCode()
}

func TestGoTest_TellsWhatWasSkipped(t *testing.T) {
	told, status := goTest(t, `
func TestOpen(t *testing.T) { t.Log("noise") }
func TestDoors(t *testing.T) {
	t.Run("front", func(t *testing.T) { t.Skip("no key") })
	t.Run("back", func(t *testing.T) { t.Skip("no key") })
}
func TestRoof(t *testing.T) { t.SkipNow() }
`)
	for _, want := range []string{
		"ok  \tshop\t", "skipped 2 (TestDoors/front …): no key\n", "skipped 1 (TestRoof): no reason given\n",
		"covered: 2 tests of 1 packages; skipped: 3\n",
	} {
		if !strings.Contains(told, want) {
			t.Errorf("%q is missing in:\n%s", want, told)
		}
	}
	if status != 0 || strings.Contains(told, "noise") {
		t.Errorf("status %d, output:\n%s", status, told)
	}
}

func TestGoTest_FailsWhenSomethingIsNotCovered(t *testing.T) {
	told, status := goTest(t, `
func TestOpen(t *testing.T) {}
func TestDoor(t *testing.T) { t.Skip("NOT COVERED: there is no door") }
`)
	if want := "1 of the skipped lack what they need"; status != 1 || !strings.Contains(told, want) {
		t.Errorf("status %d, want 1 and %q in:\n%s", status, want, told)
	}
}

func TestGoTest_ShowsWhatFailed(t *testing.T) {
	told, status := goTest(t, `
func TestOpen(t *testing.T) {}
func TestPrice(t *testing.T) { t.Error("one cent too much") }
`)
	for _, want := range []string{"one cent too much\n", "--- FAIL: TestPrice", "FAIL\tshop\t", "covered: 2 tests of 1 packages; skipped: 0\n"} {
		if !strings.Contains(told, want) {
			t.Errorf("%q is missing in:\n%s", want, told)
		}
	}
	if status != 1 || strings.Contains(told, "TestOpen") {
		t.Errorf("status %d, output:\n%s", status, told)
	}
}
