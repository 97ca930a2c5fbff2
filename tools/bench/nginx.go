package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"text/template"
	"time"

	"github.com/assaydata/assay/tools/process"
)

// nginxServer serves each scenario's response from a file, each on its own port, under the same path as Assay.
type nginxServer struct {
	*process.Process
	bases []string // by scenario
}

// startNginx writes the files and the configuration below dir, starts nginx and compares its responses with Assay's.
func startNginx(ctx context.Context, program, dir string, scenarios []scenario) (*nginxServer, error) {
	home := filepath.Join(dir, "nginx")
	ports, err := process.SparePorts(len(scenarios))
	if err != nil {
		return nil, err
	}
	sites := make([]site, len(scenarios))
	for i, s := range scenarios {
		sites[i] = site{Addr: process.Loopback(ports[i]), Root: "www/" + strconv.Itoa(i), Gzip: s.gzip}
		for _, r := range s.requests() {
			if err := writeResponse(filepath.Join(home, sites[i].Root), r); err != nil {
				return nil, err
			}
		}
		if s.ranges != nil {
			sites[i].Root += "/$arg_startDate/$arg_endDate"
		}
	}
	config := filepath.Join(home, "nginx.conf")
	if err := os.WriteFile(config, nginxConfig(os.Getuid() == 0, sites), 0o600); err != nil {
		return nil, err
	}
	// SIGTERM, because the workers of a killed master stay.
	p, err := process.Command{
		Name:        "nginx",
		Dir:         dir,
		DeathSignal: syscall.SIGTERM,
		Program:     program,
		Args:        []string{"-p", home, "-c", config, "-e", "stderr"},
	}.Start()
	if err != nil {
		return nil, err
	}
	n := &nginxServer{Process: p}
	for _, site := range sites {
		n.bases = append(n.bases, "http://"+site.Addr)
	}
	if err := n.verify(ctx, scenarios); err != nil {
		p.Stop()
		return nil, err
	}
	return n, nil
}

// writeResponse writes the response to the file that nginx serves.
func writeResponse(root string, s scenario) error {
	name, err := s.file()
	if err != nil {
		return err
	}
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if s.gzip {
		if err := os.WriteFile(path+".gz", s.body, 0o600); err != nil {
			return err
		}
	}
	return os.WriteFile(path, s.plain, 0o600)
}

// verify waits for nginx and makes sure that it sends the bytes Assay sent.
func (n *nginxServer) verify(ctx context.Context, scenarios []scenario) error {
	for i, all := range scenarios {
		for _, s := range all.requests() {
			var got []byte
			err := n.Await(ctx, 10*time.Second, func(ctx context.Context) (err error) {
				got, err = fetch(ctx, n.bases[i], s)
				return err
			})
			if err != nil {
				return err
			}
			if !bytes.Equal(got, s.body) {
				return fmt.Errorf("%s: nginx sends %d bytes that differ from Assay's %d", s.name, len(got), len(s.body))
			}
		}
	}
	return nil
}

// site is one port of nginx. Root is relative to nginx's home.
type site struct {
	Addr, Root string
	Gzip       bool
}

// nginxConfig configures nginx for its best speed at sending files. All paths are relative to its home folder.
func nginxConfig(root bool, sites []site) []byte {
	var b strings.Builder
	err := configTemplate.Execute(&b, struct {
		Root  bool
		Sites []site
	}{root, sites})
	if err != nil {
		panic(err) // the template and its data are fixed
	}
	return []byte(b.String())
}

var configTemplate = template.Must(template.New("nginx.conf").Parse(`
{{- if .Root}}user root; # otherwise the workers run as user nobody and cannot read the files
{{end -}}
daemon off;
worker_processes 2;
pid nginx.pid;
error_log stderr warn;

events {
	worker_connections 1024;
}

http {
	access_log off;
	sendfile on;
	tcp_nopush on;
	open_file_cache max=1000 inactive=1h;
	open_file_cache_valid 1h;
	keepalive_requests 1000000;
	default_type application/json;

	client_body_temp_path tmp_body;
	proxy_temp_path tmp_proxy;
	fastcgi_temp_path tmp_fastcgi;
	uwsgi_temp_path tmp_uwsgi;
	scgi_temp_path tmp_scgi;
{{range .Sites}}
	server {
		listen {{.Addr}};
		root {{.Root}};{{if .Gzip}}
		gzip_static on;{{end}}
	}
{{end -}}
}
`))
