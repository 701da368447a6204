.PHONY: test t soak bench

test: ## Run all tests with all their set-up; ends with the counts. M=<module> runs only its own.
	@hack/test.sh $(if $(filter command line environment,$(origin M)),,--cluster) $(M)

test-%: ## Run the tests of one module, with the control plane they need.
	@hack/test.sh $*

t: ## Run what needs no set-up (-short): the inner loop.
	@hack/test.sh --short $(M)

soak: ## Run the long forms: every kill point, every fault, full sizes. Takes hours; M=mover less than one.
	@hack/test.sh --soak $(if $(filter command line environment,$(origin M)),,--cluster) $(M)

bench: ## Measure against the budgets, in minutes; FULL=1: in full size. BENCH=<row,…> limits it (M1, M3/D2, go).
	@hack/bench.sh
