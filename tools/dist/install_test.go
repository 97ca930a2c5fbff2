package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/goreleaser/nfpm/v2/deb"
)

// asRoot is what comes before a command that needs root rights.
func asRoot() []string {
	if os.Geteuid() == 0 {
		return nil
	}
	return []string{"sudo", "-n"}
}

// machine is this machine, in namespaces of its own: what is installed, written and started there stays there and ends with
// the test. It has no network but its own loopback, and no systemd.
type machine struct {
	t      *testing.T
	root   string
	holder string // a process in its namespaces
}

const prepare = `set -e
ip link set lo up
mount -t tmpfs tmpfs "$0"
mkdir "$0/upper" "$0/work" "$0/merged"
mount -t overlay overlay -o "lowerdir=/,upperdir=$0/upper,workdir=$0/work" "$0/merged"
mount -t proc proc "$0/merged/proc"
mount --rbind /dev "$0/merged/dev"
mount -t tmpfs tmpfs "$0/merged/run"
mount -t tmpfs tmpfs "$0/merged/tmp"
echo ready
exec cat`

func newMachine(t *testing.T) *machine {
	t.Helper()
	base := t.TempDir()
	args := append(asRoot(), "unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-c", prepare, base)
	cmd := exec.Command(args[0], args[1:]...)
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	var errs strings.Builder
	cmd.Stderr = &errs
	must(t, cmd.Start())
	t.Cleanup(func() {
		in.Close() // the first process of the namespace ends, and so does everything in it
		_ = cmd.Wait()
	})
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		_ = cmd.Wait()
		t.Fatalf("no machine to install on, which takes root rights, or sudo without a password: %s", &errs)
	}
	return &machine{t, filepath.Join(base, "merged"), first(t, cmd.Process.Pid)}
}

// first is the first process of the namespace that unshare has made: the last of its descendants.
func first(t *testing.T, unshare int) string {
	t.Helper()
	for pid := fmt.Sprint(unshare); ; {
		children, err := os.ReadFile(filepath.Join("/proc", pid, "task", pid, "children"))
		must(t, err)
		if len(children) == 0 {
			return pid
		}
		pid = strings.Fields(string(children))[0]
	}
}

// command returns a command that runs in the machine as a user.
func (m *machine) command(user string, args ...string) *exec.Cmd {
	all := append(asRoot(), "nsenter", "--target", m.holder, "--mount", "--net", "--pid", "--", "chroot")
	if user != "" {
		all = append(all, "--userspec="+user+":"+user)
	}
	all = append(append(all, m.root), args...)
	cmd := exec.Command(all[0], all[1:]...)
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive"}
	return cmd
}

// run runs a command in the machine as root, and returns what it prints.
func (m *machine) run(args ...string) string {
	m.t.Helper()
	return m.runAs("", args...)
}

