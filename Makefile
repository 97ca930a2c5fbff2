# Assay. `make help` lists the targets. Every target installs or builds what it needs first.

GO     ?= go
BIN    := bin/assay
LINT   := tools/lint/bin/golangci-lint
# The program needs no C compiler; the race detector does.
export CGO_ENABLED ?= 0
# The program contains no path of the machine that built it. Tests and linters use what was compiled for it.
export GOFLAGS := $(strip $(GOFLAGS) -trimpath)
export GO

.DEFAULT_GOAL := help

##@ Build and run

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^##@ / { printf "\n%s\n", substr($$0, 5) } /^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# `make test` builds the program once and sets BUILT, so that no step replaces a program that another step runs.
.PHONY: build
build: ui ## build bin/assay, with the dashboard if npm is installed
ifdef BUILT
	@:
else
	$(GO) build -buildvcs=auto -o $(BIN) ./cmd/assay
endif

# The dashboard is built from npm packages into the folder that the program embeds. Without npm the program is built without
# it, and shows how to build the dashboard in its place.
UI_SOURCES := $(shell find ui/src ui/public ui/index.html ui/vite.config.ts ui/svelte.config.js ui/tsconfig.json)
DASHBOARD  := internal/dashboard/dist/index.html
NPM        := $(shell command -v npm)
ifneq ($(NPM),)
UI_PACKAGES := ui/node_modules/.package-lock.json
endif

.PHONY: ui
ui: ## build the dashboard
ifeq ($(NPM),)
	@echo 'npm is not installed: the program is built without the dashboard'
else
ui: $(DASHBOARD)
endif

$(DASHBOARD): ui/node_modules/.package-lock.json $(UI_SOURCES)
	cd ui && npm run --silent build -- --logLevel warn

# npm installs what the lockfile names, with the hashes it names, and runs no code of the packages while it does.
NPM_CI := npm ci --ignore-scripts --no-fund --no-audit

ui/node_modules/.package-lock.json: ui/package-lock.json
	cd ui && $(NPM_CI)
	@touch $@

.PHONY: run
run: build ## build, start the demo, and print keys and requests to try
	$(BIN) demo

.PHONY: clean
clean: ## remove everything the targets made, except the linter (see clean-all)
	rm -rf bin dist ui/node_modules ui/generated ui/test-results
	rm -rf sdk/typescript/node_modules sdk/typescript/src/generated sdk/typescript/dist sdk/typescript/build sdk/typescript/LICENSE
	find internal/dashboard/dist -mindepth 1 ! -name .gitkeep -delete

.PHONY: clean-all
clean-all: clean ## also remove the linters, which take minutes to build
	rm -rf tools/generators/bin tools/generators/node_modules tools/lint/bin tools/lint/node_modules tools/duckdb/node_modules tools/mcp/node_modules tools/nats/bin tools/tessera/bin tools/vuln/bin
	rm -rf tools/peers/victoria/bin tools/peers/stdlib/bin tools/peers/express/node_modules

##@ Release

.PHONY: dist dist-short
dist: build ## archives, packages, an image, a bill of materials and checksums, in the folder dist (some minutes)
	cd tools/dist && $(GO) run . -out $(CURDIR)/dist

# It installs the package on a copy of this machine, and lets tools of others read what was built.
dist-short: build
	scripts/need machine rpm skopeo systemd
	cd tools/dist && GOFLAGS='-mod=readonly -trimpath' $(GO) vet . && GOFLAGS='-mod=readonly -trimpath' $(GO) test .

##@ Test

# PostgreSQL and Redis are started once for everything that needs them. Each of these targets also works alone: then it starts
# its own servers. with-services inside with-services uses the servers that already run.
SERVICES := scripts/with-services
NEEDED   := curl openssl python3 column python-sdk chromium nginx varnish sqlite3 wrk postgres redis-server etcd haproxy patroni \
            machine rpm skopeo systemd prometheus pebble
