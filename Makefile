# The commands of this project; `make` lists them. What a command needs it installs or builds first.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup module run serve test lint unit sim fuzz coverage integration states snapshots cases replay memcheck bench clean \
	ready-module ready-test ready-bench

CARGO ?= cargo
MODULE := build/ngx_http_ffi_client_module.so

# llhttp-sys stands outside the workspace; with one target folder its parts are compiled once.
export CARGO_TARGET_DIR := $(abspath $(or $(CARGO_TARGET_DIR),target))
export PATH := $(PATH):$(HOME)/.cargo/bin

# Where nobody is there to commit a changed lock file, it must not have to change.
LOCKED := $(if $(CI),--locked)
ALL := --workspace --all-features $(LOCKED)
LLHTTP := --manifest-path llhttp-sys/Cargo.toml $(LOCKED)

help: ## Lists the commands.
	@sed -n 's/^\([a-z]*\):.*## /  make \1|/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do \
		printf '%-20s%s\n' "$$name" "$$text"; done

setup: ready-test ## Installs what building and testing need and this machine lacks.

module: ready-module ## Builds the nginx module: build/ngx_http_ffi_client_module.so.
	$(CARGO) build --release $(LOCKED) -p ngx_http_ffi_client_module
	@install -m 644 $(CARGO_TARGET_DIR)/release/libngx_http_ffi_client_module.so $(MODULE)

run: module ## Shows the module at work in an nginx of its own on this machine, and stops it.
	@. build/env.sh; tools/demo

serve: module ## The same nginx, kept up to be tried with curl.
	@. build/env.sh; tools/demo --serve

test: ready-test lint unit sim module integration ## Checks everything: format, lints, documentation, all tests.

lint: ready-module ## Checks format, lints and documentation.
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path llhttp-sys/Cargo.toml --check
	$(CARGO) clippy $(ALL) --all-targets -- -D warnings
	$(CARGO) clippy $(LLHTTP) --all-targets -- -D warnings
	$(CARGO) check $(LOCKED) -p ngx_http_ffi_client --no-default-features
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc $(ALL) --no-deps
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc $(LLHTTP) --no-deps

unit: ready-module ## Runs the tests that need no nginx; they also prove states/ and snapshots/ fresh.
	env -u UPDATE INSTA_UPDATE=no $(CARGO) test $(ALL)
	$(CARGO) test $(LLHTTP)

sim: ready-module ## Cuts all cases short everywhere and plays 2000 generated worlds; SEEDS=n, FROM=seed, or one SEED=x with its trace.
	SEEDS=$(or $(SEEDS),2000) FROM=$(FROM) SEED=$(SEED) DENSE=$(or $(DENSE),300) RUST_BACKTRACE=0 \
		$(CARGO) test --profile sim $(LOCKED) -p ngx_http_ffi_client --all-features \
		$(if $(SEED),,--test endings) --test sim -- --nocapture

fuzz: ready-module ## Lets libFuzzer decide what happens in simulated worlds, for SECONDS=60.
	SECONDS_ON=$(or $(SECONDS),60) fuzz/run

coverage: ready-module ## Measures which lines of the engine its tests reach.
	tools/coverage

integration: ready-test module ## Runs t/ against nginx; TEST_NGINX_LIB=DIR takes another Test::Nginx.
	$(CARGO) build --quiet $(ALL) --example replay
	tools/prove $(or $(FILES),t $(wildcard t/scripts/*.pl t/scripts/*.t))

states: ready-module ## Rewrites states/ from the transition tables.
	UPDATE=1 $(CARGO) test --all-features --test states

snapshots: ready-module ## Rewrites the traces in snapshots/.
	INSTA_UPDATE=always $(CARGO) test --all-features --test snapshots

cases: ready-module ## Rewrites the tests named in docs/cases.md from their titles.
	UPDATE=1 $(CARGO) test --test tidy

replay: ready-module ## Plays a trace from nginx's log again: make replay FILE=trace.log.
	@$(CARGO) run --quiet --features sim --example replay $(FILE)

memcheck: ready-test ready-bench module ## Runs t/ with every nginx under valgrind's memcheck; FILES=t/x.t runs these.
	$(CARGO) build --quiet $(ALL) --example replay
	tools/memcheck $(FILES)

bench: ready-bench module ## Measures the module against other ways to make a request.
	@. build/env.sh; benchmark/run
	@benchmark/core/run

clean: ## Removes everything that was built.
	$(CARGO) clean
	rm -rf build

ready-module:
	@tools/setup module

ready-test:
	@tools/setup test

ready-bench:
	@tools/setup bench
