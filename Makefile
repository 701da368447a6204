# Everything a person or CI runs is a target here; the recipes are in hack/make/*.mk and hack/*.sh.
SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

include hack/make/*.mk

.PHONY: help
help: ## Show this list. M=<module> limits test, lint and t.
	@awk -F':.*## ' '/^[a-z-]+(-%)?:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST) | sort
