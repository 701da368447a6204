.PHONY: generate

generate: ## Generate deepcopy methods, CRDs, RBAC rules and reference pages from Go code, and the chart's goldens.
	@hack/generate.sh
	@hack/chart-test.sh --update
