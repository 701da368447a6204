.PHONY: lint fmt verify

lint: ## Run the linters of .golangci.yml in every module, or in M=<module>.
	@hack/lint.sh $(M)

fmt: ## Format Go code as the linter wants it.
	@hack/lint.sh --fmt $(M)

verify: ## Check what must hold between files: generated code, tidy modules, import walls, chart, sizes.
	@hack/verify.sh $(MODULES) $(HACK_MODULES)
