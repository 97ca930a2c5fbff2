package main

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/assaydata/assay/internal/store/storetest"
	"github.com/assaydata/assay/internal/web"
)

var (
	// program is the file of the program under test; empty if there is none.
	program string

	// sharedFolder has what takes long to create and several tests read. It is removed at the end.
	sharedFolder string
)

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	var err error
	if sharedFolder, err = os.MkdirTemp("", "assay-test"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(sharedFolder)
	if program, err = findProgram(); err != nil {
		fmt.Fprintln(os.Stderr, "ASSAY_TEST_BINARY:", err)
		return 1
	}
	defer func() { stopSharedDemo() }() // the function as it is then
	return m.Run()
}

// findProgram links the program under the name assay.
func findProgram() (string, error) {
	name := os.Getenv("ASSAY_TEST_BINARY")
	if name == "" {
		return "", nil
	}
	file, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(file); err != nil {
		return "", err
	}
	bin := filepath.Join(sharedFolder, "bin")
	link := filepath.Join(bin, "assay")
	return link, errors.Join(os.Mkdir(bin, 0o700), os.Symlink(file, link))
}

// TestScript runs the scripts in testdata against the program. In addition to the commands of testscript they have:
//
//	exits CODE PROGRAM ARG…               run a program; it must end with the exit code
//	refuses FLAG VALUE PROGRAM ARG…       it must end with 2 and name the flag, as a flag and as a variable
//	mistyped PROGRAM ARG…                 run it on the folder mistyped, which has no database: it must refuse
//	capture VAR                           store the last standard output, without its line end, in a variable
//	compress FILE                         write FILE from the file whose name lacks the suffix, .gz or .zst
//	parquet FILE                          write FILE.parquet from FILE.csv, every column text
//	serve-start [-unhealthy] NAME ARG…    start assay in the background, with output to NAME.out and NAME.err; sets $URL;
//	                                      it waits until the server is healthy, with -unhealthy until it responds
//	serve-stop NAME                       end it with SIGTERM; it must exit with 0
//	demo-market FOLDER                    copy the market of the demo that the tests share
//	demo-shared                           set $URL, $PREMIUM and $FULL to the demo that the tests share
//	http [-key VAR] [-session VAR] [-method M] [-body JSON | -file FILE -type MEDIA-TYPE] PATH
//	                                      print the status, three headers and the body of a response
//	sign-in VAR EMAIL PASSWORD            store the token of a new session in a variable
//	http-to FILE HTTP-ARG…                write them to a file, which keeps a long body out of the test's log
//	eventually LIMIT PATTERN HTTP-ARG…    repeat http until it prints the pattern
//	leaked VAR PATH…                      the secret in the variable is in a file
//	database NAME                         PostgreSQL: work on another database from here on; SQLite has one per folder
//	database-away, database-back          PostgreSQL: refuse all connections to the database, and accept them again
//	dump FOLDER                           PostgreSQL: write the content of the database to a folder, as SQLite does
//
// Every script runs on SQLite and on PostgreSQL. For PostgreSQL, ASSAY_STORE is set and --dir is the folder of the
// files next to the database. A line for one of them only starts with [sqlite] or [postgres], with the reason above it.
func TestScript(t *testing.T) {
	needProgram(t)
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		runScripts(t, "")
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		runScripts(t, storetest.Server(t))
	})
}

// runScripts runs all scripts with databases of a PostgreSQL server, or with SQLite if none is named.
func runScripts(t *testing.T, server string) {
	t.Helper()
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", filepath.Dir(program)+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Values[inBackground] = map[string]*process{}
			if server == "" {
				return nil
			}
			d := &scriptDatabases{t: t, server: server, addresses: map[string]string{}, atEnd: env.Defer}
			env.Values[onPostgres] = d
			address, err := d.get(t.Context(), "data")
			env.Setenv(storeVariable, address)
			return err
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "sqlite":
				return server == "", nil
			case "postgres":
				return server != "", nil
			}
			return false, fmt.Errorf("unknown condition %s: the engines are sqlite and postgres", name)
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": cmdExits, "refuses": cmdRefuses, "mistyped": cmdMistyped, "capture": cmdCapture,
			"compress": cmdCompress, "parquet": cmdParquet,
			"serve-start": cmdServeStart, "serve-stop": cmdServeStop, "demo-market": cmdDemoMarket, "demo-shared": cmdDemoShared,
			"http": cmdHTTP, "sign-in": cmdSignIn, "http-to": cmdHTTPTo, "eventually": cmdEventually, "leaked": cmdLeaked,
			"database": cmdDatabase, "database-away": cmdDatabaseAway, "database-back": cmdDatabaseBack, "dump": cmdDump,
		},
	})
}

