// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// root of the checkout, from this package's folder, which is where go test runs it.
const root = "../../.."

// server is the API server of this process.
var server *rest.Config

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	if testing.Short() {
		fmt.Fprintln(os.Stderr, "left out: API tests need an API server, and -short asks for no set-up")
		return 0
	}
	logf.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	cfg, stop, err := connect()
	if err != nil {
		fmt.Fprintln(os.Stderr, "API tests:", err)
		return 1
	}
	defer stop()
	server = cfg
	return m.Run()
}

// connect finds or starts an API server and installs the CRDs.
func connect() (*rest.Config, func(), error) {
	crds := envtest.CRDInstallOptions{Paths: []string{filepath.Join(root, "charts", "kopiur", "crds")}, ErrorIfPathMissing: true}
	if path := os.Getenv("KOPIUR_TEST_KUBECONFIG"); path != "" {
		cfg, err := clientcmd.BuildConfigFromFlags("", path)
		if err != nil {
			return nil, nil, fmt.Errorf("read KOPIUR_TEST_KUBECONFIG: %w", err)
		}
		cfg.QPS = -1
		if _, err := envtest.InstallCRDs(cfg, crds); err != nil {
			return nil, nil, fmt.Errorf("install the CRDs: %w", err)
		}
		return cfg, func() {}, nil
	}
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return nil, nil, errors.New("no API server: make test sets one up (KOPIUR_TEST_KUBECONFIG), or set KUBEBUILDER_ASSETS to a folder with etcd and kube-apiserver")
	}
	env := &envtest.Environment{CRDInstallOptions: crds}
	cfg, err := env.Start()
	if err != nil {
		return nil, nil, fmt.Errorf("start etcd and kube-apiserver: %w", err)
	}
	cfg.QPS = -1
	return cfg, func() {
		if err := env.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "API tests: stop:", err)
		}
	}, nil
}
