# make demo and make test are all that is needed to try and to check the project; see README.md.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PREFIX ?= /usr/local
DESTDIR ?=
ARGS ?=
# Of make fuzz.
SECONDS ?= 60
