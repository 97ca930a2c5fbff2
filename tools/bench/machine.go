package main

import (
	"debug/buildinfo"
	"os/exec"
	"strings"
)

// goVersion is the Go version of the measured binary.
func goVersion(binary string) string {
	path, err := exec.LookPath(binary)
	if err != nil {
		return "Go of unknown version"
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return "Go of unknown version"
	}
	return info.GoVersion
}

// nginxVersion is "nginx/1.22.1", out of "nginx version: nginx/1.22.1".
func nginxVersion(program string) string {
	out, _ := exec.Command(program, "-v").CombinedOutput()
	_, version, found := strings.Cut(string(out), ": ")
	if !found {
		return "nginx of unknown version"
	}
	return strings.TrimSpace(version)
}

// wrkVersion is "wrk 4.1.0", out of "wrk debian/4.1.0-3+b2 [epoll] Copyright…". wrk -v always fails.
func wrkVersion(program string) string {
	out, _ := exec.Command(program, "-v").CombinedOutput()
	version, _, found := strings.Cut(string(out), " [")
	if !found {
		return "wrk of unknown version"
	}
	return version
}

// sqliteVersion is "sqlite3 3.40.1", out of "3.40.1 2022-12-28 14:03:47 df5c…".
func sqliteVersion(program string) string {
	out, _ := exec.Command(program, "--version").Output()
	version, _, found := strings.Cut(string(out), " ")
	if !found {
		return "sqlite3 of unknown version"
	}
	return "sqlite3 " + version
}
