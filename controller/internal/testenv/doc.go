// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testenv is the API layer of the tests: a real etcd and kube-apiserver, a namespace and a manager per test, and
// the two stand-ins that this layer is allowed. A fake mover plays what happens behind a Job, as Kubernetes 1.37
// validates it. A stub kubelet, registered as a Node, serves pods/log, so that client and API server stay real.
//
//	func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }
//
//	func TestSomething(t *testing.T) {
//		t.Parallel()
//		env := testenv.New(t)
//		env.Mover(func(attempt int, spec work.Spec) testenv.Play { return testenv.OK(spec) })
//		env.StartController()
//		…
//	}
package testenv
