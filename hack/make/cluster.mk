.PHONY: test-driver cluster cluster-up cluster-down cluster-status kubectl demo

# The harness as a binary: it takes a few hundred milliseconds less than `go run` at each of many calls.
cluster:
	@mkdir -p out/bin
	@cd e2e && go build -o ../out/bin/cluster ./cmd/cluster

cluster-up: cluster ## Start a real cluster on this machine (root), building it first if need be.
	@out/bin/cluster up

cluster-down: cluster ## End that cluster and leave nothing behind.
	@out/bin/cluster down

cluster-status: cluster ## Tell whether it runs and where its things are.
	@out/bin/cluster status

kubectl: cluster ## Run kubectl there: make kubectl ARGS='get pods -A'.
	@out/bin/cluster exec -- kubectl $(ARGS)

demo: ## Back up a volume on a real cluster, lose it, restore it, compare every byte.
	@hack/demo.sh

# Its module holds all of Kubernetes, so only this one package of it is tested.
test-driver: ## Run the tests of the test cluster's CSI driver.
	@cd e2e/cluster/binaries && GOWORK=off go test ./cmd/csi-hostpath
