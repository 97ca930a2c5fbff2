package main

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
)

// userName is the operating system's name of the person who runs the program, or unknown. If that person has become
// another user, such as root by sudo, it names both: ada as root.
func userName() string {
	current := "unknown"
	if u, err := user.Current(); err == nil && u.Username != "" {
		current = u.Username
	}
	return nameBehind(current, loginUser(), os.Getenv("SUDO_USER"))
}

// nameBehind joins the user that the program runs as with the one who signed in. sudo's variable counts only for root,
// which could run anything: everybody can set it.
func nameBehind(current, login, sudo string) string {
	behind := login
	if behind == "" && current == "root" {
		behind = sudo
	}
	if behind == "" || behind == current {
		return current
	}
	return fmt.Sprintf("%s as %s", behind, current)
}

// loginUser is who signed in to the session of this process, which the kernel keeps through sudo and su; nothing if no
// one did, as in a service.
func loginUser() string {
	text, err := os.ReadFile("/proc/self/loginuid")
	if err != nil {
		return ""
	}
	const none = 1<<32 - 1
	id, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32)
	if err != nil || id == none {
		return ""
	}
	u, err := user.LookupId(strconv.FormatUint(id, 10))
	if err != nil {
		return ""
	}
	return u.Username
}
