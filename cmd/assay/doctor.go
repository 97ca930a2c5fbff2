package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/crypto/acme"
	"golang.org/x/sync/errgroup"

	"github.com/assaydata/assay/internal/certs"
	"github.com/assaydata/assay/internal/doctor"
	"github.com/assaydata/assay/internal/limit/sharedlimit"
	"github.com/assaydata/assay/internal/publish"
	"github.com/assaydata/assay/internal/store"
)

func newDoctorCommand(s *streams) *cobra.Command {
	var config serverConfig
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Examine this machine and the settings of serve",
		Long: `Examine what assay serve would run on and with: the folder of the data and who
may read it, the disk, the clock, the limit of open files, the database and its
schema, the signing key, the port, proxies, and every server that a setting
names. Nothing is changed.

Each line is ok, a warning or a problem, and says what to do about it. The exit
code is 1 if there is a problem. Run it as the user of the server and with its
settings: it takes all flags of assay serve, and reads the section of serve in
the configuration file.`,
		Example: `  assay doctor --dir data
  assay doctor --config /etc/assay/assay.toml
  assay doctor --addr 0.0.0.0:8080 --json`,
		Args:        arguments(),
		Annotations: map[string]string{settingsOf: "serve"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			found := examine(cmd.Context(), &config)
			if err := printFindings(s, asJSON, found); err != nil {
				return err
			}
			return verdict(found)
		},
	}
	registerServe(&config, cmd)
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Hidden = f.Name != "dir" && f.Name != "store" })
	addJSONFlag(cmd, &asJSON)
	return cmd
}

func printFindings(s *streams, asJSON bool, found []doctor.Finding) error {
	if asJSON {
		return printJSON(s.out, found)
	}
	for _, f := range found {
		if s.quiet && f.Level == doctor.OK {
			continue
		}
		fmt.Fprintf(s.out, "%-8s %s: %s\n", f.Level, f.Subject, f.Text)
		if f.Fix != "" {
			fmt.Fprintf(s.out, "         to fix: %s\n", f.Fix)
		}
	}
	return nil
}

// verdict is an error if there are problems.
func verdict(found []doctor.Finding) error {
	count := map[doctor.Level]int{}
	for _, f := range found {
		count[f.Level]++
	}
	if count[doctor.Problem] == 0 {
		return nil
	}
	return fmt.Errorf("problems: %d, warnings: %d", count[doctor.Problem], count[doctor.Warning])
}

// examine examines everything that a server with this configuration depends on.
func examine(ctx context.Context, config *serverConfig) (found []doctor.Finding) {
	add := func(list ...doctor.Finding) { found = append(found, list...) }
	add(examineSettings(config)...)
	add(examineFolders(config)...)
	add(doctor.Descriptors(descriptorLimit(), config.connections.Total+reservedDescriptors(descriptorLimit())))
	passed, what := examineDatabase(ctx, config, add)
	add(doctor.Clock(wallTime(), passed, what))
	add(doctor.Listen(ctx, "--addr", config.addr))
	if config.admin.addr != "" {
		add(doctor.Listen(ctx, "--admin-addr", config.admin.addr))
	}
	add(examineTLS(ctx, config)...)
	add(examineProxies(config)...)
	add(examineOthers(ctx, config)...)
	return found
}

// examineSettings finds settings that contradict each other, and files that they name and that cannot be used.
func examineSettings(config *serverConfig) (found []doctor.Finding) {
	_, mailErr := config.alerts.mail()
	_, providerErr := config.signIn.provider(wallTime, slog.New(slog.DiscardHandler))
	_, headersErr := config.traces.headers()
	for _, err := range []error{
		headersErr,
		config.node.check(config.location), config.admin.check(), mailErr, providerErr,
		config.signIn.checkSecretKey(config.location), config.tls.check(),
	} {
		if err != nil {
			found = append(found, doctor.Check("settings", "", err, "assay config check shows where each is set"))
		}
	}
	if found == nil {
		return []doctor.Finding{doctor.Check("settings", "they fit together", nil, "")}
	}
	return found
}

