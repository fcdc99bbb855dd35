# Every target works from a fresh clone. `make help` lists them.

GO ?= go
MODULES := . example example/routers prove internal/e2e bench
LEDGERS := sqlite postgres/pgx postgres/sql mysql
SQLC := .tmp/sqlc
STATICCHECK := .tmp/staticcheck
GOVULNCHECK := .tmp/govulncheck

.PHONY: help
help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

.PHONY: test
test: lint check unit ## everything that must pass: lint, generated files current, all tests with -race

.PHONY: unit
unit: $(SQLC) $(STATICCHECK) ## all tests of all modules, with the race detector
	for m in $(MODULES); do (cd $$m && GOWORK=off SQLC=$(CURDIR)/$(SQLC) STATICCHECK=$(CURDIR)/$(STATICCHECK) $(GO) test -race -timeout 30m ./...) || exit 1; done

.PHONY: lint
lint: $(STATICCHECK) ## gofmt, go vet and staticcheck
	@unformatted=$$(gofmt -l cmd example internal bench prove queries runtime templates | grep -v /testdata/); \
		test -z "$$unformatted" || { echo "gofmt would change:"; echo "$$unformatted"; exit 1; }
	for m in $(MODULES); do (cd $$m && GOWORK=off $(GO) vet ./... && GOWORK=off $(CURDIR)/$(STATICCHECK) ./...) || exit 1; done

.PHONY: check
check: $(SQLC) ## generated files are what the generators make today
	for d in $(LEDGERS); do (cd queries/$$d && $(CURDIR)/$(SQLC) diff) || exit 1; done
	for m in example example/routers; do (cd $$m && GOWORK=off $(GO) tool idemgen check ./...) || exit 1; done

.PHONY: generate
generate: $(SQLC) ## make the generated files again
	for d in $(LEDGERS); do (cd queries/$$d && $(CURDIR)/$(SQLC) generate) || exit 1; done
	for m in example example/routers; do (cd $$m && GOWORK=off $(GO) generate ./...) || exit 1; done

.PHONY: demo
demo: ## generate, build and run the example, and tell its story
	cd example && GOWORK=off $(GO) run ./demo

# Ratios hold within a round and machines drift between rounds, so that a few
# short rounds say more than a long one.
BENCHTIME ?= 250ms
ROUNDS ?= 1 2 3

.PHONY: bench
bench: ## benchmarks of requests, side by side, in about ten minutes: a table, docs/bench.md and docs/bench.svg
	@mkdir -p .tmp
	cd bench && { for round in $(ROUNDS); do \
		GOWORK=off $(GO) test -run '^$$' -bench . -skip 'Growth|Steady|InFlight|Neighbour' -benchtime $(BENCHTIME) -timeout 30m . || exit; done; } \
		| tee ../.tmp/bench.txt | GOWORK=off $(GO) run ./report -docs ../docs

ROWS ?= 10000000

.PHONY: bench-scale
bench-scale: ## benchmarks of large ledgers (ROWS), sweeps, memory and the generator, in about ten minutes
	cd bench && GOWORK=off $(GO) test -run '^$$' -bench 'Growth|InFlight' -benchtime 1x -timeout 1h -growth $(ROWS) .
	cd bench && GOWORK=off $(GO) test -run '^$$' -bench Steady -benchtime 20s -timeout 1h .
	cd bench && GOWORK=off $(GO) test -run '^$$' -bench . -benchmem -timeout 1h ./generator

.PHONY: bench-neighbour
bench-neighbour: ## what an honest caller notices of each attack by another: p99 quiet and attacked, in three minutes
	cd bench && GOWORK=off $(GO) test -run '^$$' -bench Neighbour -benchtime 1x -timeout 30m .

FOR ?= 10m
STEPS ?= 20000000

.PHONY: prove
prove: ## attack what is promised for FOR=10m: simulation, raw connections, real processes and databases; one table
	cd internal/e2e && GOWORK=off $(GO) run ./faults/prove -for $(FOR) -steps $(STEPS)

.PHONY: soak
soak: ## the simulation for about half an hour: random worlds from SEED (the clock's), every interleaving deep
	@seed=$${SEED:-$$(date +%s)}; echo "seed $$seed"; \
		GOWORK=off $(GO) test ./internal/sim -run 'TestRun$$|TestExplore$$' -v -timeout 0 -sim.seed=$$seed -sim.steps=200000000 -sim.soak

FUZZTIME ?= 10s
FUZZ ?= .
.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (10s); FUZZ=regexp picks some
	@grep -roE '^func Fuzz[A-Za-z0-9]+' --include='*_test.go' cmd example internal bench queries runtime templates | sort | \
		while IFS=: read -r file name; do \
			name=$${name#func }; echo "$$name" | grep -qE '$(FUZZ)' || continue; \
			echo "$$name in $$(dirname $$file)"; \
			(cd $$(dirname $$file) && GOWORK=off $(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s .) || exit 1; \
		done

.PHONY: mutate
mutate: ## breaks the engine and the SQL in many places; each must be caught by the test that docs/mutations.md names
	GOWORK=off $(GO) run ./internal/mutate -o docs/mutations.md

.PHONY: vuln
vuln: $(GOVULNCHECK) ## known vulnerabilities of all modules; needs the database of govulncheck (or GOVULNDB)
	for m in $(MODULES); do (cd $$m && GOWORK=off $(CURDIR)/$(GOVULNCHECK) ./...) || exit 1; done

# The tools are pinned in a module of their own.
$(SQLC): internal/tools/go.mod internal/tools/go.sum
	cd internal/tools && GOWORK=off $(GO) build -o $(CURDIR)/$@ github.com/sqlc-dev/sqlc/cmd/sqlc

$(STATICCHECK): internal/tools/go.mod internal/tools/go.sum
	cd internal/tools && GOWORK=off $(GO) build -o $(CURDIR)/$@ honnef.co/go/tools/cmd/staticcheck

$(GOVULNCHECK): internal/tools/go.mod internal/tools/go.sum
	cd internal/tools && GOWORK=off $(GO) build -o $(CURDIR)/$@ golang.org/x/vuln/cmd/govulncheck
