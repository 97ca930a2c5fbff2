# Assay. `make help` lists the targets; `make run` and `make test` need nothing done before.

GO     ?= go
BIN    := bin/assay
LINT   := tools/bin/golangci-lint
# The program needs no C compiler; the race detector does.
export CGO_ENABLED ?= 0

.DEFAULT_GOAL := help
.PHONY: help build run test unit race script lint lint-go lint-openapi bench bench-engine bench-short fuzz fuzz-short golden clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/assay
	$(GO) build -trimpath -o $(BIN) ./cmd/assay

run: build ## build, start the demo and print keys and requests to try
	$(BIN) demo

test: lint unit race script fuzz-short bench-short ## everything: lint, tests without and with the race detector, scripts, short fuzz and bench

unit: ## the tests of all packages, without the race detector
	$(GO) test ./...

race: ## the tests of all packages under the race detector, but for long ones that have one goroutine
	CGO_ENABLED=1 $(GO) test -race -short ./...

script: build ## the whole program, by scripts
	scripts/need curl
	ASSAY_TEST_BINARY=$(CURDIR)/$(BIN) $(GO) test -count=1 ./cmd/assay -run 'Test(Script|Crash|Shutdown|README)'

lint: lint-go lint-openapi ## all linters

lint-go: $(LINT) ## the Go linters
	$(LINT) run ./...

# golangci-lint is built from source in a module of its own, so that its dependencies are not ours.
$(LINT): tools/go.mod tools/go.sum
	@echo 'building golangci-lint (once, a few minutes)'
	cd tools && GOFLAGS=-mod=mod $(GO) build -o bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint

lint-openapi: tools/node_modules/.package-lock.json ## the linter of the API's description
	cd tools && REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_NOTIFICATIONS=true node_modules/.bin/redocly lint ../internal/httpapi/openapi.yaml

tools/node_modules/.package-lock.json: tools/package-lock.json
	cd tools && npm ci --no-fund --no-audit

bench: build ## measure the server beside nginx and write docs/performance.md (some minutes)
	scripts/need nginx wrk
	$(GO) run ./internal/bench -update docs/performance.md

bench-engine: build ## measure import, publish and verify beside sqlite3 and write docs/performance.md (about a quarter of an hour, 4 GB)
	scripts/need sqlite3 wrk
	$(GO) run ./internal/bench -engine -update docs/performance.md

bench-short: build
	scripts/need nginx sqlite3 wrk
	$(GO) run ./internal/bench -short
	$(GO) run ./internal/bench -engine -short

FUZZTIME ?= 60s
fuzz: ## every fuzz target for FUZZTIME (60s)
	scripts/fuzz $(FUZZTIME)

fuzz-short:
	scripts/fuzz 5000x

golden: ## write the golden files anew; look at the difference before you commit it
	$(GO) test ./internal/httpapi -update

clean: ## remove what the targets made
	rm -rf bin tools/bin tools/node_modules
