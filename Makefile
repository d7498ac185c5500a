# `make help` lists the targets.

PORT ?= 8888
ARGS ?=
BENCH ?= .
SOAK_LENGTH ?= 30m
SOAK_SESSIONS ?= 1
SOAK_REPORT ?= $(CURDIR)/spec/reliability.md

GO       ?= go
LINT     := .tools/golangci-lint
LINT_AT  := v2.15.0
GOTESTSUM := .tools/gotestsum
GOTESTSUM_AT := v1.13.0
TSC      := .tools/typescript
TSC_AT   := 5.9.3
AXE      := .tools/axe
AXE_AT   := 4.14.1
ACP      := .tools/acp
ACP_AT   := 2.4.0
OPENCODE := .tools/opencode
OPENCODE_AT := 1.18.33
PRESETS  := .tools/presets
CLAUDE_AT := 0.101.0
CODEX_ACP_AT := 2.6.0
CODEX_AT := 0.166.0
GEMINI_AT := 0.61.0
PRESETS_AT := $(CLAUDE_AT)-$(CODEX_ACP_AT)-$(CODEX_AT)-$(GEMINI_AT)
INSPECTOR := .tools/inspector
INSPECTOR_AT := 2.12.0
NODE_AT := 22.23.1
NATS     := .tools/nats-server
NATS_AT  := v2.15.3
VENDOR_AT = $(shell cat .ci/vendor/* assets/vendor/*.js assets/vendor/*.css | cksum | cut -d ' ' -f 1)
VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  := -s -w -X main.version=$(VERSION)
SYSTEM   := apt-get -qq
SUDO     := $(shell [ "$$(id -u)" = 0 ] || command -v sudo)

# Leaves out gin's MessagePack codec: nothing uses it, and it is the slowest package to compile.
TAGS := -tags nomsgpack

# Third-party packages that the race detector skips, because they compute much and take several times as long under it. All
# other code is checked. A package that instantiates sync.Map or atomic.Pointer must not be listed: the linker keeps one instance for
# the whole program, and an unchecked one makes correct code look like a race. So does a sync.Once of an unchecked package
# around checked code.
UNCHECKED := modernc.org/... github.com/evanw/esbuild/... github.com/dlclark/regexp2/... github.com/microcosm-cc/bluemonday/... golang.org/x/net/html/...
RACE      := -race $(UNCHECKED:%=-gcflags=%=-race=false)

# By default the race detector delays the exit of each process by a second, though it reports at once.
export GORACE := atexit_sleep_ms=0

# One package more than there are processors, because the tests that drive programs wait more than they compute.
AT_ONCE := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

# make check runs go vet, so the tests need not run it again.
TEST_FLAGS := $(TAGS) $(RACE) -vet=off -shuffle=on
TEST       := $(GO) test $(TEST_FLAGS)

# A failed test runs once more, because drivers of real programs fail by chance, too. It is reported either way. After a data race, a panic or
# many failures nothing runs again. RERUNS=0 is strict.
RERUNS  ?= 1
FLAKY   := .tools/flaky
RESULTS := .tools/results.json

.DEFAULT_GOAL := help
.PHONY: help build run test deps check lint types vendored axe acp opencode inspector nats cluster presets soak endurance fuzz bench screenshots dist vendor clean cli

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

build: cli ## build bin/portal and get the Copilot CLI
	@command -v $(GO) >/dev/null || { echo "Go is missing: https://go.dev/dl"; exit 1; }
	@CGO_ENABLED=0 $(GO) build $(TAGS) -trimpath -ldflags '$(LDFLAGS)' -o bin/portal .

cli:
	@copilot/agent/sdk/cli/get.sh bin/copilot

run: build ## build and start the portal: make run [PORT=8888] [ARGS="--demo"]
	@exec bin/portal $(PORT) $(ARGS)

# The packages that drive portals and browsers start first, because they take longest and wait more than they compute.
# All parts run even if one fails; the exit code is nonzero if any failed.
test: deps build $(GOTESTSUM)-$(GOTESTSUM_AT) axe acp opencode inspector nats ## run all tests, end-to-end ones included, with the race detector
	@command -v node >/dev/null || { echo "Node.js is missing; the tests of the page's modules need it: https://nodejs.org"; exit 1; }
	@failed=; \
	run() { part=$$1; shift; "$$@" || failed="$$failed, $$part"; }; \
	run "modules of the page" node --test assets/; \
	echo "testing all packages; the first ones take minutes"; \
	rm -f $(FLAKY); \
	run packages $(GOTESTSUM) --format standard-quiet --hide-summary skipped --rerun-fails=$(RERUNS) --rerun-fails-max-failures=5 \
		--rerun-fails-abort-on-data-race --rerun-fails-report=$(FLAKY) --jsonfile=$(RESULTS) --packages="./server ./assets ./..." -- $(TEST_FLAGS) -p $(AT_ONCE) -timeout 60m; \
	run "interrupted packages" .ci/interrupted.sh $(RESULTS); \
	[ ! -s $(FLAKY) ] || { echo "These tests failed at first. Each is a fault to mend, of the test or of the portal:"; cat $(FLAKY); }; \
	[ -z "$$failed" ] || { echo "failed: $${failed#, }"; exit 1; }

deps: ## install what the tests need from the system's packages (gcc, Chromium, bubblewrap)
	@if ! { { command -v gcc || command -v cc; } && \
		{ command -v chromium-headless-shell || command -v chromium || command -v chromium-browser || command -v google-chrome; } && \
		{ command -v bwrap || [ "$$(uname)" != Linux ]; }; } >/dev/null; then \
		command -v apt-get >/dev/null || { echo "The tests need gcc, Chromium and bubblewrap: install them with your system's package manager."; exit 1; }; \
		echo "installing gcc, Chromium and bubblewrap for the tests with apt-get"; \
		$(SUDO) $(SYSTEM) update && \
		browser=$$(apt-cache show chromium-headless-shell >/dev/null 2>&1 && echo chromium-headless-shell || echo chromium) && \
		DEBIAN_FRONTEND=noninteractive $(SUDO) $(SYSTEM) install -y --no-install-recommends gcc libc6-dev $$browser bubblewrap >/dev/null; \
	fi

check: lint types vendored ## check format, vet, lint, types of the page, tidiness of go.mod, assets/vendor
	$(GO) vet ./...
	$(GO) vet -tags screenshots ./assets
	$(GO) vet -tags presets ./copilot/agent/acp
	$(GO) mod tidy -diff

lint: $(LINT)-$(LINT_AT)
	$(LINT) fmt --diff
	$(LINT) run --allow-parallel-runners ./...

$(GOTESTSUM)-$(GOTESTSUM_AT):
	@echo "getting gotestsum $(GOTESTSUM_AT)"
	@mkdir -p $(@D) && GOBIN="$(abspath $(@D))" $(GO) install gotest.tools/gotestsum@$(GOTESTSUM_AT) && touch $@

$(LINT)-$(LINT_AT):
	@echo "getting golangci-lint $(LINT_AT)"
	@mkdir -p $(@D) && GOBIN="$(abspath $(@D))" $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_AT) && touch $@

NPM := npm install --no-save --no-package-lock --no-audit --no-fund --loglevel=error

# $(call npm,what,directory,packages) installs packages of npm in an empty directory. Their install scripts do not run.
define npm
	@command -v npm >/dev/null || { echo "npm is missing; it installs $(1): https://nodejs.org"; exit 1; }
	@echo "getting $(1)"
	@rm -rf $(2) && mkdir -p $(2)
	@$(NPM) --prefix $(2) --ignore-scripts $(3) >/dev/null
endef

types: $(TSC)-$(TSC_AT)
	node $(TSC)/node_modules/typescript/bin/tsc -p .ci/types.json

$(TSC)-$(TSC_AT):
	$(call npm,TypeScript $(TSC_AT),$(TSC),typescript@$(TSC_AT))
	@touch $@

# What is committed must be what a new build makes of the pinned packages.
vendored: .tools/vendor-$(VENDOR_AT)

.tools/vendor-$(VENDOR_AT):
	@command -v npm >/dev/null || { echo "npm is missing; it gets the packages that assets/vendor is compared with: https://nodejs.org"; exit 1; }
	@echo "comparing assets/vendor with a new build"
	@rm -rf .tools/vendor && GO="$(GO)" .ci/vendor/build.sh .tools/vendor
	@diff -q -r -x README.md .tools/vendor assets/vendor || { echo "assets/vendor is not what .ci/vendor builds: run make vendor"; exit 1; }
	@touch $@

axe: $(AXE)-$(AXE_AT)

$(AXE)-$(AXE_AT):
	$(call npm,axe-core $(AXE_AT),$(AXE),axe-core@$(AXE_AT))
	@touch $@

acp: $(ACP)-$(ACP_AT)

$(ACP)-$(ACP_AT):
	$(call npm,the SDK of the Agent Client Protocol $(ACP_AT),$(ACP),@agentclientprotocol/sdk@$(ACP_AT))
	@touch $@

opencode: $(OPENCODE)-$(OPENCODE_AT)

$(OPENCODE)-$(OPENCODE_AT):
	$(call npm,opencode $(OPENCODE_AT) (350 MB unpacked),$(OPENCODE),opencode-ai@$(OPENCODE_AT))
	@touch $@

inspector: $(INSPECTOR)-$(INSPECTOR_AT)

# The inspector needs Node.js 22.19, which many systems do not have: it runs with a Node.js of its own. Only the package of
# that one needs its install script, which gets the program of this system.
$(INSPECTOR)-$(INSPECTOR_AT):
	$(call npm,the MCP inspector $(INSPECTOR_AT) and Node.js $(NODE_AT) (300 MB unpacked),$(INSPECTOR),@modelcontextprotocol/inspector@$(INSPECTOR_AT))
	@mkdir $(INSPECTOR)/node && $(NPM) --prefix $(INSPECTOR)/node node@$(NODE_AT) >/dev/null && touch $@

nats: $(NATS)-$(NATS_AT)

$(NATS)-$(NATS_AT):
	@echo "getting nats-server $(NATS_AT)"
	@mkdir -p $(@D) && GOBIN="$(abspath $(@D))" $(GO) install github.com/nats-io/nats-server/v2@$(NATS_AT) && touch $@

cluster: build nats ## start three NATS servers, three portals and a proxy on loopback: make cluster [PORT=8888]
	@$(GO) build -o bin/cluster-start ./server/portaltest/clustertest/start
	@exec bin/cluster-start -port $(PORT)

presets: inspector $(PRESETS)-$(PRESETS_AT) ## get Claude Code, Codex and Gemini CLI, 940 MB unpacked, for make endurance

# They run with the Node.js of the inspector.
$(PRESETS)-$(PRESETS_AT):
	$(call npm,the agents of make endurance (940 MB unpacked),$(PRESETS),@agentclientprotocol/claude-agent-acp@$(CLAUDE_AT) \
		@agentclientprotocol/codex-acp@$(CODEX_ACP_AT) @openai/codex@$(CODEX_AT) @google/gemini-cli@$(GEMINI_AT))
	@touch $@

soak: build nats ## use a portal for half an hour, with kills and restarts; the report goes to spec/reliability.md
	PORTAL_SOAK_LENGTH="$(SOAK_LENGTH)" PORTAL_SOAK_SESSIONS="$(SOAK_SESSIONS)" PORTAL_SOAK_REPORT="$(SOAK_REPORT)" $(GO) test $(TAGS) -vet=off -count 1 -timeout 2h -v -run 'TestNothingIsLostAndNothingIsLeft|TestKilledServersLoseNothing|TestClusterLosesNothing|TestCutOffPortalKeepsABranch' ./server/soak

endurance: build opencode presets ## run the tests that only a long run makes strict, at full length, and the conformance of third-party agents
	PORTAL_SOAK=1 $(TEST) -tags 'nomsgpack presets' -count 1 -timeout 30m -v -run '^(TestPresetsConform|TestOpencodeConforms|TestKnownAgentsRunNothingOfADirectory|TestCodexWritesNothingUnasked)$$' ./copilot/agent/acp
	PORTAL_SOAK=1 $(TEST) -count 1 -timeout 30m -v -p 1 -run \
		'^(FuzzRecordMatchesModel|TestKillLosesOnlyTheLastMoment|TestKillDuringDropKeepsOtherEntries|TestEntriesDuringReleaseAreWritten|TestLargeJobIsReportedToAllWatchers|TestLongBurstIsTheSameInEveryDialect|TestManySessionsInParallelLoseNothing|TestStreamsAndRestWatchASessionDuringReconnects|TestSimulatedSessionsKeepTheRules|TestSimulatedClusterKeepsTheRules|TestUnreadOutputDoesNotStallThousandsOfCalls|TestTranscriptsOnBothCarriers|TestReceivedEventsSurviveKillsDuringAStream|TestRandomEditsAreRestoredByteForByte|TestKilledRestoreIsCompleted|TestForeignAgentsWorkLikeTheFirst)$$' ./copilot/session ./copilot/store ./copilot/cluster ./copilot/checkpoint ./server

fuzz: ## run every fuzz test for some time: make fuzz [FUZZTIME=30s]
	@for dir in $$($(GO) list -f '{{.Dir}}' ./...); do \
		for name in $$(grep -ho 'func Fuzz[A-Za-z0-9_]*' $$dir/*_test.go 2>/dev/null | sed 's/func //' | sort -u); do \
			$(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $${FUZZTIME:-30s} $$dir || exit 1; \
		done; \
	done

bench: build ## run the benchmarks, or some of them: make bench [BENCH=Cancel] [BENCH_ROUNDS=1]
	@[ '$(BENCH)' != . ] || PORTAL_SOAK=1 $(GO) test -count 1 -v -run "LargeJob|ManySessions" ./server
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchtime 1x -timeout 2h ./copilot ./handlers/ws ./server/bench
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./copilot/journal ./copilot/event

screenshots: build ## take screenshots of every view of the page, in spec/pictures
	$(GO) test -count 1 -tags screenshots -run TestPictures -timeout 10m ./assets

dist: ## build a release in dist: programs for all platforms, checksums, a bill of materials
	@GO="$(GO)" packaging/dist.sh "$(CURDIR)/dist" "$(VERSION)"

vendor: ## build React and xterm.js again, in assets/vendor
	@GO="$(GO)" .ci/vendor/build.sh assets/vendor

clean: ## remove built files and tools
	@rm -rf bin dist .tools
