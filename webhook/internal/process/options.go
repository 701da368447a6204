// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"flag"
	"fmt"
	"io"
	"strconv"
)

// Options of the webhook. Every one has a flag and an environment variable; the flag wins.
type Options struct {
	// Addr is where admission is served, over TLS.
	Addr string
	// HTTPAddr is where metrics and health are served.
	HTTPAddr  string
	Namespace string
	// TLSManaged makes the webhook keep its own certificate authority.
	TLSManaged       bool
	SecretName       string
	ServiceName      string
	ValidatingConfig string
	MutatingConfig   string
	// TLSDir holds tls.crt and tls.key where the certificate is not the webhook's own.
	TLSDir        string
	WorkerThreads int
	LogFormat     string
	LogLevel      string
}

// Parse reads flags and environment. Usage and faults of flags are printed to out; flag.ErrHelp is returned for -h.
func Parse(args []string, getenv func(string) string, out io.Writer) (Options, error) {
	var o Options
	var faults []error
	fs := flag.NewFlagSet("webhook", flag.ContinueOnError)
	fs.SetOutput(out)
	text := func(p *string, name, env, def, usage string) {
		if v := getenv(env); v != "" {
			def = v
		}
		fs.StringVar(p, name, def, usage+" ("+env+")")
	}
	text(&o.Addr, "addr", "KOPIUR_WEBHOOK_ADDR", ":8443", "address of admission, over TLS")
	text(&o.HTTPAddr, "http-addr", "KOPIUR_HTTP_ADDR", ":8081", "address of /metrics, /healthz and /readyz")
	text(&o.Namespace, "namespace", "KOPIUR_NAMESPACE", "", "namespace of the operator; required with --tls-managed")
	text(&o.SecretName, "tls-secret-name", "KOPIUR_WEBHOOK_TLS_SECRET_NAME", "kopiur-webhook-tls", "Secret that holds the webhook's own certificate authority")
	text(&o.ServiceName, "tls-service-name", "KOPIUR_WEBHOOK_TLS_SERVICE_NAME", "kopiur-webhook", "Service that the certificate is made for")
	text(&o.ValidatingConfig, "tls-validating-config", "KOPIUR_WEBHOOK_TLS_VALIDATING_CONFIG", "kopiur-webhook", "ValidatingWebhookConfiguration that is told what to trust")
	text(&o.MutatingConfig, "tls-mutating-config", "KOPIUR_WEBHOOK_TLS_MUTATING_CONFIG", "kopiur-webhook", "MutatingWebhookConfiguration that is told what to trust")
	text(&o.TLSDir, "tls-dir", "KOPIUR_WEBHOOK_TLS_DIR", "/tls", "folder with tls.crt and tls.key, read again when they change; unused with --tls-managed")
	text(&o.LogFormat, "log-format", "KOPIUR_LOG_FORMAT", "text", "text or json")
	text(&o.LogLevel, "log-level", "KOPIUR_LOG_LEVEL", "info", "error, warn, info, debug, or a number: the higher the more")
	threads := 2
	if v := getenv("KOPIUR_WORKER_THREADS"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			faults = append(faults, fmt.Errorf("KOPIUR_WORKER_THREADS=%q is not a number", v))
		}
		threads = n
	}
	fs.IntVar(&o.WorkerThreads, "worker-threads", threads, "threads that run Go code at a time (KOPIUR_WORKER_THREADS)")
	managed := true
	if v := getenv("KOPIUR_WEBHOOK_TLS_MANAGED"); v != "" {
		b, err := strconv.ParseBool(v)
		if err != nil {
			faults = append(faults, fmt.Errorf("KOPIUR_WEBHOOK_TLS_MANAGED=%q is not true or false", v))
		}
		managed = b
	}
	fs.BoolVar(&o.TLSManaged, "tls-managed", managed, "make the certificate, keep it in a Secret and renew it (KOPIUR_WEBHOOK_TLS_MANAGED)")
	if err := fs.Parse(args); err != nil {
		return Options{}, err //nolint:wrapcheck // printed already
	}
	if fs.NArg() > 0 {
		return Options{}, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if len(faults) > 0 {
		return Options{}, faults[0]
	}
	return o, o.validate()
}

func (o Options) validate() error {
	switch {
	case o.WorkerThreads < 1:
		return fmt.Errorf("--worker-threads=%d: must be at least 1", o.WorkerThreads)
	case o.TLSManaged && o.Namespace == "":
		return missing("namespace", "KOPIUR_NAMESPACE")
	case o.TLSManaged && o.SecretName == "":
		return missing("tls-secret-name", "KOPIUR_WEBHOOK_TLS_SECRET_NAME")
	case o.TLSManaged && o.ServiceName == "":
		return missing("tls-service-name", "KOPIUR_WEBHOOK_TLS_SERVICE_NAME")
	case !o.TLSManaged && o.TLSDir == "":
		return missing("tls-dir", "KOPIUR_WEBHOOK_TLS_DIR")
	}
	_, err := handler(o, io.Discard)
	return err
}

func missing(flagName, env string) error {
	return fmt.Errorf("--%s (or %s) is not set", flagName, env)
}