// needProgram skips a test of the whole program if none is given: these tests take long, and running the tests of all
// packages should not run them a second time.
func needProgram(t *testing.T) {
	t.Helper()
	if program == "" {
		t.Skip("make script runs this test, with the program that ASSAY_TEST_BINARY names")
	}
}

// inBackground is the key of a script's background programs, by name.
const inBackground = "background"

// process is a program in the background.
type process struct {
	url    string
	client *http.Client // reaches it
	cmd    *exec.Cmd
	exited chan struct{} // closed at the end of the program
}

// patience is how long a test waits for what takes seconds on a quiet machine: others may be very busy.
const patience = 8 * time.Minute

// startServer starts the program on a free port, with its output in dir, and waits until it is healthy.
func startServer(dir, name string, args ...string) (*process, error) {
	return startServerWith(nil, dir, name, args...)
}

// startServerWith is startServer with additional environment variables. The program inherits no others that it could
// take for settings.
func startServerWith(environment []string, dir, name string, args ...string) (*process, error) {
	p, err := startCommand(environment, dir, name, exec.Command(program, args...))
	if err != nil {
		return nil, err
	}
	// On a busy machine the database may not respond in time at first.
	if err := until(patience, 10*time.Millisecond, p.healthy); err != nil {
		p.kill()
		return nil, err
	}
	return p, nil
}

// startCommand starts a command that becomes the program, and waits until it responds, healthy or not.
func startCommand(environment []string, dir, name string, cmd *exec.Cmd) (*process, error) {
	return startCommandFor(http.DefaultClient, environment, dir, name, cmd)
}

// startCommandFor is startCommand for a program that the client reaches.
func startCommandFor(
	client *http.Client, environment []string, dir, name string, cmd *exec.Cmd,
) (*process, error) {
	out, err := os.Create(filepath.Join(dir, name+".out"))
	if err != nil {
		return nil, err
	}
	defer out.Close()
	log, err := os.Create(filepath.Join(dir, name+".err"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := &process{cmd: cmd, client: client, exited: make(chan struct{})}
	if !slices.Contains(p.cmd.Args, "--addr") {
		p.cmd.Args = append(p.cmd.Args, "--addr", "127.0.0.1:0")
	}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, out, log
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, environment...)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait() // stop looks at the exit code
		close(p.exited)
	}()
	if err := until(patience, 10*time.Millisecond, func() error { return p.ready(out.Name()) }); err != nil {
		p.kill()
		text, _ := os.ReadFile(log.Name())
		return nil, fmt.Errorf("start %v: %w\n%s", cmd.Args, err, text)
	}
	return p, nil
}

var servedAt = regexp.MustCompile(`https?://127\.0\.0\.1:\d+`)

// ready reads the address from the output of the program, and sends it a request.
func (p *process) ready(output string) error {
	select {
	case <-p.exited:
		return errGivenUp{errors.New("the program has ended")}
	default:
	}
	text, err := os.ReadFile(output)
	if err != nil {
		return err
	}
	if p.url = servedAt.FindString(string(text)); p.url == "" {
		return errors.New("no address is printed")
	}
	_, err = p.health()
	return err
}

// healthy is an error unless the server says that all is well.
func (p *process) healthy() error {
	status, err := p.health()
	if err == nil && status != http.StatusOK {
		return fmt.Errorf("/health responds with %d", status)
	}
	return err
}

// health returns the status code of /health.
func (p *process) health() (int, error) {
	response, err := p.client.Get(p.url + "/health")
	if err != nil {
		return 0, err
	}
	response.Body.Close()
	return response.StatusCode, nil
}

// stop ends the program as an operator would and waits for it.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.exited:
	case <-time.After(patience):
		p.kill()
		return errors.New("still running long after SIGTERM")
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("exit code %d after SIGTERM, not 0", code)
	}
	return nil
}

// kill ends the program immediately. It may have ended already.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// errGivenUp is an error that a retry cannot fix.
type errGivenUp struct{ error }

// until retries until there is no error, and returns the last error when the limit has passed.
func until(limit, pause time.Duration, try func() error) error {
	timeout := time.After(limit)
	for {
		err := try()
		if err == nil {
			return nil
		}
		if errors.As(err, &errGivenUp{}) {
			return err
		}
		select {
		case <-timeout:
			return fmt.Errorf("not within %v: %w", limit, err)
		case <-time.After(pause):
		}
	}
}