STEPS    := lint script race e2e unit-rest drill-short bench-short growth-short abuse-short sdk-python sdk-ts generators mcp-inspector-short \
            dist-short fuzz-short unit-ui

.PHONY: check
check: $(UI_PACKAGES) ## formatting, vet, lint and unit tests on SQLite: no servers, no browser, no root rights
	scripts/steps unit-sqlite lint unit-ui

# The long steps come first, so that no long one is left over at the end. lint is the longest on a new machine, where it builds
# golangci-lint.
.PHONY: test
test: build ## everything: lint, unit tests, race detector, scripts, browser, short fuzz, bench, drill and abuse
	scripts/need $(NEEDED)
	BUILT=1 $(SERVICES) scripts/steps $(STEPS)

# Tests that wait for servers leave cores free, so more of them run at a time than there are cores.
WAITING := -parallel 4

.PHONY: unit
unit: ## tests of all packages except the command (see script), on SQLite and PostgreSQL
	scripts/need postgres redis-server python3 prometheus
	$(SERVICES) scripts/go-test $(WAITING) $$($(GO) list ./... | grep -v /cmd/assay)

# Of these packages, race runs every test: none is for PostgreSQL, long in one goroutine, or about another program. make test
# runs them once. scripts/go-test fails if one of them skips a test under race, TestRacedWhole if one does less there.
RACED_WHOLE := ./client ./internal/anchor ./internal/apitest ./internal/appendonly ./internal/backtest ./internal/bulk \
	./internal/cache ./internal/certs ./internal/doctor ./internal/download ./internal/events ./internal/factor ./internal/family \
	./internal/fetch ./internal/files ./internal/hasher ./internal/http1 ./internal/latency ./internal/limit \
	./internal/limit/sharedlimit ./internal/linelog ./internal/mail ./internal/memfile ./internal/monitor \
	./internal/oidc ./internal/pin ./internal/push ./internal/redact ./internal/registry ./internal/seal ./internal/snapshot \
	./internal/table ./internal/tracing ./internal/webhook ./internal/witness ./tools/abuse ./tools/attacks ./tools/process \
	./tools/relay ./tools/strict

# What make test runs of unit: the packages of which race leaves something.
.PHONY: unit-rest
unit-rest:
	scripts/need postgres redis-server python3 prometheus
	$(SERVICES) scripts/go-test $(WAITING) \
		$$($(GO) list ./... | grep -v /cmd/assay | grep -vxF "$$($(GO) list $(RACED_WHOLE))")

.PHONY: unit-sqlite
unit-sqlite: ## tests of all packages, except those that need PostgreSQL or Redis
	scripts/need python3
	ASSAY_TEST_ENGINES=sqlite scripts/go-test ./...

# Packages without goroutines of their own have nothing for the race detector to find. Everything else runs under it, in the
# short form: it skips long tests that use one goroutine, and repeats on PostgreSQL only the tests about PostgreSQL.
NO_GOROUTINES := . ./docs ./internal/access ./internal/alert ./internal/chart ./internal/coding ./internal/dashboard ./internal/flatparquet ./internal/httperror ./internal/index/... ./internal/jsonrows ./internal/ln \
	./internal/memory ./internal/merkle ./internal/proof ./internal/sites ./internal/tokens ./internal/utilization ./internal/values ./scripts ./tools/bench ./tools/drill ./tools/growth ./tools/incidents ./tools/peers/stdlib ./tools/report ./tools/restore ./tools/secondverifier ./tools/testenv ./verifier

# SQLite itself, translated to Go, is not watched: it has no goroutines, and watching it takes most of the time of the tests
# that use it. Everything that calls it is watched.
export RACE_FLAGS := -race -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc/...=-race=false

.PHONY: race
race: ## tests of all packages with goroutines, under the race detector
	scripts/need postgres redis-server
	WHOLE="$$($(GO) list $(RACED_WHOLE))" CGO_ENABLED=1 $(SERVICES) scripts/go-test $(RACE_FLAGS) -short \
		$$($(GO) list ./... | grep -vxF "$$($(GO) list $(NO_GOROUTINES))")

