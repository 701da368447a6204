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

var update = flag.Bool("update", false, "write the golden files anew")

// server is the API server of this process, kubeconfig a file that leads to it.
var (
	server     *rest.Config
	kubeconfig string
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	if testing.Short() {
		fmt.Fprintln(os.Stderr, "left out: API tests need an API server, and -short asks for no set-up")
		return 0
	}
	logf.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	stop, err := connect()
	if err != nil {
		fmt.Fprintln(os.Stderr, "API tests:", err)
		return 1
	}
	defer stop()
	return m.Run()
}

// connect finds or starts an API server and installs the CRDs.
func connect() (func(), error) {
	crds := envtest.CRDInstallOptions{Paths: []string{filepath.Join(root, "charts", "kopiur", "crds")}, ErrorIfPathMissing: true}
	if path := os.Getenv("KOPIUR_TEST_KUBECONFIG"); path != "" {
		cfg, err := clientcmd.BuildConfigFromFlags("", path)
		if err != nil {
			return nil, fmt.Errorf("read KOPIUR_TEST_KUBECONFIG: %w", err)
		}
		cfg.QPS = -1
		if _, err := envtest.InstallCRDs(cfg, crds); err != nil {
			return nil, fmt.Errorf("install the CRDs: %w", err)
		}
		server, kubeconfig = cfg, path
		return func() {}, nil
	}
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return nil, errors.New("no API server: make test sets one up (KOPIUR_TEST_KUBECONFIG), or set KUBEBUILDER_ASSETS to a folder with etcd and kube-apiserver")
	}
	env := &envtest.Environment{CRDInstallOptions: crds}
	cfg, err := env.Start()
	if err != nil {
		return nil, fmt.Errorf("start etcd and kube-apiserver: %w", err)
	}
	cfg.QPS = -1
	dir, err := os.MkdirTemp("", "kopiurctl-")
	if err != nil {
		return nil, err
	}
	server, kubeconfig = cfg, filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(kubeconfig, env.KubeConfig, 0o600); err != nil {
		return nil, err
	}
	return func() {
		if err := errors.Join(env.Stop(), os.RemoveAll(dir)); err != nil {
			fmt.Fprintln(os.Stderr, "API tests: stop:", err)
		}
	}, nil
}
