# SPDX-License-Identifier: BSD-3-Clause
# The front door. Every target sets up what it needs by itself; `make` alone prints what there is.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
SOAK_SECONDS ?= 600
SOAK_SEEDS ?= 100000
PYTHON := /usr/bin/python3
export PYTHONDONTWRITEBYTECODE := 1

# $(call build,PRESET): configures and builds into build/PRESET. Configuring again costs a second and keeps it true.
build = cmake --preset $(1) --log-level=WARNING >/dev/null && cmake --build --preset $(1) -j $(JOBS)
# Seconds of CPU that a command of the release build takes, without a compiler cache: the mean of a whole build.
build_command_s = 4
# $(call check,PRESET,JOBS): runs that build's tests, so many at a time; the last lines say how many passed. Most tests
# wait, so that there may be three for each processor; under a sanitizer most of their time is its own.
check = ctest --preset $(1) -j $(2)
most_wait = $$((3 * $(JOBS)))
few_wait = $$(($(JOBS) + 1))

.PHONY: help
help:
	@echo "make TARGET [JOBS=$(JOBS)]; each installs the Debian packages it lacks"
	@sed -nE -e 's/^##@ (.*)/\n\1/p' -e 's/^([a-z-]+):[^#]*## (.*)/  \1\t\2/p' Makefile | expand -t 12

##@ First

.PHONY: run
run: setup-lab ## build what the quick lab starts, run it (five minutes), say in five sentences what came out
	@cmake --preset release --log-level=WARNING >/dev/null
	@ninja -C build/release --quiet -t commands quick_lab | awk -v cores=$(JOBS) -v each=$(build_command_s) ' \
	    END { printf "Step 1 of 2: build, at most %d commands and about %d minutes on %d cores\n", NR, \
	          NR * each / cores / 60 + 1, cores }'
	@NINJA_STATUS="[step 1 of 2: %f of %t] " cmake --build --preset release -j $(JOBS) --target quick_lab
	@echo "Step 2 of 2: measure, about 5 minutes"
	@$(PYTHON) -m versus quick

.PHONY: test
test: setup ## build and run every test: C++, Python, tidy, installation
	@$(call build,dev)
	@$(call check,dev,$(most_wait))

.PHONY: test-all
test-all: setup ## make test with each layer on every engine (half an hour)
	@$(call build,dev)
	@PEAL_ALL_ENGINES=1 $(call check,dev,$(most_wait))

.PHONY: build
build: setup-lab ## the release build, into build/release: the library, the program, the examples, the contenders
	@$(call build,release)

.PHONY: install
install: ## install headers, libraries, packages and the programs under PREFIX (/usr/local); needs nothing of the lab
	@scripts/setup programs
	@cmake -S . -B build/install -G Ninja -DPEAL_TESTS=OFF -DPEAL_BENCH=OFF -DPEAL_CONTENDERS=OFF >/dev/null
	@cmake --build build/install -j $(JOBS) --target installed
	@cmake --install build/install --prefix "$(PREFIX)" >build/install.log
	@echo "installed peal under $(PREFIX)"

.PHONY: install-library
install-library: ## the same without the lab: headers, libraries and packages, built in two minutes
	@scripts/setup library
	@cmake -S . -B build/library -G Ninja -DPEAL_LAB=OFF >/dev/null
	@cmake --build build/library -j $(JOBS)
	@cmake --install build/library --prefix "$(PREFIX)" >build/install.log
	@echo "installed peal's libraries under $(PREFIX)"

.PHONY: static
static: ## the programs peal and peal-model without shared libraries, into build/static/bin: for any Linux on x86-64
	@scripts/setup programs
	@cmake -S . -B build/static -G Ninja -DPEAL_STATIC=ON -DPEAL_TESTS=OFF -DPEAL_BENCH=OFF -DPEAL_CONTENDERS=OFF \
	    >/dev/null
	@cmake --build build/static -j $(JOBS) --target peal_program peal_model_program
	@strip build/static/bin/peal build/static/bin/peal-model

.PHONY: deb
deb: ## Debian packages of the libraries and the programs, into build/deb, looked at by lintian
	@scripts/setup packages
	@JOBS=$(JOBS) scripts/deb build/deb

.PHONY: deb-check
deb-check: deb ## builds the packages twice and compares the bytes; installs, uses and removes them in an empty Debian
	@JOBS=$(JOBS) scripts/deb build/deb_again
	@for package in build/deb/*.deb; do cmp "$$package" "build/deb_again/$${package##*/}"; done
	@scripts/deb_check build/deb

##@ What is measured

