# robots-gateway: `make` or `make help` says what there is.

CARGO ?= cargo
# Where rustup puts it, for shells that have not read its profile.
export PATH := $(PATH):$(HOME)/.cargo/bin
# Options for the demo, such as ARGS="--listen 127.0.0.1:8181", and for measurements.
ARGS ?=
# What `make replay` judges, and by which rules: a robots.txt, a purpose that is blocked, or both.
LOG ?= -
ROBOTS ?=
BLOCK ?= $(if $(ROBOTS),,ai-train)

.DEFAULT_GOAL := help
# Where an image is pushed to, and the programs of a machine as dpkg calls it.
IMAGE ?= robots-gateway
VERSION = $(shell sed -n '/^\[package\]/,/^\[/s/^version = "\(.*\)"$$/\1/p' Cargo.toml)
ARCHITECTURE = $(shell uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')

.PHONY: help demo replay package dist image push publish catalogue guide test soak sizes lint check budgets bench throughput e2e beside attack readings

help: ## Say what there is
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "make %-10s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Build the gateway and run it over a built-in site; Ctrl-C stops it
	@.ci/dependencies build
	$(CARGO) build --profile demo --locked --bin robots-gateway
	@exec target/demo/robots-gateway --demo $(ARGS)

replay: ## Say what blocking AI training would have refused: LOG=access.log; BLOCK=PURPOSE, ROBOTS=robots.txt
	@.ci/dependencies build
	$(CARGO) build --profile demo --locked --bins
	@exec target/demo/gatewayctl replay $(LOG) $(if $(BLOCK),--block $(BLOCK)) $(if $(ROBOTS),--robots $(ROBOTS))

# What of SQLite the store does not use, 0.4 MB: search in texts, R-trees, statistics of tables, and checks of its callers.
package dist: export LIBSQLITE3_FLAGS = -USQLITE_ENABLE_FTS3 -USQLITE_ENABLE_FTS3_PARENTHESIS -USQLITE_ENABLE_FTS5 \
	-USQLITE_ENABLE_RTREE -USQLITE_ENABLE_STAT4 -USQLITE_ENABLE_DBSTAT_VTAB -USQLITE_SOUNDEX -USQLITE_ENABLE_API_ARMOR
package dist: export CARGO_PROFILE_RELEASE_LTO = fat
# Relocations in 10 KB in place of 590: glibc has read them since 2.36, the oldest that is supported.
PACKED := -C link-arg=-Wl,-z,pack-relative-relocs
package: export RUSTFLAGS = $(PACKED)
package: ## Build the Debian package, target/debian/*.deb
	@.ci/dependencies package
	$(CARGO) build --release --locked --bin robots-gateway
	systemd/debian/prepare target/release target/package
	$(CARGO) deb --locked --no-build $(ARGS)

# The programs name no folder of this machine, so that another one makes the same bytes.
dist: export RUSTFLAGS = $(PACKED) --remap-path-prefix=$(CURDIR)=/source --remap-path-prefix=$(HOME)=/home
dist: export CFLAGS = -ffile-prefix-map=$(CURDIR)=/source -ffile-prefix-map=$(HOME)=/home
dist: ## Build all that a release consists of, target/dist/: archive, Debian package, SBOM, checksums; the same bytes each time
	@.ci/dependencies dist
	$(CARGO) build --release --locked --bin robots-gateway --target-dir target/reproducible
	.ci/dist target/reproducible/release

image: ## Build the container image: IMAGE=NAME
	docker build --file conf/container/Containerfile --tag $(IMAGE):$(VERSION)-$(ARCHITECTURE) .

push: ## Push that image to the registry that IMAGE names
	docker push $(IMAGE):$(VERSION)-$(ARCHITECTURE)

publish: ## Sign and publish what `make dist` and `make push` made on both architectures
	.ci/publish $(IMAGE)

catalogue: ## Write the catalogue as gateways may fetch it, and sign it, target/catalogue/: KEY=key.pem
	@.ci/dependencies catalogue
	@.ci/catalogue $(KEY)

guide: ## Build the guide as a book, target/book/
	@.ci/dependencies guide
	mdbook build docs

test: ## Run all tests
	@.ci/dependencies test
	@# Many tests wait for leases and time limits: one more of them at once than there are processors.
	RUST_TEST_THREADS=$${RUST_TEST_THREADS:-$$(($$(nproc) + 1))} $(CARGO) test --locked --workspace --no-fail-fast

soak: ## Run the long models: 100,000 steps of fair notice, alone and in a fleet, 1,000 sites from origins, ten million requests of crawlers that keep their delay, a million made-up crawlers; some minutes
	@.ci/dependencies test
	ROBOTS_GATEWAY_STEPS=$${ROBOTS_GATEWAY_STEPS:-100000} $(CARGO) test --profile soak --locked --test store -- --nocapture model
	ROBOTS_GATEWAY_SITES=$${ROBOTS_GATEWAY_SITES:-1000} $(CARGO) test --profile soak --locked --test gateway -- --nocapture many_origins
	ROBOTS_GATEWAY_REQUESTS=$${ROBOTS_GATEWAY_REQUESTS:-10000000} $(CARGO) test --profile soak --locked --test pace -- --nocapture
	ROBOTS_GATEWAY_REQUESTS=$${ROBOTS_GATEWAY_REQUESTS:-1000000} $(CARGO) test --profile soak --locked --test gateway -- --nocapture made_up_crawlers
	ROBOTS_GATEWAY_STEPS=$${ROBOTS_GATEWAY_STEPS:-100000} $(CARGO) test --profile soak --locked --test fleet -- --nocapture oracle waiting

sizes: ## Simulate fleets: what they cost their database, how soon members serve what is published; ARGS=converging for a part
	@.ci/dependencies test
	$(CARGO) run --release --locked --quiet --example fleet -- $(ARGS)

lint: ## Check style, lints and documentation
	@.ci/dependencies lint
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps

check: lint budgets ## Check all of that, and the budgets of instructions

budgets: ## Count the instructions of the pure stages, against their budgets; ARGS=--record writes them
	@.ci/dependencies check
	$(CARGO) run --release --locked --quiet --example instructions -- $(ARGS)

bench: ## Measure the engine and recognition beside others
	@.ci/dependencies build
	$(CARGO) bench --locked -p rfc9309
	$(CARGO) bench --locked --bench identify

throughput: ## Replay a log of ten million lines beside GoAccess, time and memory; ARGS=200000 for a look
	@.ci/dependencies throughput
	benches/replay/run $(ARGS)

e2e: ## Measure the whole gateway beside nginx, HAProxy and others; ARGS="--help" lists what else it can do
	@.ci/dependencies e2e
	$(CARGO) build --release --locked --features minimal --bins --example minimal
	benches/e2e/run target/release $(ARGS)

beside: ## Measure what asking adds to nginx; ARGS="1 1" for a look
	@.ci/dependencies e2e
	$(CARGO) build --release --locked
	benches/beside/run target/release $(ARGS)

attack: ## Measure a well-behaved client while others attack; ARGS="--rounds 1 --seconds 2" for a look
	@.ci/dependencies attack
	$(CARGO) build --release --locked
	benches/e2e/run target/release --attack $(ARGS)

readings: ## Ask live servers for targets made to get around rules, and record the corpus; READINGS_SEED=2 asks others
	@.ci/dependencies readings
	$(CARGO) test --locked --test readings -- --include-ignored --nocapture --test-threads=1
	$(CARGO) test --locked --test rightness -- --ignored detours
