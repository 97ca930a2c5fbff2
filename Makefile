# Assay. `make help` lists the targets; `make run` and `make test` need nothing done before.

GO     ?= go
BIN    := bin/assay
LINT   := tools/lint/bin/golangci-lint
# The program needs no C compiler; the race detector does.
export CGO_ENABLED ?= 0

.DEFAULT_GOAL := help
.PHONY: help build run test unit race script lint lint-go lint-openapi lint-ui e2e screenshots bench bench-engine bench-nodes bench-ui bench-short drill drill-short fuzz fuzz-short golden clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ui ## build bin/assay, with the dashboard if npm is there
	$(GO) build -trimpath -o $(BIN) ./cmd/assay

# The dashboard is built from npm packages into the folder that the program embeds. Without npm the program is built all the
# same, and says in place of the dashboard how to build it.
UI_SOURCES := $(shell find ui/src ui/public ui/index.html ui/vite.config.ts ui/svelte.config.js ui/tsconfig.json)
DASHBOARD  := internal/dashboard/dist/index.html

.PHONY: ui
ui: ## build the dashboard
ifeq ($(shell command -v npm),)
	@echo 'npm is not here: the program is built without the dashboard'
else
ui: $(DASHBOARD)
endif

$(DASHBOARD): ui/node_modules/.package-lock.json $(UI_SOURCES)
	cd ui && npm run --silent build -- --logLevel warn

# Not npm ci: it insists on the bundler's packages for every other system, which a lockfile made on one does not name. The
# lockfile is followed all the same, and stays as it is.
ui/node_modules/.package-lock.json: ui/package-lock.json
	cd ui && npm install --no-save --no-fund --no-audit
	@touch $@

lint-ui: ui/node_modules/.package-lock.json ## the types and the markup of the dashboard
	cd ui && npm run --silent check

PLAYWRIGHT := node_modules/.bin/playwright test --config e2e/playwright.config.ts

e2e: build ## the dashboard, in a real browser
	scripts/need chromium curl
	cd ui && $(PLAYWRIGHT) --project e2e

screenshots: build ## pictures of every page into docs/screenshots
	scripts/need chromium
	cd ui && $(PLAYWRIGHT) --project screenshots

bench-ui: build ## measure the dashboard and write docs/performance.md
	scripts/need chromium
	cd ui && ASSAY_BENCH_UPDATE=1 $(PLAYWRIGHT) --project bench --workers 1

run: build ## build, start the demo and print keys and requests to try
	$(BIN) demo

test: lint served e2e fuzz-short bench-short drill-short ## everything: lint, tests without and with the race detector, scripts, short fuzz, bench and drill

# PostgreSQL and Redis are started once for all that need them. Each of these targets, made alone, starts its own: inside
# with-services, another with-services takes the servers that are there.
SERVICES := scripts/with-services
export GO

.PHONY: served
served: build
	$(SERVICES) $(MAKE) --no-print-directory unit race script

unit: ## the tests of all packages, without the race detector
	scripts/need postgres redis-server
	$(SERVICES) scripts/go-test ./...

race: ## the tests of all packages under the race detector, but for long ones that have one goroutine
	scripts/need postgres redis-server
	CGO_ENABLED=1 $(SERVICES) scripts/go-test -race -short ./...

script: build ## the whole program, by scripts
	scripts/need curl
	ASSAY_TEST_BINARY=$(CURDIR)/$(BIN) $(SERVICES) scripts/go-test -count=1 ./cmd/assay -run 'Test(Script|Crash|Shutdown|Nodes|Docs)'

lint: lint-go lint-openapi lint-ui ## all linters

lint-go: $(LINT) ## the Go linters
	$(LINT) run ./...

# golangci-lint is built from source in a module of its own, so that its dependencies are not ours.
$(LINT): tools/lint/go.mod tools/lint/go.sum
	@echo 'building golangci-lint (once, a few minutes)'
	cd tools/lint && GOFLAGS=-mod=mod $(GO) build -o bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint

lint-openapi: tools/lint/node_modules/.package-lock.json ## the linter of the API's description
	cd tools/lint && REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_NOTIFICATIONS=true node_modules/.bin/redocly lint ../../internal/httpapi/openapi.yaml

tools/lint/node_modules/.package-lock.json: tools/lint/package-lock.json
	cd tools/lint && npm ci --no-fund --no-audit

bench: build ## measure the server beside nginx and write docs/performance.md (some minutes)
	scripts/need nginx wrk
	$(GO) run ./tools/bench -update docs/performance.md

bench-engine: build ## measure import, publish and verify beside sqlite3 and write docs/performance.md (about a quarter of an hour, 4 GB)
	scripts/need sqlite3 wrk
	$(GO) run ./tools/bench -engine -update docs/performance.md

bench-nodes: build ## measure PostgreSQL beside psql, nodes that share it and shared limits, and write docs/performance.md (about ten minutes, 6 GB)
	scripts/need postgres redis-server wrk
	ASSAY_TEST_FSYNC=on $(SERVICES) $(GO) run ./tools/bench -nodes -update docs/performance.md

bench-short: build
	scripts/need nginx sqlite3 wrk chromium postgres redis-server
	$(GO) run ./tools/bench -short
	$(GO) run ./tools/bench -engine -short
	$(SERVICES) $(GO) run ./tools/bench -nodes -short
	cd ui && $(PLAYWRIGHT) --project bench --workers 1

DRILLED := postgres etcd haproxy patroni redis-server

drill: build ## break everything the nodes lean on, count what that cost, and write docs/operate.md (some minutes)
	scripts/need $(DRILLED)
	$(GO) run ./tools/drill -update docs/operate.md

drill-short: build
	scripts/need $(DRILLED)
	$(GO) run ./tools/drill -short

FUZZTIME ?= 60s
fuzz: ## every fuzz target for FUZZTIME (60s)
	scripts/fuzz $(FUZZTIME)

fuzz-short:
	scripts/fuzz 5000x

golden: ## write the golden files anew; look at the difference before you commit it
	$(GO) test ./internal/httpapi -update

clean: ## remove what the targets made
	rm -rf bin tools/lint/bin tools/lint/node_modules ui/node_modules ui/test-results
	find internal/dashboard/dist -mindepth 1 ! -name .gitkeep -delete
