// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed manifests/*.yaml
var manifests embed.FS

const (
	// poll is the time between two looks at an object.
	poll = 500 * time.Millisecond
	// patience bounds one wait. What takes longer in a demo is stuck, and its object says why.
	patience = 3 * time.Minute
)

// demo holds what one run knows.
type demo struct {
	out      io.Writer
	terminal bool
	kubectl  string
	testapp  string
	image    string
	values   *strings.Replacer
	dir      string
	steps    int
	took     map[string]time.Duration
	stats    stats
}

// stats are what the final table shows.
type stats struct {
	Files         int64 `json:"files"`
	SizeBytes     int64 `json:"sizeBytes"`
	BytesUploaded int64 `json:"bytesUploaded"`
}

func newDemo(out *os.File) (*demo, error) {
	kubectl := os.Getenv("KUBECTL")
	if kubectl == "" {
		found, err := exec.LookPath("kubectl")
		if err != nil {
			return nil, errors.New("kubectl is needed: put it on PATH, or name it in KUBECTL")
		}
		kubectl = found
	}
	testapp := os.Getenv("TESTAPP")
	if testapp == "" {
		testapp = filepath.Join("..", "out", "bin", "testapp")
	}
	if _, err := os.Stat(testapp); err != nil {
		return nil, fmt.Errorf("find the test application: %w (make images builds it)", err)
	}
	image := os.Getenv("TESTAPP_IMAGE")
	if image == "" {
		image = "localhost/kopiur/testapp:dev"
	}
	dir, err := os.MkdirTemp("", "kopiur-demo-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the lists: %w", err)
	}
	info, err := out.Stat()
	return &demo{
		out: out, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0,
		kubectl: kubectl, testapp: testapp, image: image, dir: dir,
		values: strings.NewReplacer("@IMAGE@", image, "@SEED@", "2026", "@PASSWORD@", rand.Text()),
		took:   map[string]time.Duration{},
	}, nil
}

func (d *demo) close() { _ = os.RemoveAll(d.dir) }

// run starts kubectl and returns what it printed.
func (d *demo) run(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, d.kubectl, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// ns is run in the demo's namespace.
func (d *demo) ns(ctx context.Context, args ...string) (string, error) {
	return d.run(ctx, "", append([]string{"-n", namespace}, args...)...)
}

// show runs a command, shows it and what it printed.
func (d *demo) show(ctx context.Context, args ...string) error {
	d.command("kubectl -n " + namespace + " " + strings.Join(args, " "))
	out, err := d.ns(ctx, args...)
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		d.printf("    %s", line)
	}
	return nil
}

func (d *demo) manifest(name string) (string, error) {
	b, err := manifests.ReadFile("manifests/" + name)
	if err != nil {
		return "", fmt.Errorf("read the manifest: %w", err)
	}
	return d.values.Replace(string(b)), nil
}

func (d *demo) apply(ctx context.Context, name string) error {
	text, err := d.manifest(name)
	if err != nil {
		return err
	}
	d.command("kubectl apply -f e2e/cmd/demo/manifests/" + name)
	out, err := d.run(ctx, text, "apply", "-f", "-")
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		d.printf("    %s", line)
	}
	return nil
}

// cleanUp removes what an earlier run left.
func (d *demo) cleanUp(ctx context.Context) error {
	_, err := d.run(ctx, "", "delete", "namespace", namespace, "--ignore-not-found", "--wait", "--timeout=120s")
	return err
}

func (d *demo) waitJob(ctx context.Context, name string) error {
	return d.until(ctx, "job "+name, func() (bool, error) {
		out, err := d.ns(ctx, "get", "job", name, "-o", "jsonpath={.status.succeeded},{.status.failed}")
		if err != nil {
			return false, err
		}
		succeeded, failed, _ := strings.Cut(out, ",")
		if failed != "" && failed != "0" {
			logs, _ := d.ns(ctx, "logs", "job/"+name)
			return false, fmt.Errorf("job %s failed: %s", name, strings.TrimSpace(logs))
		}
		return succeeded == "1", nil
	})
}

// object is the little of a Kopiur object that the demo looks at.
type object struct {
	Status struct {
		Phase    string `json:"phase"`
		Progress struct {
			BytesProcessed int64 `json:"bytesProcessed"`
			BytesTotal     int64 `json:"bytesTotal"`
			BytesPerSecond int64 `json:"bytesPerSecond"`
			ETASeconds     int64 `json:"etaSeconds"`
		} `json:"progress"`
		Stats      stats `json:"stats"`
		Conditions []struct {
			Type, Status, Reason, Message string
		} `json:"conditions"`
	} `json:"status"`
}

// waitReady waits until Ready is True and the phase is the one asked for. Both are written in one patch, so that no
// moment exists in which one is true and the other stale.
func (d *demo) waitReady(ctx context.Context, name, phase string) error {
	d.command("kubectl -n " + namespace + " wait --for=condition=Ready " + name)
	bar := d.newBar()
	defer bar.end()
	return d.until(ctx, name, func() (bool, error) {
		out, err := d.ns(ctx, "get", name, "-o", "json")
		if err != nil {
			return false, err
		}
		var o object
		if err := json.Unmarshal([]byte(out), &o); err != nil {
			return false, fmt.Errorf("read %s: %w", name, err)
		}
		message := ""
		for _, c := range o.Status.Conditions {
			switch {
			case c.Type == "Ready" && c.Status == "True" && o.Status.Phase == phase:
				return true, nil
			case c.Type == "Stalled" && c.Status == "True":
				return false, fmt.Errorf("%s is stalled: %s: %s", name, c.Reason, c.Message)
			case c.Type == "Ready":
				message = c.Message
			}
		}
		bar.draw(o, message)
		return false, nil
	})
}

func (d *demo) until(ctx context.Context, what string, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		ok, err := done()
		if err != nil || ok {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, ctx.Err())
		case <-tick.C:
		}
	}
}

// list describes the volume and returns the number of entries, its root included.
func (d *demo) list(ctx context.Context, when string) (int, error) {
	text, err := d.manifest("list.yaml")
	if err != nil {
		return 0, err
	}
	if _, err := d.run(ctx, strings.ReplaceAll(text, "@WHEN@", when), "apply", "-f", "-"); err != nil {
		return 0, err
	}
	if err := d.waitJob(ctx, "list-"+when); err != nil {
		return 0, err
	}
	out, err := d.ns(ctx, "logs", "job/list-"+when)
	if err != nil {
		return 0, err
	}
	if err := os.WriteFile(d.listFile(when), []byte(out), 0o600); err != nil {
		return 0, fmt.Errorf("keep the list: %w", err)
	}
	return strings.Count(out, "\n"), nil
}

func (d *demo) listFile(when string) string { return filepath.Join(d.dir, when+".jsonl") }

func (d *demo) same(ctx context.Context, a, b string) error {
	cmd := exec.CommandContext(ctx, d.testapp, "compare", d.listFile(a), d.listFile(b))
	out, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		d.printf("    %s", line)
	}
	if err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	return nil
}

func (d *demo) readStats(ctx context.Context) error {
	out, err := d.ns(ctx, "get", "snapshot.kopiur.home-operations.com", "app-1", "-o", "json")
	if err != nil {
		return err
	}
	var o object
	if err := json.Unmarshal([]byte(out), &o); err != nil {
		return fmt.Errorf("read the snapshot: %w", err)
	}
	d.stats = o.Status.Stats
	return nil
}
