# `make help` lists the targets. The work is done by scripts/.
.DEFAULT_GOAL := help
SCALE ?= 1
STORE ?= memory

.PHONY: help run build package test faults bench format lint clean

help: ## list the targets
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/^([a-z]+):.*## (.*)/  make \1|\2/' | column -t -s '|'

run: ## build, then show a protected API: 30 requests, 20 pass, 10 are refused (STORE=redis: two gateways, one limit)
	@scripts/setup build $(filter redis,$(STORE)) && scripts/build release && STORE=$(STORE) scripts/run

build: ## build/release/penstock
	@scripts/setup build && scripts/build release && echo "build: build/release/penstock is ready"

package: ## build/penstock_*.deb, a Debian package with a service
	@scripts/setup build package && scripts/package

test: ## every test under every sanitizer (SCALE=10 for a long run)
	@SCALE=$(SCALE) scripts/test

faults: ## break Redis, upstreams, clients and clocks under load; one table of what was promised and measured
	@scripts/setup build test faults && scripts/build release && SCALE=$(SCALE) scripts/faults

bench: ## measure against named peers, figures as ratios inside one run
	@scripts/setup build test bench && scripts/bench

format: ## format the sources
	@scripts/setup test && scripts/format

lint: ## format check and clang-tidy, zero findings
	@scripts/setup test && scripts/format --check && scripts/lint

clean: ## remove build/
	@rm -rf build