func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if code := exitCodeOf(ts, args[1:]); code != want {
		ts.Fatalf("exit code %d, not %d", code, want)
	}
}

// cmdMistyped runs a command on a folder without a database, which it must refuse and leave as it is.
func cmdMistyped(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: mistyped PROGRAM ARG…")
	}
	if code := exitCodeOf(ts, args); code != 1 {
		ts.Fatalf("exit code %d, not 1", code)
	}
	const want = "there is no database in mistyped. Create one: assay init --dir mistyped\n"
	if got := ts.ReadFile("stderr"); !strings.HasSuffix(got, want) {
		ts.Fatalf("the error is %q, want %q", got, want)
	}
	if _, err := os.Stat(ts.MkAbs("mistyped")); err == nil {
		ts.Fatalf("the folder mistyped exists")
	}
}

// exitCodeOf runs a program and returns its exit code.
func exitCodeOf(ts *testscript.TestScript, args []string) int {
	err := ts.Exec(args[0], args[1:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	ts.Check(err)
	return 0
}

func cmdRefuses(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: refuses FLAG VALUE PROGRAM ARG…")
	}
	flag, value, command := args[0], args[1], args[2:]
	variable := "ASSAY_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
	for _, line := range [][]string{
		append(command[:len(command):len(command)], "--"+flag+"="+value),
		append([]string{"env", variable + "=" + value}, command...),
	} {
		if code := exitCodeOf(ts, line); code != exitUsage {
			ts.Fatalf("%q: exit code %d, not %d", line, code, exitUsage)
		}
		if text := ts.ReadFile("stderr"); !strings.Contains(text, "-"+flag) {
			ts.Fatalf("%q: the message does not name the flag: %s", line, text)
		}
	}
}

func cmdCapture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: capture VAR")
	}
	ts.Setenv(args[0], strings.TrimSuffix(ts.ReadFile("stdout"), "\n"))
}

func cmdCompress(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: compress FILE")
	}
	suffix := filepath.Ext(args[0])
	var packed bytes.Buffer
	var w io.WriteCloser
	switch suffix {
	case ".gz":
		w = gzip.NewWriter(&packed)
	case ".zst":
		var err error
		w, err = zstd.NewWriter(&packed)
		ts.Check(err)
	default:
		ts.Fatalf("compress %s: allowed are .gz and .zst", args[0])
	}
	_, err := io.WriteString(w, ts.ReadFile(strings.TrimSuffix(args[0], suffix)))
	ts.Check(errors.Join(err, w.Close()))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), packed.Bytes(), 0o600))
}

func cmdParquet(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: parquet FILE")
	}
	rows, err := csv.NewReader(strings.NewReader(ts.ReadFile(args[0] + ".csv"))).ReadAll()
	ts.Check(err)
	columns := parquet.Group{}
	for _, column := range rows[0] {
		columns[column] = parquet.Optional(parquet.String())
	}
	schema := parquet.NewSchema("rows", columns)
	var file bytes.Buffer
	w := parquet.NewWriter(&file, schema, parquet.Compression(&parquet.Zstd))
	for _, cells := range rows[1:] {
		var row parquet.Row
		for i, path := range schema.Columns() {
			value := parquet.NullValue().Level(0, 0, i)
			if cell := cells[slices.Index(rows[0], path[0])]; cell != "" {
				value = parquet.ValueOf(cell).Level(0, 1, i)
			}
			row = append(row, value)
		}
		_, err := w.WriteRows([]parquet.Row{row})
		ts.Check(err)
	}
	ts.Check(w.Close())
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".parquet"), file.Bytes(), 0o600))
}

func cmdServeStart(ts *testscript.TestScript, neg bool, args []string) {
	start := startServerWith
	if len(args) > 0 && args[0] == "-unhealthy" {
		args = args[1:]
		start = func(environment []string, dir, name string, args ...string) (*process, error) {
			return startCommand(environment, dir, name, exec.Command(program, args...))
		}
	}
	if neg || len(args) < 2 {
		ts.Fatalf("usage: serve-start [-unhealthy] NAME ARG…")
	}
	var environment []string
	if address := ts.Getenv(storeVariable); address != "" {
		environment = []string{storeVariable + "=" + address}
	}
	p, err := start(environment, ts.MkAbs("."), args[0], args[1:]...)
	ts.Check(err)
	ts.Value(inBackground).(map[string]*process)[args[0]] = p
	ts.Defer(p.kill)
	ts.Setenv("URL", p.url)
}

