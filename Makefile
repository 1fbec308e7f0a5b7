# `make demo` shows the program, and `make test` tests it; see README.md.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PREFIX ?= /usr/local
DESTDIR ?=
ARGS ?=
# The durations of `make fuzz` and `make soak`.
SECONDS ?= 60
MINUTES ?= 60
TARGET ?= $(notdir $(wildcard Tests/Corpora/*))

RELEASE := .build/release/batchproc
# Suites whose number of cases depends on Campaign; `make test` runs a part of the cases.
CAMPAIGNS = ^[A-Za-z]+\.($(shell grep -rlE 'Campaign\.|BATCHPROC_CAMPAIGN' Tests --include='*Tests.swift' | \
  xargs sed -nE 's/.*(struct|class) ([A-Za-z]+Tests) .*/\2/p' | sort -u | paste -sd '|'))/
SWIFT_SOURCES := Package.swift Sources Tests samples Fuzzing

.PHONY: help demo release test campaign faults crash-states mutate soak nights coverage tsan asan fuzz lint format docs bench install uninstall deb dist test-packages test-slurm clean

help:
	@echo 'make demo     install missing packages, build, and show each command on samples/'
	@echo 'make test     install missing packages, build, and run all tests (ARGS="--filter REGEX" for some)'
	@echo 'make faults   as root: 130 faults (ARGS="N01 R12" for some), then 8,000 failing calls and allocations'
	@echo 'make campaign all cases of the tests with random damage and random kills'
	@echo 'make crash-states  about 25,000 states after a power cut, of 15 runs (ARGS="--only REGEX --states N")'
	@echo 'make mutate   20,000 runs over files with random changes (ARGS="--seed N"); a part of make campaign'
	@echo 'make soak     MINUTES=$(MINUTES): random commands over a tree that changes, with little space'
	@echo 'make nights   as root: 90 nights of backups by two machines, and what can be restored after each'
	@echo 'make coverage  which regions of the parsers the library tests and corpora reach'
	@echo 'make tsan     the library tests under the thread sanitizer'
	@echo 'make asan     the library tests and the tests with damaged input under the address sanitizer'
	@echo 'make fuzz     SECONDS=$(SECONDS) TARGET="$(TARGET)": random input for the parsers'
	@echo 'make lint     check the style of Swift, shell and Python files, and compile the C code for arm64; make format repairs the Swift files'
	@echo 'make bench    compare the speed with other tools (ARGS=--quick for a short run)'
	@echo 'make install  PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)'
	@echo 'make uninstall  remove the files of make install; same PREFIX and DESTDIR'
	@echo 'make deb      a Debian package in .build/packages; make dist: a tarball with its manifest'
	@echo 'make test-packages  as root: install, run and remove both packages in an empty Debian system'
	@echo 'make docs     the pages of the libraries in .build/docs; fails if there is a warning'
	@echo 'make clean    remove built files and generated samples'

release:
	@scripts/bootstrap.sh build
	swift build -c release --static-swift-stdlib --disable-local-rpath --product batchproc -Xswiftc -num-threads -Xswiftc 2 \
	  $$(scripts/static-libraries.sh "$(CURDIR)/.build/static") $$(scripts/commit.sh)

demo: release
	@scripts/bootstrap.sh demo
	@scripts/demo.sh $(RELEASE)

# The tests use a debug build of the library, with its checks, and the release build of the program.
test: release
	@scripts/bootstrap.sh build test
	swift build --build-tests
	BATCHPROC_BIN="$${BATCHPROC_BIN:-$(CURDIR)/$(RELEASE)}" scripts/run-tests.py $(ARGS)

faults: release
	@scripts/bootstrap.sh test
	scripts/fault-campaign.sh $(RELEASE) $(ARGS)
	$(if $(ARGS),,scripts/call-faults.py $(RELEASE) --sample 4000)
	$(if $(ARGS),,scripts/call-faults.py $(RELEASE) --sample 4000 --allocations 2000)

campaign: release docs
	@scripts/bootstrap.sh build test
	swift build --build-tests
	BATCHPROC_CAMPAIGN=1 BATCHPROC_BIN="$(CURDIR)/$(RELEASE)" scripts/run-tests.py --filter '$(CAMPAIGNS)' $(ARGS)
	scripts/mutate.py $(RELEASE)

# The run with --mistakes proves that the check can fail.
crash-states: release
	@scripts/bootstrap.sh test
	scripts/crash-states.py $(RELEASE) --mistakes --states 450
	scripts/crash-states.py $(RELEASE) $(ARGS)

mutate: release
	@scripts/bootstrap.sh test
	scripts/mutate.py $(RELEASE) $(ARGS)

# As root, the run uses a separate disk and a memory limit.
soak: release
	@scripts/bootstrap.sh test
	scripts/soak.py $(RELEASE) --minutes $(MINUTES) $(ARGS)

nights: release
	@scripts/bootstrap.sh test
	scripts/nights.py $(RELEASE) $(ARGS)

coverage:
	@scripts/bootstrap.sh build test
	scripts/coverage.py $(ARGS)

# The library tests with a sanitizer, then the tests that give the program damaged and hostile input, with a
# program that has it. Suites of foreign formats are left out: a process with a limited address space reads these
# formats, in which no sanitizer can run. Leaks are not checked, since OpenSSL and Foundation keep some memory until
# the end.
PARSER_SUITES = ArchiveContradiction|ArchiveFlip|ArchiveHostile|ArchiveZero|Damage|StockInput|EncryptionTests
tsan: SANITIZER = thread
tsan: SANITIZER_OPTIONS = TSAN_OPTIONS='atexit_sleep_ms=0 suppressions=$(CURDIR)/.tsan-suppressions'
asan: SANITIZER = address
asan: SANITIZER_OPTIONS = ASAN_OPTIONS=detect_leaks=0
tsan asan:
	@scripts/bootstrap.sh build test
	$(SANITIZER_OPTIONS) swift test --sanitize=$(SANITIZER) --scratch-path .build/$@ --disable-xctest --no-parallel \
	  --filter 'BatchEngineTests|BatchOutputsTests|BatchCoreTests' $(ARGS)
	swift build --build-tests
	mkdir -p .build/$@/bin
	printf '%s\n' '#!/bin/sh' "$(SANITIZER_OPTIONS) exec $(CURDIR)/.build/$@/debug/batchproc \"\$$@\"" >.build/$@/bin/batchproc
	chmod 755 .build/$@/bin/batchproc
	BATCHPROC_BIN=$(CURDIR)/.build/$@/bin/batchproc scripts/run-tests.py --filter 'EndToEndTests.($(PARSER_SUITES))'

# Without --disable-dead-strip the linker separates the counters from the code, and the fuzzer sees no
# coverage. New inputs are stored in .build/fuzz/corpus, and failing inputs in .build/fuzz/found. libarchive
# allocates a buffer of the name length in a cpio header, up to 4 GiB, but uses only as much as there is data,
# so one allocation may be that large.
fuzz:
	@scripts/bootstrap.sh build
	BATCHPROC_FUZZING=1 swift build --product Fuzz --scratch-path .build/fuzz -c release --sanitize=fuzzer --sanitize=address --disable-dead-strip \
	  -Xswiftc -enable-testing -Xswiftc -sanitize-coverage=edge,trace-cmp,inline-8bit-counters,pc-table
	for target in $(TARGET); do \
	  mkdir -p .build/fuzz/corpus/$$target .build/fuzz/found; \
	  echo "fuzz: $$target"; \
	  BATCHPROC_FUZZ=$$target ASAN_OPTIONS=detect_leaks=0 SWIFT_BACKTRACE=enable=no .build/fuzz/release/Fuzz -max_total_time=$(SECONDS) \
	    -max_len=16384 -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=4200 -print_final_stats=1 -artifact_prefix=.build/fuzz/found/$$target- \
	    .build/fuzz/corpus/$$target Tests/Corpora/$$target Tests/Golden; \
	done

# The names of samples include odd ones, so the list of shell programs is separated by NUL.
lint:
	@scripts/bootstrap.sh lint
	swift format lint --strict --parallel --recursive $(SWIFT_SOURCES)
	find .ci scripts samples Tests/Golden \( -name '*.sh' -o -name '*.sbatch' -o -path .ci/run \) ! -path 'samples/notes/*' -print0 | \
	  xargs -0 shellcheck
	flake8 Benchmarks scripts samples
	scripts/arm64.sh

format:
	swift format --in-place --parallel --recursive $(SWIFT_SOURCES)

docs:
	@scripts/bootstrap.sh build
	swift build --target BatchCore
	scripts/docs.sh .build/docs

bench: release
	@scripts/bootstrap.sh bench
	python3 Benchmarks/bench.py --binary $(RELEASE) $(ARGS)

# Builds the program only if it is missing, so that `sudo make install` after `make demo` needs no toolchain.
$(RELEASE):
	$(MAKE) release

MAN := $(DESTDIR)$(PREFIX)/share/man/man1
MAN5 := $(DESTDIR)$(PREFIX)/share/man/man5
DOC := $(DESTDIR)$(PREFIX)/share/doc/batchproc
BASH_COMPLETIONS := $(DESTDIR)$(PREFIX)/share/bash-completion/completions
ZSH_COMPLETIONS := $(DESTDIR)$(PREFIX)/share/zsh/site-functions
FISH_COMPLETIONS := $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d

install: $(RELEASE)
	install -d $(DESTDIR)$(PREFIX)/bin $(MAN) $(MAN5) $(DOC)/docs $(DOC)/samples/{cron,run,slurm} $(DOC)/Benchmarks/results \
	  $(BASH_COMPLETIONS) $(ZSH_COMPLETIONS) $(FISH_COMPLETIONS)
	install -s -m 755 $(RELEASE) $(DESTDIR)$(PREFIX)/bin/batchproc
	install -m 644 LICENSE README.md CHANGELOG.md $(DOC)/
	install -m 644 docs/*.md docs/json.schema.json $(DOC)/docs/
	install -m 644 Benchmarks/results/*.{md,svg} $(DOC)/Benchmarks/results/
	for folder in cron run slurm; do install -m 644 samples/$$folder/* $(DOC)/samples/$$folder/; done
	install -m 644 samples/{batchproc.conf,read-archive.py,read-snapshot.py} $(DOC)/samples/
	install -m 755 samples/{parallel.sh,restore-by-hand.sh} $(DOC)/samples/
	install -m 644 docs/batchproc.conf.5 $(MAN5)/
	$(RELEASE) --experimental-generate-man | install -m 644 /dev/stdin $(MAN)/batchproc.1
	for command in $$($(RELEASE) --help | sed -n '/^SUBCOMMANDS/,/^$$/s/^  \([a-z]*\) .*/\1/p'); do \
	  $(RELEASE) --experimental-generate-man $$command | install -m 644 /dev/stdin $(MAN)/batchproc-$$command.1; \
	done
	$(RELEASE) --generate-completion-script bash | install -m 644 /dev/stdin $(BASH_COMPLETIONS)/batchproc
	$(RELEASE) --generate-completion-script zsh | install -m 644 /dev/stdin $(ZSH_COMPLETIONS)/_batchproc
	$(RELEASE) --generate-completion-script fish | install -m 644 /dev/stdin $(FISH_COMPLETIONS)/batchproc.fish

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/batchproc $(MAN)/batchproc.1 $(MAN)/batchproc-*.1 $(MAN5)/batchproc.conf.5 $(BASH_COMPLETIONS)/batchproc \
	  $(ZSH_COMPLETIONS)/_batchproc $(FISH_COMPLETIONS)/batchproc.fish $(DOC)/{LICENSE,README.md,CHANGELOG.md}
	rm -rf $(DOC)/docs $(DOC)/samples $(DOC)/Benchmarks
	[ ! -d $(DOC) ] || rmdir --ignore-fail-on-non-empty $(DOC)

deb dist: $(RELEASE)
	scripts/package.sh $@ $(RELEASE)

test-packages: $(RELEASE)
	@scripts/bootstrap.sh package
	scripts/test-packages.sh $(RELEASE)

test-slurm: $(RELEASE)
	scripts/test-slurm.sh $(RELEASE)

clean:
	rm -rf .build samples/odd samples/logs/access.log
