module github.com/kopiur/kopiur/apis

go 1.26.0

require (
	// Assertions in tests.
	github.com/stretchr/testify v1.11.1
	// The Kubernetes types that ours embed (Pod and container security contexts, resources).
	k8s.io/api v0.37.2
	// metav1, resource.Quantity, field errors.
	k8s.io/apimachinery v0.37.2
)
