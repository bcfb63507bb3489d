# Development tasks; `make` lists them. They need Go and make; `make verify` also needs
# Node.js, for the linters of the OpenAPI document. The Go tools are pinned in
# internal/tools/go.mod, and Go builds them when they are first used.

GO           ?= go
FUZZTIME     ?= 10s
SOAK         ?= 10m
KILLS        ?= 200
ROWS         ?=
RUNS         ?= 1
TEST_TIMEOUT ?= 30m
TESTFLAGS    ?=

BUILD := .build
TOOL  := $(GO) tool -modfile=internal/tools/go.mod
TREES := verification adapters hosts internal

# What is a module of its own: examples, the dashboards and alerts of docs/operate, and the comparison with releases. The other
# examples are workflows, which tests of verifyctl play.
EXAMPLES := $(patsubst %/go.mod,%,$(wildcard docs/examples/*/go.mod)) internal/dashboards internal/releases

# The packages whose tests all need a browser or a database.
SERVICES := /adapters/postgres$$|/hosts/internal/(bench|bench/fill|noisy|soak)$$|/internal/rig/(browser|pgtest)$$

# Test binaries are kept and linked again only when they change: linking all of them takes
# about two minutes of CPU. Their names are those of the folders, so no two packages with
# tests have folders of the same name. Those with the race detector have their own folder.
# The linker flags are those of go test without -o.
KEEP = -o $(BUILD)/tests$(findstring -race,$(TESTFLAGS))/ -ldflags='-s -w'

# Where the home folder cannot be written, caches are in .build; where there is no folder for
# temporary files, it is in .build, too.
writable = $(shell mkdir -p "$(1)" 2>/dev/null && test -w "$(1)" && echo yes)
HERE    := $(CURDIR)/$(BUILD)
CACHE   := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)
ifneq ($(call writable,$(CACHE)),yes)
export XDG_CACHE_HOME   := $(HERE)/cache
export npm_config_cache := $(HERE)/cache/npm
endif
MODULES := $(shell $(GO) env GOMODCACHE)
ifneq ($(call writable,$(MODULES)),yes)
export GOPROXY    := file://$(MODULES)/cache/download,$(shell $(GO) env GOPROXY)
export GOMODCACHE := $(HERE)/modules
endif
ifneq ($(call writable,$(or $(TMPDIR),/tmp)),yes)
export TMPDIR := $(HERE)/tmp
TEMPORARY     := $(shell mkdir -p $(HERE)/tmp)
endif

# Our packages are compiled without inlining and debug information, which takes about half
# of the time. Tests that build a host with go also read GOFLAGS, so that they use the same
# packages. Without the path of the checkout in them, every clone uses the packages that another
# one has compiled. The packages are vetted by make vet, not once more with the tests. Garbage is
# collected half as often as in a host, which saves 5 to 10 % of the CPU of the tests.
QUICK = GOFLAGS="$$GOFLAGS -trimpath '-gcflags=github.com/verifyd/verifyd/...=-l -dwarf=false'"
TEST = GOGC="$${GOGC:-200}" $(QUICK) $(GO) run ./internal/rig/testlog $(KEEP) -vet=off -timeout $(TEST_TIMEOUT) $(TESTFLAGS)

# The race detector needs a C compiler; Go sets CGO_ENABLED to 0 where there is none.
RACE = $(if $(filter 1,$(shell $(GO) env CGO_ENABLED)),-race)

# Every file of the project with its checksum, one per line.
sums = find . \( -path ./.git -o -path ./$(BUILD) -o -path ./data -o -path ./dist \) -prune -o -type f -exec cksum {} + | sort

# The folders with a test function whose name starts with $(1).
folders = find $(TREES) -name '*_test.go' -exec grep -l '^func $(1)' {} + 2>/dev/null | sed 's|/[^/]*$$||' | sort -u

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run release record verify-release test check example verify verify-rest fmt fmt-check vet lint lint-openapi arch width generate generate-check tidy-check cover bench fuzz soak noisy

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Run the demo, which keeps its data in the folder data
	$(GO) build -o $(BUILD)/ ./hosts/verifyd
	@exec $(BUILD)/verifyd serve

VERSION ?=

release: ## Build the programs, packages and image of VERSION (such as 0.1.0) into the folder dist
	@$(GO) -C hosts/release run . -source $(CURDIR) -out $(CURDIR)/dist -version '$(VERSION)'

RELEASE ?=

# The tests of internal/releases compare the tree with each record. A release that docs/changelog.md names as released is not
# recorded again.
record: ## Record what RELEASE (such as 0.1.0) reads, before it is released
	@$(GO) -C internal/releases run . -release '$(RELEASE)'

# It builds a release for this machine twice, and serves from each way to install it. The
# tests take programs of Debian, which they install as root.
verify-release: ## Test that a release is reproducible, and that it installs and runs
	$(GO) -C hosts/release vet ./...
	$(GO) -C hosts/release test -count=1 -timeout $(TEST_TIMEOUT) ./...

# It first installs the browser and the PostgreSQL, because go test runs several
# packages at the same time.
test: ## Run every test
	@$(QUICK) $(GO) run ./internal/rig/testenv
	@$(TEST) ./...

check: ## Run the tests that need no browser and no database
	@$(TEST) -short $$($(GO) list ./... | grep -Ev '$(SERVICES)')
	@echo 'The tests that need a browser or a database did not run: make test runs every test.'

example: ## Vet and test the modules of their own: examples, dashboards and alerts, and what each release reads
	@for m in $(EXAMPLES); do \
		$(GO) -C $$m vet ./... && $(GO) -C $$m test -count=1 -timeout $(TEST_TIMEOUT) ./... || exit 1; done

verify: TESTFLAGS += $(RACE)
verify: verify-rest test example verify-release ## Run everything that CI runs: format, vet, lint, race tests, generated files, go.mod
	@test -n "$(RACE)" || echo 'No C compiler was found: the tests ran without the race detector.'

# Everything in verify except the tests.
verify-rest: fmt-check vet lint lint-openapi generate-check tidy-check

fmt: ## Format every Go file
	$(TOOL) gofumpt -w .

fmt-check:
	@bad=$$($(TOOL) gofumpt -l .) && if test -n "$$bad"; then \
		echo "Not formatted, run make fmt:"; echo "$$bad"; exit 1; fi

vet:
	$(GO) vet ./...

# The examples are for readers, who have other rules than we do.
lint: ## Run the linter
	$(TOOL) golangci-lint run ./...
	@for m in hosts/release internal/dashboards internal/releases; do \
		(cd $$m && $(GO) tool -modfile=../../internal/tools/go.mod golangci-lint run ./...) || exit 1; done

# The linters are npm packages, pinned in internal/openapilint. They are installed again
# only when that pin changes. They send no telemetry and look for no updates.
LINTERS := $(BUILD)/openapilint

lint-openapi: ## Run the linters of adapters/httpapi/openapi.yaml; they need Node.js
	@command -v node >/dev/null && command -v npm >/dev/null || { \
		echo 'make lint-openapi needs node (20.19 or newer) and npm: install Node.js.'; exit 1; }
	@cmp -s internal/openapilint/package-lock.json $(LINTERS)/finished || { \
		mkdir -p $(LINTERS) && rm -f $(LINTERS)/finished && \
		cp internal/openapilint/.npmrc internal/openapilint/package*.json $(LINTERS) && \
		npm ci --prefix $(LINTERS) --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error && \
		cp $(LINTERS)/package-lock.json $(LINTERS)/finished; }
	@REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true $(LINTERS)/node_modules/.bin/redocly lint \
		--config internal/openapilint/redocly.yaml --format stylish adapters/httpapi/openapi.yaml
	@$(LINTERS)/node_modules/.bin/spectral lint --quiet --fail-severity hint \
		--ruleset internal/openapilint/spectral.yaml adapters/httpapi/openapi.yaml

arch: ## Check the layout of the repository
	$(GO) test -count=1 ./internal/arch

# Ceilings, which internal/arch holds.
width: ## Print how wide the project is: names, methods, files, lines, words
	@cat internal/arch/testdata/width.txt

generate: ## Regenerate generated files
	$(GO) generate ./...

# It compares checksums, so that it works outside git and with uncommitted changes.
generate-check:
	@mkdir -p $(BUILD)
	@$(sums) >$(BUILD)/before
	$(GO) generate ./...
	@$(sums) >$(BUILD)/after
	@diff $(BUILD)/before $(BUILD)/after >$(BUILD)/generated || { \
		echo 'go generate changed these files; commit them:'; \
		awk '/^[<>]/ { print $$4 }' $(BUILD)/generated | sort -u; exit 1; }

# If it prints a difference, run go mod tidy there.
tidy-check:
	$(GO) mod tidy -diff
	@for m in hosts/release $(EXAMPLES); do $(GO) -C $$m mod tidy -diff || exit 1; done

cover: ## Measure the coverage of all packages and write .build/cover.html
	@mkdir -p $(BUILD)
	@$(GO) run ./internal/rig/testenv
	$(GO) test -timeout $(TEST_TIMEOUT) -coverprofile=$(BUILD)/cover.out \
		-coverpkg="$$($(GO) list ./... | grep -v /internal/ | paste -sd , -)" ./...
	$(GO) tool cover -html=$(BUILD)/cover.out -o $(BUILD)/cover.html
	@$(GO) tool cover -func=$(BUILD)/cover.out | tail -n 1

bench: ## Run the benchmarks
	@for dir in $$($(call folders,Benchmark)); do \
		$(GO) test -run '^$$' -bench . -benchmem ./$$dir || exit 1; done

fuzz: ## Run every fuzz target for FUZZTIME (10s) each
	@for dir in $$($(call folders,Fuzz)); do \
		list=$$($(GO) test -list '^Fuzz' ./$$dir) || { echo "$$list"; exit 1; }; \
		for target in $$(echo "$$list" | grep '^Fuzz'); do \
			echo "$$dir $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x ./$$dir || exit 1; \
		done; done

soak: ## Kill hosts, the database and connections for SOAK (10m), and a host on a folder KILLS (200) times, and check that nothing is lost
	VERIFYD_SOAK=$(SOAK) $(GO) test -count=1 -timeout 0 -v -run TestNothingAcceptedIsLostDuringFailures ./hosts/internal/soak
	VERIFYD_SOAK_KILLS=$(KILLS) $(GO) test -count=1 -timeout 0 -v -run TestNothingAcceptedIsLostWhenAHostIsKilled ./hosts/internal/soak

noisy: ## Measure what one tenant's load costs another, RUNS (1) times 20 minutes, only ROWS (a regular expression) of the table
	@$(GO) run ./hosts/internal/noisy/measure -runs $(RUNS) -only '$(ROWS)'