# Programs of others that judge the log. They have their own module, as golangci-lint has.
TESSERA := github.com/transparency-dev/tessera/cmd
JUDGES  := tools/tessera/bin/fsck tools/tessera/bin/mirror tools/tessera/bin/cosigned

$(JUDGES) &: tools/tessera/go.mod tools/tessera/go.sum tools/tessera/cosigned/main.go
	cd tools/tessera && GOFLAGS=-mod=readonly $(GO) build -trimpath -o bin/fsck $(TESSERA)/fsck
	cd tools/tessera && GOFLAGS=-mod=readonly $(GO) build -trimpath -o bin/mirror $(TESSERA)/experimental/mirror/posix
	cd tools/tessera && GOFLAGS=-mod=readonly $(GO) build -trimpath -o bin/cosigned ./cosigned
	@touch $(JUDGES)

# The server of NATS, whose messages assay ingest nats imports.
NATS := tools/nats/bin/nats-server

$(NATS): tools/nats/go.mod tools/nats/go.sum
	cd tools/nats && GOFLAGS=-mod=readonly $(GO) build -trimpath -o bin/nats-server github.com/nats-io/nats-server/v2
	@touch $@

# DuckDB reads what the server sends as Parquet.
ifneq ($(NPM),)
DUCKDB := tools/duckdb/node_modules/.package-lock.json

$(DUCKDB): tools/duckdb/package-lock.json
	cd tools/duckdb && $(NPM_CI)
	@touch $@
endif

.PHONY: script
script: build $(JUDGES) $(NATS) $(DUCKDB) ## tests of the command: its packages, and scripts that run the whole program
	scripts/need curl openssl python3 column nginx varnish haproxy pebble
	$(if $(NPM),,@echo 'npm is not installed: the test with DuckDB is left out')
	ASSAY_TEST_BINARY=$(CURDIR)/$(BIN) $(SERVICES) scripts/go-test $(WAITING) -count=1 ./cmd/...

.PHONY: unit-ui
unit-ui: $(UI_PACKAGES) ## unit tests of the dashboard, if npm is installed
	$(if $(NPM),cd ui && npm run --silent test,@echo 'npm is not installed: $@ is left out')

# Debian's Python, whatever else is on the path: it has the packages that the tests need. --skip-dependency-check, because
# its hatchling lacks a package that only editable installations need.
PYTHON := PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3
DIST   := $(CURDIR)/bin/python

.PHONY: sdk-python
sdk-python: build ## types, tests and packages (in bin/python) of the Python client
	scripts/need openssl python-sdk
	cd sdk/python && $(PYTHON) -m mypy --cache-dir $(DIST)/mypy
	cd sdk/python && $(PYTHON) -m build --no-isolation --skip-dependency-check --outdir $(DIST) . >$(DIST)/log 2>&1 || { cat $(DIST)/log; exit 1; }
	cd sdk/python && ASSAY_BINARY=$(CURDIR)/$(BIN) ASSAY_PYTHON_DIST=$(DIST) $(PYTHON) -m pytest -q

SDK_TS_PACKAGES := sdk/typescript/node_modules/.package-lock.json

$(SDK_TS_PACKAGES): sdk/typescript/package-lock.json
	cd sdk/typescript && $(NPM_CI)
	@touch $@

# The package that npm publishes is built on the way.
.PHONY: sdk-ts
ifeq ($(NPM),)
sdk-ts:
	@echo 'npm is not installed: $@ is left out'
else
sdk-ts: build $(SDK_TS_PACKAGES) ## build, lint and tests of the TypeScript SDK, if npm is installed
	cd sdk/typescript && npm run --silent lint
	cd sdk/typescript && npm run --silent format:check -- --log-level warn
	cd sdk/typescript && ASSAY_BINARY=$(CURDIR)/$(BIN) npm run --silent test