// examineFolders examines what the server writes to.
func examineFolders(config *serverConfig) []doctor.Finding {
	location := config.location
	hasDatabase := !store.IsPostgres(location.address())
	const create = "create the folder, or name another one"
	missing := create
	if hasDatabase {
		missing = location.asCommand("init") + " creates it"
	}
	found := doctor.Folder("folder", location.folder(), hasDatabase, missing)
	private := location.paths()
	for _, file := range []string{
		config.signIn.secretKeyFile, config.signIn.secretFile, config.alerts.passwordFile, config.traces.headersFile,
		config.tls.key,
	} {
		if file != "" {
			private = append(private, file)
		}
	}
	found = append(found, doctor.Private("permissions", private...)...)
	found = append(found, doctor.Folder("temporary files", os.TempDir(), false, create)...)
	if config.node.watch != "" {
		found = append(found, doctor.Folder("--watch", config.node.watch, false, create)...)
	}
	if config.logFile != "" {
		found = append(found, doctor.Folder("--log-file", filepath.Dir(config.logFile), false, create)...)
	}
	return found
}

// examineDatabase examines the database and what must agree with it. It returns an instant that has passed, and what
// happened then.
func examineDatabase(
	ctx context.Context, config *serverConfig, add func(...doctor.Finding),
) (passed time.Time, what string) {
	const subject = "database"
	location := config.location
	db, err := openDatabase(ctx, location)
	if err != nil {
		add(doctor.Check(subject, "", err, ""))
		return passed, ""
	}
	defer db.Close()
	add(doctor.Check(subject, fmt.Sprintf("%s has the schema %d", location, store.ProgramSchema()), nil, ""))
	add(examineServer(ctx, db, subject)...)
	if config.node.role.Publishes() {
		add(examineSigningKey(ctx, db, location.folder()))
	}
	if head, err := db.LogHead(ctx); err == nil && head.PublishedAt > 0 {
		return time.UnixMilli(head.PublishedAt), "the last publication"
	}
	return passed, ""
}

// examineServer examines the server of a PostgreSQL database.
func examineServer(ctx context.Context, db *store.DB, subject string) (found []doctor.Finding) {
	server, ok, err := db.Server(ctx)
	if err != nil {
		return []doctor.Finding{doctor.Check(subject, "", err, "look at the log of PostgreSQL")}
	}
	if !ok {
		return nil
	}
	add := func(level doctor.Level, text, fix string) {
		found = append(found, doctor.Finding{Subject: subject, Level: level, Text: text, Fix: fix})
	}
	if server.Standby {
		add(doctor.Problem, "this PostgreSQL is a standby and takes no writes", "name the primary in --store")
	}
	if len(server.Careless) > 0 {
		add(doctor.Problem, "PostgreSQL may forget what it has acknowledged: "+strings.Join(server.Careless, ", ")+" = off",
			"ALTER SYSTEM SET … = on for each of them, then SELECT pg_reload_conf()")
	}
	if !server.Encrypted && !server.Local {
		add(doctor.Warning, "the connection to PostgreSQL is not encrypted",
			"sslmode=verify-full&sslrootcert=FILE in the address of --store")
	}
	if err := (&publish.Publisher{Store: db, Now: wallTime}).CheckClock(ctx); err != nil {
		add(doctor.Problem, err.Error(), "set both clocks and keep them right: timedatectl set-ntp true")
	}
	if len(found) == 0 {
		add(doctor.OK, "PostgreSQL "+server.Version+" keeps what it acknowledges", "")
	}
	return found
}

// examineSigningKey examines whether the key is there and is the one that signs the log.
func examineSigningKey(ctx context.Context, db *store.DB, folder string) doctor.Finding {
	const subject = "signing key"
	key, err := readSigningKey(folder)
	if err == nil {
		err = checkSigningKey(ctx, db, folder, key)
	}
	switch {
	case err != nil:
		return doctor.Check(subject, "", err, "")
	case key == nil:
		return doctor.Finding{
			Subject: subject, Level: doctor.Warning, Text: "there is none: nothing that is published is signed",
			Fix: "assay signing-key init --dir " + folder,
		}
	}
	return doctor.Check(subject, signingKeyID(key)+" signs the log; keep a copy in another place", nil, "")
}

// expiresSoon is how long before its end a certificate is a warning; the alert AssayCertificateExpires has the same.
const expiresSoon = 7 * 24 * time.Hour