func (m *machine) runAs(user string, args ...string) string {
	m.t.Helper()
	out, err := m.command(user, args...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// has reports whether a test(1) of the machine's files succeeds.
func (m *machine) has(args ...string) bool {
	return m.command("", append([]string{"test"}, args...)...).Run() == nil
}

// put copies a file into the machine.
func (m *machine) put(name, source string) {
	m.t.Helper()
	file, err := os.Open(source)
	must(m.t, err)
	defer file.Close()
	cmd := m.command("", "sh", "-c", `cat > "$0"`, name)
	cmd.Stdin = file
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// serve starts the command of the service as its unit says, as the service's user, and stops it after visit.
func (m *machine) serve(visit func(url string)) {
	m.t.Helper()
	unit := m.run("cat", "/usr/lib/systemd/system/assay.service")
	setting := func(name string) string {
		_, rest, _ := strings.Cut(unit, "\n"+name+"=")
		value, _, _ := strings.Cut(rest, "\n")
		return value
	}
	args := append([]string{"env", setting("Environment")}, strings.Fields(setting("ExecStart"))...)
	cmd := m.command(setting("User"), args...)
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	must(m.t, err)
	must(m.t, cmd.Start())
	line, _ := bufio.NewReader(out).ReadString('\n') // it says where it serves, or ends
	_, url, found := strings.Cut(strings.TrimSpace(line), " at ")
	if !found {
		_ = cmd.Wait()
		m.t.Fatalf("the service does not start: %s\n%s", line, &log)
	}
	visit(url)
	m.run("pkill", "--exact", "--signal", "TERM", "assay")
	if err := cmd.Wait(); err != nil {
		m.t.Errorf("the service ends with %v", err)
	}
}

// debOf builds the package of a version for this machine.
func debOf(t *testing.T, version string) string {
	t.Helper()
	b := newBuilder(t, filepath.Join("..", "..", "bin", "assay"), version, platform{"linux", runtime.GOARCH})
	name, err := b.writePackage(b.platforms[0], "deb", deb.Default)
	must(t, err)
	return name
}

// What the package does to a machine: installed, started, upgraded, removed and purged, with dpkg.
func TestInstall(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.put("/tmp/before.deb", debOf(t, "0.5.0"))
	m.put("/tmp/after.deb", debOf(t, "0.6.0"))

	out := m.run("dpkg", "--install", "/tmp/before.deb")
	if !strings.Contains(out, "sudo -u assay assay init --dir /var/lib/assay") {
		t.Errorf("the installation does not say what comes next: %s", out)
	}
	if got := m.run("stat", "--format=%U:%G %a", "/var/lib/assay", "/usr/bin/assay", "/etc/assay/assay.toml"); got !=
		"assay:assay 750\nroot:root 755\nroot:root 644\n" {
		t.Errorf("owners and rights: %s", got)
	}
	if got := m.run("getent", "passwd", "assay"); !strings.HasSuffix(got, ":/var/lib/assay:/usr/sbin/nologin\n") {
		t.Errorf("the user: %s", got)
	}
	if got := m.run("dpkg", "--verify", "assay"); got != "" {
		t.Errorf("dpkg --verify: %s", got)
	}
	m.run("assay", "config", "check", "--config", "/etc/assay/assay.toml")

	m.runAs("assay", "assay", "init", "--dir", "/var/lib/assay")
	m.serve(func(url string) {
		m.run("curl", "--fail", "--silent", "--retry", "20", "--retry-connrefused", url+"/livez")
	})

	// What the operator has changed stays, and so does the data.
	m.run("sh", "-c", "echo 'drain = \"1s\"' >> /etc/assay/assay.toml")
	if out := m.run("dpkg", "--install", "/tmp/after.deb"); strings.Contains(out, "assay init") {
		t.Errorf("an upgrade says how to begin: %s", out)
	}
	if got := m.run("dpkg-query", "--show", "--showformat=${Version}", "assay"); got != "0.6.0-1" {
		t.Errorf("after the upgrade it is %s", got)
	}
	if got := m.run("tail", "-1", "/etc/assay/assay.toml"); got != "drain = \"1s\"\n" {
		t.Errorf("the configuration ends with %s", got)
	}
	m.serve(func(url string) {
		got := m.run("curl", "--fail", "--silent", "--retry", "20", "--retry-connrefused", url+"/api/gpu-types")
		if !strings.Contains(got, `"success":true`) {
			t.Errorf("it serves %s", got)
		}
	})

	m.run("dpkg", "--remove", "assay")
	if m.has("-e", "/usr/bin/assay") || !m.has("-f", "/etc/assay/assay.toml") || !m.has("-f", "/var/lib/assay/assay.db") {
		t.Error("after the removal there is a program, or no configuration, or no data")
	}
	if out := m.run("dpkg", "--purge", "assay"); !strings.Contains(out, "Your data is still in /var/lib/assay") {
		t.Errorf("the purge says %s", out)
	}
	if m.has("-e", "/etc/assay") || !m.has("-f", "/var/lib/assay/assay.db") || !m.has("-f", "/var/lib/assay/signing-key.pem") {
		t.Error("after the purge there is a configuration, or no data")
	}

	// Without data, nothing is left.
	m.run("sh", "-c", "rm -r /var/lib/assay")
	m.run("dpkg", "--install", "/tmp/after.deb")
	m.run("dpkg", "--purge", "assay")
	if m.has("-e", "/var/lib/assay") || m.command("", "getent", "passwd", "assay").Run() == nil {
		t.Error("a purge leaves an empty folder, or a user of nothing")
	}
}

// A new operator follows docs/getting-started.md to the letter: from the package to an index of their own, over TLS. There is
// no systemd here, so the service's command is started in its place, and the right to listen on port 443 comes from the
// namespace of the network.
func TestInstall_GettingStarted(t *testing.T) {
	t.Parallel()
	commands := documented(t, filepath.Join("..", "..", "docs", "getting-started.md"), "## Publish your own index over TLS")
	if len(commands) != 10 {
		t.Fatalf("%d commands, want 10: %q", len(commands), commands)
	}
	m := newMachine(t)
	m.run("mkdir", "/home/new")
	m.put("/home/new/assay_0.6.0-1.deb", debOf(t, "0.6.0"))
	m.run("sh", "-c", `cd /home/new && cat > trades.csv <<'END'
id,source,executed_at,gpu_name,region,price,gpus,hours,provider,verified
t1,exchange,2025-06-10T10:15:00Z,H100 SXM,us-east,2.35,1,1,Alder,true
t2,exchange,2025-06-11T10:15:00Z,H100 SXM,us-east,2.40,1,1,Alder,true
END
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=data.example.com \
	-addext subjectAltName=DNS:data.example.com -keyout privkey.pem -out fullchain.pem 2>/dev/null
cp fullchain.pem /usr/local/share/ca-certificates/test.crt && update-ca-certificates >/dev/null 2>&1
echo 127.0.0.1 data.example.com >> /etc/hosts`)
	script := strings.NewReplacer("sudo -u assay ", "setpriv --reuid=assay --regid=assay --clear-groups ", "sudo ", "")
	do := func(command string) string {
		return m.run("sh", "-c", "cd /home/new && "+script.Replace(command))
	}
	for _, command := range commands[:8] {
		out := do(command)
		if strings.Contains(command, "doctor") && strings.Contains(out, "problem ") {
			t.Errorf("after the first seven commands: %s", out)
		}
	}
	if commands[8] != "sudo systemctl enable --now assay" {
		t.Fatalf("the ninth command is %s", commands[8])
	}
	m.run("sh", "-c", "echo 443 > /proc/sys/net/ipv4/ip_unprivileged_port_start")
	m.serve(func(url string) {
		m.run("curl", "--fail", "--silent", "--insecure", "--retry", "20", "--retry-connrefused", url+"/livez")
		if got := do(commands[9]); !strings.Contains(got, `"H100 SXM"`) {
			t.Errorf("the index is %s", got)
		}
	})
}

// documented returns the commands of the first block after a heading.
func documented(t *testing.T, file, heading string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	_, section, found := strings.Cut(string(text), "\n"+heading+"\n")
	_, block, begins := strings.Cut(section, "\n```sh\n")
	block, _, ends := strings.Cut(block, "\n```\n")
	if !found || !begins || !ends {
		t.Fatalf("%s has no commands after %q", file, heading)
	}
	return strings.Split(block, "\n")
}

// systemd accepts the unit, and rates what a broken-into service could still do: 10 is everything, and under 2 the goal.
func TestUnit(t *testing.T) {
	t.Parallel()
	unit := filepath.Join("..", "..", "deploy", "package", "assay.service")
	out := output(t, "systemd-analyze", "security", "--offline=true", "--threshold=19", "--no-pager", unit)
	for line := range strings.Lines(out) {
		if strings.Contains(line, "Overall exposure level") {
			t.Log(strings.TrimSpace(line))
		}
	}
	text, err := os.ReadFile(unit)
	must(t, err)
	here := filepath.Join(t.TempDir(), "assay.service")
	must(t, os.WriteFile(here, []byte(strings.ReplaceAll(string(text), "/usr/bin/assay", "/bin/true")), 0o600))
	verified, err := exec.Command("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", here).CombinedOutput()
	if err != nil || strings.Contains(string(verified), "assay.service:") {
		t.Errorf("systemd-analyze verify: %v\n%s", err, verified)
	}
}

// A tool of others reads the image, and the program in it runs in a folder that has nothing else.
func TestImage(t *testing.T) {
	t.Parallel()
	b := newBuilder(t, filepath.Join("..", "..", "bin", "assay"), "0.6.0", platform{"linux", runtime.GOARCH})
	must(t, b.writeImage())
	archive := filepath.Join(b.out, "assay-0.6.0-oci.tar")
	seen := output(t, "skopeo", "inspect", "--config", "oci-archive:"+archive+":0.6.0")
	for _, want := range []string{`"User":"65532:65532"`, `"Entrypoint":["/usr/bin/assay"]`, at.Format(time.RFC3339), commit} {
		if !strings.Contains(strings.NewReplacer(" ", "", "\n", "", "\t", "").Replace(seen), want) {
			t.Errorf("the image lacks %s: %s", want, seen)
		}
	}
	folder := filepath.Join(t.TempDir(), "image")
	output(t, "skopeo", "copy", "--quiet", "--insecure-policy", "oci-archive:"+archive+":0.6.0", "dir:"+folder)
	root := t.TempDir()
	layers := 0
	entries, err := os.ReadDir(folder)
	must(t, err)
	for _, entry := range entries {
		if err := exec.Command("tar", "--extract", "--gzip", "--file", filepath.Join(folder, entry.Name()), "--directory", root,
			"--no-same-owner").Run(); err == nil {
			layers++
		}
	}
	if layers != 1 {
		t.Fatalf("%d layers", layers)
	}
	args := append(asRoot(), "chroot", "--userspec=65532:65532", root, "/usr/bin/assay", "version")
	if got := output(t, args[0], args[1:]...); !strings.HasPrefix(got, "assay ") {
		t.Errorf("the program in the image says %s", got)
	}
}
