# robots-gateway: `make` or `make help` says what there is.

CARGO ?= cargo
# Where rustup puts it, for shells that have not read its profile.
export PATH := $(PATH):$(HOME)/.cargo/bin
# Options for the demo, such as ARGS="--listen 127.0.0.1:8181".
ARGS ?=
# What `make replay` judges, and by which rules.
LOG ?= -
ROBOTS ?= rules/robots.txt

.DEFAULT_GOAL := help
.PHONY: help demo replay test check bench

help: ## Say what there is
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-6s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Build the gateway and run it over a built-in site; Ctrl-C stops it
	@.ci/dependencies build
	$(CARGO) build --release --locked
	@exec $(CARGO) run --release --locked --quiet --bin robots-gateway -- --demo $(ARGS)

replay: ## Say what would have been refused: LOG=access.log ROBOTS=robots.txt
	@.ci/dependencies build
	$(CARGO) build --release --locked --bin gatewayctl
	@exec target/release/gatewayctl replay $(LOG) --robots $(ROBOTS)

test: ## Run all tests
	@.ci/dependencies test
	$(CARGO) test --locked

check: ## Check style, lints and documentation
	@.ci/dependencies check
	$(CARGO) fmt --check
	$(CARGO) clippy --locked --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --no-deps

bench: ## Run the measurements
	@.ci/dependencies build
	@test -n "$(wildcard benches/*)" || { echo "there are no measurements yet: no folder benches/" >&2; exit 1; }
	$(CARGO) bench --locked --bench '*'