// examineTLS examines the certificate, and the port and the authority that go with it.
func examineTLS(ctx context.Context, config *serverConfig) (found []doctor.Finding) {
	c := &config.tls
	if !c.enabled() || c.check() != nil {
		return nil
	}
	if c.redirectAddr != "" {
		found = append(found, doctor.Listen(ctx, "--redirect-addr", c.redirectAddr))
	}
	if len(c.domains) > 0 {
		directory := cmp.Or(c.directory, acme.LetsEncryptURL)
		if c.directoryCA == "" { // otherwise only the server itself trusts the authority's own certificate
			found = append(found, doctor.Reach(ctx, "--acme-directory", directory))
		}
		return found
	}
	const subject = "certificate"
	files, err := certs.New(certs.Options{
		CertFile: c.cert, KeyFile: c.key, ClientCA: c.clientCA, Now: wallTime, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return append(found, doctor.Check(subject, "", err, "correct the files; until then the server does not start"))
	}
	expires := files.Expiry()
	text := fmt.Sprintf("%s is valid until %s", c.cert, expires.UTC().Format(time.RFC3339))
	finding := doctor.Finding{Subject: subject, Level: doctor.OK, Text: text}
	switch left := expires.Sub(wallTime()); {
	case left <= 0:
		finding.Level, finding.Fix = doctor.Problem, "replace it: clients refuse it"
	case left < expiresSoon:
		finding.Level, finding.Fix = doctor.Warning, "replace it before that; the server reads the files again by itself"
	}
	return append(found, finding)
}

// examineProxies examines who may say which address a client has, and how keys and passwords travel.
func examineProxies(config *serverConfig) (found []doctor.Finding) {
	const subject = "proxies"
	for _, prefix := range config.trustedProxies {
		if prefix.Bits() == 0 {
			found = append(found, doctor.Finding{
				Subject: subject, Level: doctor.Problem,
				Text: fmt.Sprintf("--trusted-proxies %s trusts everyone: any client can claim any address", prefix),
				Fix:  "name only the addresses of your proxies",
			})
		}
	}
	host, _, _ := net.SplitHostPort(config.addr) // it was checked
	switch {
	case len(found) > 0:
	case config.tls.enabled():
		found = append(found, doctor.Check(subject, "the server ends TLS itself", nil, ""))
	case len(config.trustedProxies) == 0 && !isLoopback(host):
		found = append(found, doctor.Finding{
			Subject: subject, Level: doctor.Warning,
			Text: "keys, passwords and cookies cross the network in the clear to --addr " + config.addr,
			Fix: "give the server a certificate with --tls-cert or --acme-domain, or put a proxy that terminates TLS in " +
				"front and name it in --trusted-proxies",
		})
	case len(config.trustedProxies) == 0 && strings.HasPrefix(config.signIn.publicURL, "https://"):
		found = append(found, doctor.Finding{
			Subject: subject, Level: doctor.Warning,
			Text: "--public-url begins with https://, but no proxy is trusted: all its clients count as one address",
			Fix:  "name the proxy in --trusted-proxies",
		})
	default:
		found = append(found, doctor.Check(subject, "clients have the addresses that they should have", nil, ""))
	}
	return found
}

// examineOthers examines all servers that settings name, at the same time.
func examineOthers(ctx context.Context, config *serverConfig) []doctor.Finding {
	type named struct{ flag, address string }
	others := []named{
		{"--oidc-issuer", config.signIn.issuer},
		{"--smtp", config.alerts.smtp.Address},
		{"--anchor", config.node.anchor},
		{"--traces", config.traces.url},
	}
	for _, peer := range config.node.witnesses {
		others = append(others, named{"--witness", peer.URL})
	}
	found := make([]doctor.Finding, len(others)+2)
	var group errgroup.Group
	for i, other := range others {
		if other.address != "" {
			group.Go(func() error {
				found[i] = doctor.Reach(ctx, other.flag, other.address)
				return nil
			})
		}
	}
	if config.limits != "" {
		group.Go(func() error {
			found[len(others)] = doctor.Check("--limits", "Redis counts", sharedlimit.Check(ctx, config.limits),
				"look at Redis and its address; until it answers, each node counts alone")
			return nil
		})
	}
	if replica := config.node.replica; replica.store != "" {
		group.Go(func() error {
			err := examineReplica(ctx, config)
			found[len(others)+1] = doctor.Check("--store-read", "the replica follows --store", err, "look at the replica")
			return nil
		})
	}
	_ = group.Wait() // what goes wrong is a finding
	return clean(found)
}

// clean leaves out places that were not filled.
func clean(found []doctor.Finding) (filled []doctor.Finding) {
	for _, f := range found {
		if f.Level != "" {
			filled = append(filled, f)
		}
	}
	return filled
}

// examineReplica opens the replica beside its primary.
func examineReplica(ctx context.Context, config *serverConfig) error {
	db, err := openDatabase(ctx, config.location)
	if err != nil {
		return err
	}
	defer db.Close()
	replica, err := store.OpenReplica(ctx, config.node.replica.store, db)
	if err != nil {
		return err
	}
	return replica.Close()
}