endif

PLAYWRIGHT := node_modules/.bin/playwright test --config e2e/playwright.config.ts

.PHONY: e2e
e2e: build ## tests of the dashboard in a real browser
	scripts/need chromium curl postgres
	cd ui && ../$(SERVICES) $(PLAYWRIGHT) --project e2e --project bench

# The official inspector of the Model Context Protocol, from the npm packages of its lockfile.
INSPECTOR := tools/mcp/node_modules/.package-lock.json

$(INSPECTOR): tools/mcp/package-lock.json
	cd tools/mcp && $(NPM_CI)
	@touch $@

.PHONY: mcp-inspector mcp-inspector-short
ifeq ($(NPM),)
mcp-inspector mcp-inspector-short:
	@echo 'npm is not installed: $@ is left out'
else
mcp-inspector: build $(INSPECTOR) ## let the official inspector list and call the tools for agents
	$(GO) run ./tools/mcp

mcp-inspector-short: build $(INSPECTOR)
	$(GO) run ./tools/mcp -short
endif

# Generators of clients, and a validating proxy. oapi-codegen has its own module, as golangci-lint has.
GENERATORS := tools/generators
OAPI       := $(GENERATORS)/bin/oapi-codegen

$(OAPI): $(GENERATORS)/go.mod $(GENERATORS)/go.sum
	cd $(GENERATORS) && GOFLAGS=-mod=readonly $(GO) build -trimpath -o bin/oapi-codegen \
		github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen
	@touch $@

$(GENERATORS)/node_modules/.package-lock.json: $(GENERATORS)/package-lock.json
	cd $(GENERATORS) && $(NPM_CI)
	@touch $@

.PHONY: generators
ifeq ($(NPM),)
generators:
	@echo 'npm is not installed: $@ is left out'
else
generators: build $(OAPI) $(GENERATORS)/node_modules/.package-lock.json ## clients that others generate from the API description, and a validating proxy
	cd $(GENERATORS) && ASSAY_TEST_BINARY=$(CURDIR)/$(BIN) node --test
endif

FUZZTIME ?= 60s
.PHONY: fuzz fuzz-short
fuzz: ## every fuzz target for FUZZTIME (60s)
	scripts/fuzz $(FUZZTIME)

fuzz-short:
	scripts/fuzz --unguided 2000x

.PHONY: fuzz-http
INPUTS ?= 100000000
fuzz-http: ## the HTTP loop beside net/http, with INPUTS connections (100 million)
	GOGC=off GOMEMLIMIT=1GiB $(GO) test ./internal/http1 -run 'TestDifferential$$' -inputs $(INPUTS) -timeout 24h -v

RUNS ?= 50
PKG  ?= ./...
.PHONY: stress
stress: ## unit tests RUNS (50) times with all cores busy, failures by test (also: PKG=./internal/store RACE=1)
	scripts/need postgres redis-server
	$(SERVICES) scripts/stress $(RUNS) $(PKG)

.PHONY: golden
golden: ## rewrite the golden files; review the difference before you commit it
	$(GO) test ./internal/api ./internal/chart ./internal/console ./internal/share -update

##@ Lint

.PHONY: lint
lint: lint-go lint-openapi lint-ui ## all linters

.PHONY: fmt
fmt: $(LINT) ## format the Go code
	$(LINT) fmt

.PHONY: lint-go
lint-go: $(LINT) ## formatting, vet and lint of the Go code
	$(LINT) run --allow-parallel-runners ./...

# golangci-lint is built from source in its own module, so that its dependencies are not ours.
$(LINT): tools/lint/go.mod tools/lint/go.sum
	@echo 'building golangci-lint (once, a few minutes)'
	cd tools/lint && GOFLAGS=-mod=mod $(GO) build -o bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

.PHONY: lint-openapi lint-ui
ifeq ($(NPM),)
lint-openapi lint-ui:
	@echo 'npm is not installed: $@ is left out'