.PHONY: lab
lab: build ## the full matrix of the lab (long)
	@cmake --build --preset release --target contenders_foreign
	@$(PYTHON) -m versus full

.PHONY: models
models: build ## every concurrency model on one service: who wins where (14 minutes); MODE=full: everything (hours)
	@$(PYTHON) -m versus models $(if $(filter full,$(MODE)),--full)

.PHONY: bench
bench: build ## microbenchmarks, then the table of bars
	@build/release/bin/peal_bench
	@$(PYTHON) -m versus bench

##@ What must hold, besides the tests

.PHONY: asan
asan: setup ## the C++ tests under the address and undefined-behaviour sanitizers
	@$(call build,asan)
	@$(call check,asan,$(few_wait))

.PHONY: tsan
tsan: setup ## the C++ tests that have threads under the thread sanitizer
	@$(call build,tsan)
	@$(call check,tsan,$(few_wait))

.PHONY: fuzz
fuzz: setup ## feed the protocol parsers broken input, FUZZ_SECONDS (60) each; what is found stays in build/fuzz/found
	@$(call build,fuzz) --target fuzzers
	@ls build/fuzz/bin/*_fuzz | xargs -P $(JOBS) -I PROGRAM scripts/fuzz PROGRAM $(FUZZ_SECONDS)
	@echo "fuzz: clean"

.PHONY: lint
lint: setup ## formatting, tools/tidy.py; clang-tidy and includes of what changed since the last lint-deep
	@cmake --preset lint --log-level=WARNING >/dev/null
	@$(call build,dev) --target peal peal_sim peal_tls peal_protobuf
	@scripts/lint build/lint $(JOBS)

.PHONY: lint-deep
lint-deep: setup ## the same of every source, and the libraries linked whole (12 minutes)
	@cmake --preset lint --log-level=WARNING >/dev/null
	@scripts/lint build/lint $(JOBS) deep

.PHONY: cover
cover: setup ## line coverage of the library's tests, as a table and build/cover/report/index.html
	@$(call build,cover)
	@find build/cover -name '*.gcda' -delete
	@$(call check,cover,$(most_wait)) -LE 'python|house'
	@mkdir -p build/cover/report
	@gcovr --root . --filter 'peal/' --filter 'load/' --exclude '.*_(test|bench)\.cc' --exclude-throw-branches \
	    -j $(JOBS) --html-details build/cover/report/index.html --txt --print-summary build/cover

.PHONY: churn
churn: setup ## a million connections in every order, on each engine: what they leave behind (minutes)
	@$(call build,dev) --target integration_tests
	@PEAL_CHURN_CONNECTIONS=1000000 build/dev/bin/integration_tests --gtest_filter='*ChurnOrders*'

.PHONY: soak
soak: setup ## the worst clients together against real programs, SOAK_SECONDS (600); logs in build/soak
	@$(call build,dev) --target peal_program websocket_chat
	@PEAL_BIN_DIR=build/dev/bin $(PYTHON) tests/soak/soak.py --seconds $(SOAK_SECONDS)

.PHONY: sim-soak
sim-soak: setup ## the same and chaos in the simulator, SOAK_SEEDS (100000) seeds; a seed that fails is printed
	@$(call build,dev) --target integration_tests
	@scripts/sim_soak build/dev/bin/integration_tests $(SOAK_SEEDS) $(JOBS)

##@ The house

.PHONY: format
format: setup ## clang-format every C and C++ file
	@scripts/sources | xargs -0 clang-format-19 -i

.PHONY: setup
setup: ## install the Debian packages that are missing (scripts/packages.txt)
	@scripts/setup

# What the release build takes of them.
.PHONY: setup-lab
setup-lab:
	@scripts/setup lab

.PHONY: goldens
goldens: setup ## rebuild tests/goldens with the public Python packages hdrhistogram, httptools, protobuf
	@$(call build,dev) --target base_tests
	@$(PYTHON) tools/make_goldens.py --tests build/dev/bin/base_tests
	@$(PYTHON) tools/protobuf_goldens.py

.PHONY: site
site: setup ## the documents and the reference of the API, to be read offline: build/site/html/index.html (2 minutes)
	@$(PYTHON) tools/site/build.py
	@$(PYTHON) tools/site/look.py

.PHONY: screens
screens: setup ## take the screens of docs/inspector.md again, of an example under a little traffic (2 minutes)
	@$(call build,dev) --target inspected
	@PEAL_SCREENS=docs/images PEAL_BIN_DIR=build/dev/bin $(PYTHON) -m pytest -q -p no:cacheprovider \
	    tests/outside/inspector_screens_test.py -k of_the_document

.PHONY: clean
clean: ## remove build/
	@rm -rf build
