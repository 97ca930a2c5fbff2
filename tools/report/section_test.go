package report

import "testing"

func TestBetween(t *testing.T) {
	t.Parallel()
	const s = Section("some")
	const begin, end = "<!-- some:begin -->", "<!-- some:end -->"
	const block = begin + "\nnew\n" + end
	f := func(text, want string) {
		t.Helper()
		got, err := between(text, s, "new\n")
		if err != nil || got != want {
			t.Errorf("between(%q) = %q, %v; want %q", text, got, err, want)
		}
	}
	f("", block+"\n")
	f("# Speed\n", "# Speed\n\n"+block+"\n")
	f("a\n"+begin+"\nold\n"+end+"\nz\n", "a\n"+block+"\nz\n")
	f("a\n"+block+"\nz\n", "a\n"+block+"\nz\n")
	other := "<!-- bench:begin -->\nkept\n<!-- bench:end -->\n"
	f(other+begin+"\nold\n"+end+"\n"+other, other+block+"\n"+other)

	for _, bad := range []string{begin, end, end + begin} {
		if _, err := between(bad, s, "new\n"); err == nil {
			t.Errorf("between(%q): no error", bad)
		}
	}
}
