// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/kopiur/kopiur/controller/internal/deps"
	"github.com/kopiur/kopiur/controller/internal/leader"
	"github.com/kopiur/kopiur/controller/internal/streamaccess"
)

// Options of the controller. Every one has a flag and an environment variable; the flag wins.
type Options struct {
	MoverImage           string
	RcloneMoverImage     string
	StreamImage          string
	StreamRole           string
	ServerImage          string
	Namespace            string
	WatchNamespaces      []string
	HTTPAddr             string
	LeaderElect          bool
	Leader               leader.Config
	ReconcileConcurrency int
	MaxConcurrentJobs    int
	MaxDeleteJobs        int
	CredentialProjection bool
	WorkerThreads        int
	LogFormat            string
	LogLevel             string
	// Ignored are variables of an older operator that have no meaning here.
	Ignored []string
}

// ignored variables shaped the mover's role. Movers have no token here, so there is nothing to shape.
var ignored = []string{"KOPIUR_MOVER_SERVICE_ACCOUNT", "KOPIUR_MOVER_CLUSTERROLE", "KOPIUR_MOVER_ROLE_KIND"}

// Parse reads flags and environment. Usage and faults of flags are printed to out; flag.ErrHelp is returned for -h.
func Parse(args []string, getenv func(string) string, out io.Writer) (Options, error) {
	var o Options
	var faults []error
	fs := flag.NewFlagSet("controller", flag.ContinueOnError)
	fs.SetOutput(out)
	text := func(p *string, name, env, def, usage string) {
		if v := getenv(env); v != "" {
			def = v
		}
		fs.StringVar(p, name, def, usage+" ("+env+")")
	}
	number := func(p *int, name, env string, def int, usage string) {
		if v := getenv(env); v != "" {
			n, err := strconv.Atoi(v)
			if err != nil {
				faults = append(faults, fmt.Errorf("%s=%q is not a number", env, v))
			}
			def = n
		}
		fs.IntVar(p, name, def, usage+" ("+env+")")
	}
	length := func(p *time.Duration, name, env string, def time.Duration, usage string) {
		if v := getenv(env); v != "" {
			d, err := time.ParseDuration(v)
			if err != nil {
				faults = append(faults, fmt.Errorf("%s=%q is not a duration", env, v))
			}
			def = d
		}
		fs.DurationVar(p, name, def, usage+" ("+env+")")
	}
	d := leader.DefaultConfig()
	text(&o.MoverImage, "mover-image", "KOPIUR_MOVER_IMAGE", "", "image of the mover pods; required")
	text(&o.RcloneMoverImage, "rclone-mover-image", "KOPIUR_RCLONE_MOVER_IMAGE", "", "image of the mover pods of repositories behind rclone; by default the mover's with -rclone behind its tag")
	text(&o.StreamImage, "stream-image", "KOPIUR_STREAM_IMAGE", "", "image with the helper that runs commands for streams, normally the controller's own; without it there are no streams")
	text(&o.StreamRole, "stream-role", "KOPIUR_STREAM_ROLE", streamaccess.DefaultRole, "ClusterRole that such helpers are bound to")
	text(&o.ServerImage, "server-image", "KOPIUR_SERVER_IMAGE", "", "image of kopia's web UI; without it none is served")
	text(&o.Namespace, "namespace", "KOPIUR_NAMESPACE", "", "namespace of the operator; required")
	watch := ""
	text(&watch, "watch-namespaces", "KOPIUR_WATCH_NAMESPACES", "", "namespaces to look after, separated by commas; all where it is empty. ClusterRepositories are looked after in any case")
	text(&o.HTTPAddr, "http-addr", "KOPIUR_HTTP_ADDR", ":8081", "address of /metrics, /healthz and /readyz")
	length(&o.Leader.LeaseDuration, "lease-duration", "KOPIUR_LEASE_DURATION", d.LeaseDuration, "how long leadership is good after its last renewal")
	length(&o.Leader.RenewDeadline, "renew-deadline", "KOPIUR_RENEW_DEADLINE", d.RenewDeadline, "window of one round of renewals")
	length(&o.Leader.RenewPeriod, "renew-period", "KOPIUR_RENEW_PERIOD", d.RenewPeriod, "pause between rounds of renewals")
	length(&o.Leader.RetryPeriod, "retry-period", "KOPIUR_RETRY_PERIOD", d.RetryPeriod, "pause between attempts to renew")
	number(&o.ReconcileConcurrency, "reconcile-concurrency", "KOPIUR_RECONCILE_CONCURRENCY", deps.DefaultConcurrency, "objects of one kind that are reconciled at a time; 0 is unbounded")
	number(&o.MaxConcurrentJobs, "max-concurrent-jobs", "KOPIUR_MAX_CONCURRENT_JOBS", 0, "backups that run at a time over all repositories; 0 is unbounded")
	number(&o.MaxDeleteJobs, "max-concurrent-delete-jobs", "KOPIUR_MAX_CONCURRENT_DELETE_JOBS", 0, "Jobs that delete stored data at a time over all repositories; 0 is unbounded")
	number(&o.WorkerThreads, "worker-threads", "KOPIUR_WORKER_THREADS", 2, "threads that run Go code at a time")
	text(&o.LogFormat, "log-format", "KOPIUR_LOG_FORMAT", "text", "text or json")
	text(&o.LogLevel, "log-level", "KOPIUR_LOG_LEVEL", "info", "error, warn, info, debug, or a number: the higher the more")
	project := false
	if v := getenv("KOPIUR_CREDENTIAL_PROJECTION"); v != "" {
		b, err := strconv.ParseBool(v)
		if err != nil {
			faults = append(faults, fmt.Errorf("KOPIUR_CREDENTIAL_PROJECTION=%q is not true or false", v))
		}
		project = b
	}
	fs.BoolVar(&o.CredentialProjection, "credential-projection", project, "copy credentials of ClusterRepositories where both sides ask for it (KOPIUR_CREDENTIAL_PROJECTION)")
	elect := true
	if v := getenv("KOPIUR_LEADER_ELECT"); v != "" {
		b, err := strconv.ParseBool(v)
		if err != nil {
			faults = append(faults, fmt.Errorf("KOPIUR_LEADER_ELECT=%q is not true or false", v))
		}
		elect = b
	}
	fs.BoolVar(&o.LeaderElect, "leader-elect", elect, "work only while holding the Lease; false is for one replica with strategy Recreate (KOPIUR_LEADER_ELECT)")
	if err := fs.Parse(args); err != nil {
		return Options{}, err //nolint:wrapcheck // printed already
	}
	if fs.NArg() > 0 {
		return Options{}, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if len(faults) > 0 {
		return Options{}, faults[0]
	}
	for ns := range strings.SplitSeq(watch, ",") {
		if ns = strings.TrimSpace(ns); ns != "" {
			o.WatchNamespaces = append(o.WatchNamespaces, ns)
		}
	}
	for _, env := range ignored {
		if getenv(env) != "" {
			o.Ignored = append(o.Ignored, env)
		}
	}
	return o, o.validate()
}

func (o Options) validate() error {
	switch {
	case o.MoverImage == "":
		return missing("mover-image", "KOPIUR_MOVER_IMAGE")
	case o.Namespace == "":
		return missing("namespace", "KOPIUR_NAMESPACE")
	case o.ReconcileConcurrency < 0:
		return fmt.Errorf("--reconcile-concurrency=%d: must not be negative", o.ReconcileConcurrency)
	case o.MaxConcurrentJobs < 0:
		return fmt.Errorf("--max-concurrent-jobs=%d: must not be negative", o.MaxConcurrentJobs)
	case o.MaxDeleteJobs < 0:
		return fmt.Errorf("--max-concurrent-delete-jobs=%d: must not be negative", o.MaxDeleteJobs)
	case o.WorkerThreads < 1:
		return fmt.Errorf("--worker-threads=%d: must be at least 1", o.WorkerThreads)
	}
	if _, err := handler(o, io.Discard); err != nil {
		return err
	}
	if o.LeaderElect {
		return o.Leader.Validate() //nolint:wrapcheck // says what is wrong
	}
	return nil
}

func missing(flagName, env string) error {
	return fmt.Errorf("--%s (or %s) is not set", flagName, env)
}
