.PHONY: build images deploy

build: ## Build the programs, kopiurctl among them, into out/release.
	@VERSION=$(VERSION) hack/build.sh

images: build ## Build the image archives of all programs, without Docker, into out/images.
	@VERSION=$(VERSION) hack/images.sh

deploy: ## Load the images and install the chart on the cluster of cluster-up, or on KUBECONFIG; DEPLOY_FLAGS are helm's.
	@VERSION=$(VERSION) hack/deploy.sh $(DEPLOY_FLAGS)
