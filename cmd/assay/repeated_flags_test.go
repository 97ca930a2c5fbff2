package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// A flag that is given twice is refused, except where both values have a meaning.
func TestFlags_Repeated(t *testing.T) {
	t.Parallel()
	f := func(want string, args ...string) {
		t.Helper()
		code, out, errs := runAssay(t, "", args...)
		if code != exitUsage || !strings.Contains(errs, want) || out != "" || strings.Contains(errs, "Usage") {
			t.Errorf("%q ends with %d:\n%s%s, want %q", args, code, out, errs, want)
		}
	}
	f("--gpu may be given only once", "restate", "--gpu", "H200", "--gpu", "B200", "--late", "--reason", "a")
	f("--addr may be given only once", "serve", "--addr", "127.0.0.1:1", "--addr=127.0.0.1:2")
	f("--key-limit may be given only once", "serve", "--key-limit", "1", "--key-limit", "1")
	f("--seed may be given only once", "demo", "--seed", "1", "--seed", "2")
	f("--store may be given only once", "verify", "--store", "sqlite://a", "--store", "sqlite://b")
	f("--config may be given only once", "verify", "--config", "a", "--config", "b")
}

func TestFlags_RepeatedListsCollect(t *testing.T) {
	t.Parallel()
	var config serverConfig
	cmd := &cobra.Command{Use: "serve"}
	config.register(cmd, "data")
	config.node.register(cmd)
	refuseRepeatedFlags(cmd)
	err := cmd.ParseFlags([]string{
		"--trusted-proxies", "10.0.0.1", "--init", "--trusted-proxies", "10.0.0.2,10.0.0.3", "--init",
	})
	if err != nil || len(config.trustedProxies) != 3 || !config.node.init {
		t.Errorf("the proxies are %v (%v), want three", config.trustedProxies, err)
	}
}
