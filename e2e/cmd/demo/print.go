// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

func (d *demo) printf(format string, args ...any) { fmt.Fprintf(d.out, format, args...) }

func (d *demo) title(text string) { d.printf("\n%s\n%s\n", text, strings.Repeat("=", len(text))) }

func (d *demo) step(text string) {
	d.steps++
	d.printf("\n%d. %s\n", d.steps, text)
}

func (d *demo) say(format string, args ...any) { d.printf("   "+format+"\n", args...) }

func (d *demo) command(line string) { d.printf("   $ %s\n", line) }

// explain prints what a person would look at next when something failed.
func (d *demo) explain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for _, args := range [][]string{
		{"describe", "repositories.kopiur.home-operations.com,snapshots.kopiur.home-operations.com,restores.kopiur.home-operations.com"},
		{"get", "pods,jobs,pvc"},
	} {
		_ = d.show(ctx, args...)
	}
}

// table sums the demo up.
func (d *demo) table() {
	d.title("Every byte is back")
	w := tabwriter.NewWriter(d.out, 0, 0, 3, ' ', 0)
	fmt.Fprintf(w, "files backed up\t%d\n", d.stats.Files)
	fmt.Fprintf(w, "bytes in them\t%s\n", size(d.stats.SizeBytes))
	fmt.Fprintf(w, "bytes stored\t%s\n", size(d.stats.BytesUploaded))
	fmt.Fprintf(w, "seconds to back up\t%.1f\n", d.took["back up"].Seconds())
	fmt.Fprintf(w, "seconds to restore\t%.1f\n", d.took["restore"].Seconds())
	_ = w.Flush()
}

func (d *demo) lookAround() {
	kubectl := "kubectl"
	if !strings.HasPrefix(d.kubectl, "/usr") {
		kubectl = d.kubectl
	}
	d.printf("\nLook around:\n")
	for _, line := range []string{
		kubectl + " -n " + namespace + " get kopiur",
		kubectl + " -n " + namespace + " describe snapshot.kopiur.home-operations.com app-1",
		kubectl + " -n kopiur-system logs deployment/kopiur-controller",
	} {
		d.command(line)
	}
	d.printf("Tear down:\n")
	d.command(kubectl + " delete namespace " + namespace)
	d.command("make cluster-down")
}

func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	default:
		return fmt.Sprintf("%d bytes", n)
	}
}

// bar is one line that a terminal redraws; elsewhere each new message is a line.
type bar struct {
	d    *demo
	last string
}

func (d *demo) newBar() *bar { return &bar{d: d} }

const barWidth = 30

func (b *bar) draw(o object, message string) {
	text := o.Status.Phase
	if p := o.Status.Progress; p.BytesTotal > 0 {
		done := min(1, float64(p.BytesProcessed)/float64(p.BytesTotal))
		full := int(done * barWidth)
		text = fmt.Sprintf("%s [%s%s] %3.0f %%  %s of %s  %s/s  %d s left", o.Status.Phase,
			strings.Repeat("#", full), strings.Repeat(".", barWidth-full), done*100,
			size(p.BytesProcessed), size(p.BytesTotal), size(p.BytesPerSecond), p.ETASeconds)
	} else if message != "" {
		text += ": " + message
	}
	if text == b.last {
		return
	}
	b.last = text
	if b.d.terminal {
		b.d.printf("\r\x1b[K    %s", text)
		return
	}
	b.d.printf("    %s\n", text)
}

func (b *bar) end() {
	if b.d.terminal && b.last != "" {
		b.d.printf("\r\x1b[K")
	}
}