else
lint-openapi: tools/lint/node_modules/.package-lock.json ## lint of the OpenAPI description
	cd tools/lint && REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_NOTIFICATIONS=true node_modules/.bin/redocly lint ../../internal/api/openapi.yaml

lint-ui: ui/node_modules/.package-lock.json ## formatting, types, markup and ESLint of the dashboard
	cd ui && npm run --silent check
	cd ui && npm run --silent lint
	cd ui && npm run --silent format:check -- --log-level warn
endif

tools/lint/node_modules/.package-lock.json: tools/lint/package-lock.json
	cd tools/lint && $(NPM_CI)

GOVULNCHECK := tools/vuln/bin/govulncheck

.PHONY: vuln
vuln: $(GOVULNCHECK) ## look for known vulnerabilities in Go modules and npm packages, as far as the network allows
	GOVULNCHECK=$(GOVULNCHECK) scripts/vuln ui sdk/typescript tools/generators tools/lint tools/duckdb tools/mcp tools/peers/express

# In its own module, as golangci-lint is, and apart from it: a new version of one does not rebuild the other.
$(GOVULNCHECK): tools/vuln/go.mod tools/vuln/go.sum
	cd tools/vuln && GOFLAGS=-mod=readonly $(GO) build -o bin/govulncheck golang.org/x/vuln/cmd/govulncheck
	@touch $@

##@ Measure

.PHONY: bench
bench: build ## measure the server beside nginx and write docs/performance.md (some minutes)
	scripts/need nginx wrk
	$(GO) run ./tools/bench -update docs/performance.md

.PHONY: bench-engine
bench-engine: build ## measure import, publish and verify beside sqlite3, and beside the binary BEFORE, and write docs/performance.md (15 minutes, 4 GB)
	scripts/need sqlite3 wrk
	$(GO) run ./tools/bench -engine $(if $(BEFORE),-before $(BEFORE)) -update docs/performance.md

.PHONY: bench-nodes
bench-nodes: build ## measure nodes on PostgreSQL and shared limits, and write docs/performance.md (10 minutes, 6 GB)
	scripts/need postgres redis-server wrk
	ASSAY_TEST_FSYNC=on $(SERVICES) $(GO) run ./tools/bench -nodes -update docs/performance.md

# What people would use instead of Assay. VictoriaMetrics is built from source in its own module, with a C compiler, as its
# releases are; the packages of the Express service are those of its lockfile.
VICTORIA := tools/peers/victoria/bin/victoria-metrics
EXPRESS  := tools/peers/express/node_modules/.package-lock.json

$(VICTORIA): tools/peers/victoria/go.mod tools/peers/victoria/go.sum
	@echo 'building VictoriaMetrics (once, some minutes)'
	cd tools/peers/victoria && CGO_ENABLED=1 GOFLAGS=-mod=readonly $(GO) build -trimpath -o bin/victoria-metrics \
		github.com/VictoriaMetrics/VictoriaMetrics/app/victoria-metrics
	@touch $@

$(EXPRESS): tools/peers/express/package-lock.json
	scripts/need npm
	cd tools/peers/express && $(NPM_CI)
	@touch $@

.PHONY: bench-peers
bench-peers: build $(VICTORIA) $(EXPRESS) ## measure the server beside VictoriaMetrics, Express and others, and write docs/performance.md (15 minutes)
	scripts/need nginx wrk postgres redis-server npm
	$(GO) build -o tools/peers/stdlib/bin/stdlib ./tools/peers/stdlib
	ASSAY_TEST_FSYNC=on $(SERVICES) $(GO) run ./tools/bench -peers -update docs/performance.md

.PHONY: growth growth-start growth-short
growth: build ## measure every command and the server up to 10,000,000 values, and write docs/performance.md (half an hour, 8 GB)
	$(GO) run ./tools/growth -update docs/performance.md

