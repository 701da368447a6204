// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// Environment of the tests.
const (
	// EnvKubeconfig names the kubeconfig of an API server that stands already.
	EnvKubeconfig = "KOPIUR_TEST_KUBECONFIG"
	// EnvPKI names the folder with the certificates that its API server trusts a kubelet by.
	EnvPKI = "KOPIUR_TEST_PKI"
	// envAssets is where envtest finds etcd and kube-apiserver.
	envAssets = "KUBEBUILDER_ASSETS"
)

// kinds is how many CRDs there are at least, each of which may be made under our hands once.
const kinds = 9

// server is the API server of this process.
var server struct {
	cfg  *rest.Config
	node *kubelet
	role *permissions
	// audit is the path of its audit log, "" where it is not known.
	audit string
}

// Main runs the tests of a package against an API server: the one that KOPIUR_TEST_KUBECONFIG names, else one of its
// own. With -short it runs none, because there is no set-up then. It returns the exit status.
func Main(m *testing.M) int {
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
	node, err := startKubelet(cfg)
	if err != nil {
		fmt.Fprintln(os.Stderr, "API tests:", err)
		return 1
	}
	defer node.stop()
	role, err := grant(cfg)
	if err != nil {
		fmt.Fprintln(os.Stderr, "API tests:", err)
		return 1
	}
	defer role.revoke()
	server.cfg, server.node, server.role = cfg, node, role
	return m.Run()
}

// connect finds or starts an API server and installs the CRDs.
func connect() (*rest.Config, func(), error) {
	crds := envtest.CRDInstallOptions{Paths: []string{crdPath()}, ErrorIfPathMissing: true, MaxTime: Wait}
	if path := os.Getenv(EnvKubeconfig); path != "" {
		cfg, err := clientcmd.BuildConfigFromFlags("", path)
		if err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", EnvKubeconfig, err)
		}
		unlimited(cfg)
		server.audit = os.Getenv(EnvAuditLog)
		if err := install(cfg, crds); err != nil {
			return nil, nil, err
		}
		return cfg, func() {}, nil
	}
	if os.Getenv(envAssets) == "" {
		return nil, nil, errors.New("no API server: make test sets one up (KOPIUR_TEST_KUBECONFIG), or set KUBEBUILDER_ASSETS to a folder with etcd and kube-apiserver")
	}
	return startOwn(crds)
}

// install installs the CRDs. Packages of one run share the API server: what another one made between envtest's look and
// its create is there at the second look.
func install(cfg *rest.Config, crds envtest.CRDInstallOptions) error {
	_, err := envtest.InstallCRDs(cfg, crds)
	for tries := 0; apierrors.IsAlreadyExists(err) && tries < kinds; tries++ {
		_, err = envtest.InstallCRDs(cfg, crds)
	}
	if err != nil {
		return fmt.Errorf("install the CRDs: %w", err)
	}
	return nil
}

// startOwn starts etcd and an API server that writes an audit log.
func startOwn(crds envtest.CRDInstallOptions) (*rest.Config, func(), error) {
	dir, err := os.MkdirTemp("", "kopiur-api-")
	if err != nil {
		return nil, nil, fmt.Errorf("make a folder for the audit log: %w", err)
	}
	policy := filepath.Join(dir, "policy.json")
	server.audit = filepath.Join(dir, "audit.log")
	for name, content := range map[string]string{policy: auditPolicy, server.audit: ""} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("prepare the audit log: %w", err), os.RemoveAll(dir))
		}
	}
	env := &envtest.Environment{CRDInstallOptions: crds}
	env.ControlPlane.GetAPIServer().Configure().Set("audit-policy-file", policy).Set("audit-log-path", server.audit)
	cfg, err := env.Start()
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("start etcd and kube-apiserver from %s: %w", envAssets, err), os.RemoveAll(dir))
	}
	unlimited(cfg)
	return cfg, func() {
		if err := errors.Join(env.Stop(), os.RemoveAll(dir)); err != nil {
			fmt.Fprintln(os.Stderr, "API tests: stop:", err)
		}
	}, nil
}

// unlimited turns off the client's own throttle, which would make tests slow and say nothing about the product.
func unlimited(cfg *rest.Config) { cfg.QPS = -1 }

func crdPath() string {
	if p, err := filepath.Abs(filepath.Join(sourceDir(), "..", "..", "..", "charts", "kopiur", "crds")); err == nil {
		return p
	}
	return ""
}

// sourceDir is this package's folder. With -trimpath the compiler's own answer is a module path, so the working
// directory of a test, its package's folder, is walked up instead.
func sourceDir() string {
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		return filepath.Dir(file)
	}
	dir, err := os.Getwd()
	for ; err == nil && dir != "/"; dir = filepath.Dir(dir) {
		if _, e := os.Stat(filepath.Join(dir, "internal", "testenv")); e == nil {
			return filepath.Join(dir, "internal", "testenv")
		}
	}
	return "."
}
