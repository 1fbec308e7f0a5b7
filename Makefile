# make demo and make test are all that is needed to try and to check the project; see README.md.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PREFIX ?= /usr/local
DESTDIR ?=
ARGS ?=

RELEASE := .build/release/batchproc
# Suites with cases that are chosen at random, of which make test runs a tenth.
CAMPAIGNS := ^EndToEndTests\.(ArchiveContradiction|ArchiveDamage|ArchiveFlip|ArchiveKill|CompressKill|IndexedArchive)Tests/
SWIFT_SOURCES := Package.swift Sources Tests samples

.PHONY: help demo release test campaign faults tsan lint format bench install clean

help:
	@echo 'make demo     install what is missing, build, and show each command on samples/'
	@echo 'make test     install what is missing, build, run every test (ARGS="--filter REGEX" for some)'
	@echo 'make faults   as root: a hundred faults and bad inputs, one line each (ARGS="N01 R12" for some)'
	@echo 'make campaign the tests that break archives, or end the program, at random: all of their cases'
	@echo 'make tsan     the library tests under the thread sanitizer'
	@echo 'make lint     style of every Swift file; make format mends it'
	@echo 'make bench    side by side with the peers (ARGS=--quick for a short run)'
	@echo 'make install  PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)'
	@echo 'make clean    remove what was built and the generated samples'

release:
	@scripts/bootstrap.sh build
	swift build -c release --static-swift-stdlib --product batchproc \
	  $$(scripts/static-libraries.sh "$(CURDIR)/.build/static")

demo: release
	@scripts/demo.sh $(RELEASE)

# The tests call the library as it is built for debugging, with its checks, and run the program as it is released.
test: release
	@scripts/bootstrap.sh build test
	swift build --build-tests
	BATCHPROC_BIN="$${BATCHPROC_BIN:-$(CURDIR)/$(RELEASE)}" scripts/run-tests.py $(ARGS)

faults: release
	@scripts/bootstrap.sh test
	scripts/fault-campaign.sh $(RELEASE) $(ARGS)

campaign: release
	@scripts/bootstrap.sh build test
	swift build --build-tests
	BATCHPROC_CAMPAIGN=1 BATCHPROC_BIN="$(CURDIR)/$(RELEASE)" scripts/run-tests.py --filter '$(CAMPAIGNS)' $(ARGS)

tsan:
	@scripts/bootstrap.sh build test
	TSAN_OPTIONS="suppressions=$(CURDIR)/.tsan-suppressions" swift test --sanitize=thread \
	  --scratch-path .build/tsan --disable-xctest --no-parallel --filter 'BatchCoreTests|BatchEngineTests'

lint:
	swift format lint --strict --parallel --recursive $(SWIFT_SOURCES)

format:
	swift format --in-place --parallel --recursive $(SWIFT_SOURCES)

bench: release
	@scripts/bootstrap.sh bench
	python3 Benchmarks/bench.py --binary $(RELEASE) $(ARGS)

# Builds only what is absent, so that `sudo make install` after `make demo` needs no toolchain.
$(RELEASE):
	$(MAKE) release

install: $(RELEASE)
	install -d $(DESTDIR)$(PREFIX)/{bin,share/man/man1,share/doc/batchproc} \
	  $(DESTDIR)$(PREFIX)/share/{bash-completion/completions,zsh/site-functions,fish/vendor_completions.d}
	install -s -m 755 $(RELEASE) $(DESTDIR)$(PREFIX)/bin/batchproc
	install -m 644 LICENSE README.md CHANGELOG.md $(DESTDIR)$(PREFIX)/share/doc/batchproc/
	$(RELEASE) --experimental-generate-man >$(DESTDIR)$(PREFIX)/share/man/man1/batchproc.1
	$(RELEASE) --generate-completion-script bash \
	  >$(DESTDIR)$(PREFIX)/share/bash-completion/completions/batchproc
	$(RELEASE) --generate-completion-script zsh >$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_batchproc
	$(RELEASE) --generate-completion-script fish \
	  >$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/batchproc.fish

clean:
	rm -rf .build samples/odd samples/logs/access.log
