package process

import (
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// EndWithParent makes the kernel send the signal to a child when the thread that started it ends, for any reason. The
// child gets its own process group, so that Ctrl-C reaches only the parent, which stops its children in order.
func EndWithParent(s syscall.Signal, as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: s, Setpgid: true, Credential: as}
}

// Unprivileged is the account for servers that refuse to run as root, or nil if the current user is not root.
func Unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(nobody.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(nobody.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}