func cmdServeStop(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: serve-stop NAME")
	}
	p, ok := ts.Value(inBackground).(map[string]*process)[args[0]]
	if !ok {
		ts.Fatalf("nothing is started as %s", args[0])
	}
	ts.Check(p.stop())
}

func cmdDemoMarket(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: demo-market FOLDER")
	}
	ts.Check(copyMarket(ts.MkAbs(args[0])))
}

func cmdDemoShared(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: demo-shared")
	}
	demo, err := sharedDemo()
	ts.Check(err)
	ts.Setenv("URL", demo.url)
	ts.Setenv("PREMIUM", demo.keys.Premium)
	ts.Setenv("FULL", demo.keys.Full)
}

func cmdHTTP(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("http cannot be negated")
	}
	text, err := request(ts, args)
	ts.Check(err)
	fmt.Fprint(ts.Stdout(), text)
}

func cmdHTTPTo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: http-to FILE HTTP-ARG…")
	}
	text, err := request(ts, args[1:])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// request sends one request and returns the response as text. It sets the request's id, so that error bodies do not
// vary.
func request(ts *testscript.TestScript, args []string) (string, error) {
	method, key, session, sent, sentType := http.MethodGet, "", "", "", "application/json"
	for ; len(args) > 2; args = args[2:] {
		switch args[0] {
		case "-method":
			method = args[1]
		case "-key":
			key = ts.Getenv(args[1])
		case "-session":
			session = ts.Getenv(args[1])
		case "-body":
			sent = args[1]
		case "-file":
			sent = ts.ReadFile(args[1])
		case "-type":
			sentType = args[1]
		default:
			ts.Fatalf("http: unknown option %s", args[0])
		}
	}
	if len(args) != 1 {
		ts.Fatalf("usage: http [-key VAR] [-session VAR] [-method M] [-body JSON | -file FILE -type T] PATH")
	}
	r, err := http.NewRequest(method, ts.Getenv("URL")+args[0], strings.NewReader(sent))
	if err != nil {
		return "", err
	}
	r.Header.Set("X-Request-Id", "script")
	if sent != "" {
		r.Header.Set("Content-Type", sentType)
	}
	if session != "" {
		r.Header.Set("Cookie", web.SessionCookie+"="+session)
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	text := response.Status + "\n"
	for _, name := range []string{"Allow", "Retry-After", "X-Assay-Synthetic"} {
		if value := response.Header.Get(name); value != "" {
			text += name + ": " + value + "\n"
		}
	}
	return text + string(body) + "\n", nil
}

func cmdSignIn(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: sign-in VAR EMAIL PASSWORD")
	}
	body := strings.NewReader(fmt.Sprintf(`{"email":%q,"password":%q}`, args[1], args[2]))
	response, err := http.Post(ts.Getenv("URL")+"/api/session", "application/json", body)
	ts.Check(err)
	ts.Check(response.Body.Close())
	for _, cookie := range response.Cookies() {
		if cookie.Name == web.SessionCookie {
			ts.Setenv(args[0], cookie.Value)
			return
		}
	}
	ts.Fatalf("sign in as %s: %s", args[1], response.Status)
}

func cmdEventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: eventually LIMIT PATTERN HTTP-ARG…")
	}
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	pattern, err := regexp.Compile(`(?m)` + args[1])
	ts.Check(err)
	text := ""
	// A hundred requests at most: the limit is 60 per minute without a key.
	ts.Check(until(limit, limit/100, func() error {
		if text, err = request(ts, args[2:]); err == nil && !pattern.MatchString(text) {
			err = fmt.Errorf("the response is %s", text)
		}
		return err
	}))
	fmt.Fprint(ts.Stdout(), text)
}

func cmdLeaked(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: leaked VAR PATH…")
	}
	secret := ts.Getenv(args[0])
	if strings.HasPrefix(secret, "sk_") {
		secret = strings.Join(strings.Split(secret, "_")[3:], "_") // after sk, tier and public id
	}
	if len(secret) < 12 {
		ts.Fatalf("%s does not hold a key or a password", args[0])
	}
	var found []string
	for _, path := range args[1:] {
		ts.Check(filepath.WalkDir(ts.MkAbs(path), func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := os.ReadFile(file)
			if bytes.Contains(content, []byte(secret)) {
				found = append(found, file)
			}
			return err
		}))
	}
	if leaked := len(found) > 0; leaked == neg {
		ts.Fatalf("the secret of %s is in %d files: %v", args[0], len(found), found)
	}
}
