.PHONY: generate

generate: ## Generate deepcopy methods, CRDs and RBAC rules from Go code, and the chart's goldens.
	@hack/generate.sh
	@hack/chart-test.sh --update