growth-start: build ## measure the start of a server with up to 20,000,000 values, and write docs/performance.md (half an hour, 10 GB)
	$(GO) run ./tools/growth -start -update docs/performance.md

growth-short: build
	$(GO) run ./tools/growth -short
	$(GO) run ./tools/growth -start -short

.PHONY: bench-ui
bench-ui: build ## measure the dashboard and write docs/performance.md
	scripts/need chromium
	cd ui && ASSAY_BENCH_UPDATE=1 $(PLAYWRIGHT) --project bench --workers 1

.PHONY: bench-reach
bench-reach: build ## measure a node with 20,000 streams, and bulk files, and write docs/performance.md (three minutes)
	scripts/need wrk
	$(GO) run ./tools/bench -reach -update docs/performance.md
	$(GO) test ./internal/api -run '^$$' -bench Bulk -benchtime 2x

# The short form of the dashboard's measurement is part of e2e.
.PHONY: bench-short
bench-short: build
	scripts/need nginx sqlite3 wrk postgres redis-server
	$(GO) run ./tools/bench -short
	$(GO) run ./tools/bench -engine -short
	$(SERVICES) $(GO) run ./tools/bench -nodes -short
	$(GO) run ./tools/bench -reach -short

# The last release, which the drill upgrades from. It is built from its commit, in a folder of its own.
RELEASE        ?= 7e87c1df4129
BEFORE_RELEASE := bin/release-$(RELEASE)/bin/assay

$(BEFORE_RELEASE):
	@git cat-file -e $(RELEASE)^{commit} || { echo 'the commit of the last release, $(RELEASE), is not in this clone: git fetch --unshallow' >&2; exit 1; }
	git worktree prune
	git worktree add --detach bin/release-$(RELEASE) $(RELEASE)
	cd bin/release-$(RELEASE) && $(GO) build -o bin/assay ./cmd/assay

DRILL_NEEDS := postgres etcd haproxy patroni redis-server prometheus sqlite3

.PHONY: drill drill-short
drill: build bin/assay-clock $(BEFORE_RELEASE) ## break what a cluster depends on, let incidents happen, and write docs/operate.md (some minutes)
	scripts/need $(DRILL_NEEDS) pgbackrest
	$(GO) run ./tools/incidents -update docs/operate.md
	$(GO) run ./tools/restore -update docs/operate.md
	$(GO) run ./tools/drill -before $(BEFORE_RELEASE) -update docs/operate.md

drill-short: build bin/assay-clock
	scripts/need $(DRILL_NEEDS)
	$(GO) run ./tools/incidents
	$(GO) run ./tools/drill -short

# The program with a clock that a tool can set.
.PHONY: bin/assay-clock
bin/assay-clock:
	$(GO) build -tags clock -o $@ ./cmd/assay

# The commit before the server was hardened.
BEFORE ?= 7e87c1df4129

.PHONY: attacks attacks-short
attacks: build bin/before/bin/assay ## repeat a review's attacks, also on an earlier program, and write docs/security.md
	scripts/need postgres
	$(SERVICES) $(GO) run ./tools/attacks -before bin/before/bin/assay -update docs/security.md

attacks-short: build
	scripts/need postgres
	$(SERVICES) $(GO) run ./tools/attacks -short

bin/before/bin/assay:
	git worktree prune
	git worktree add --detach bin/before $(BEFORE)
	cd bin/before && $(GO) build -o bin/assay ./cmd/assay

REQUESTS ?= 10000000
.PHONY: abuse abuse-short
abuse: build ## send REQUESTS (10000000) hostile requests, tie the server up, and write docs/security.md (an hour)
	$(GO) run ./tools/abuse -requests $(REQUESTS) -update docs/security.md

abuse-short: build
	$(GO) run ./tools/abuse -short

.PHONY: screenshots
screenshots: build ## take a picture of every page into docs/screenshots
	scripts/need chromium
	cd ui && $(PLAYWRIGHT) --project screenshots
