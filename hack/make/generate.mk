.PHONY: generate

generate: ## Generate deepcopy methods, CRDs and RBAC rules from Go code.
	@hack/generate.sh
