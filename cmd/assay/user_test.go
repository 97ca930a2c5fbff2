package main

import "testing"

func TestNameBehind(t *testing.T) {
	t.Parallel()
	f := func(current, login, sudo, want string) {
		t.Helper()
		if got := nameBehind(current, login, sudo); got != want {
			t.Errorf("%q, %q and %q are %q, want %q", current, login, sudo, got, want)
		}
	}
	f("ada", "", "", "ada")
	f("ada", "ada", "", "ada")
	f("root", "ada", "ada", "ada as root")
	f("assay", "ada", "", "ada as assay") // sudo -u assay
	f("root", "", "ada", "ada as root")   // no login session, such as in a container
	f("ada", "", "root", "ada")           // set by hand
	f("root", "ada", "grace", "ada as root")
}
