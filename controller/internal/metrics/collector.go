// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// collectTimeout bounds one collection. It reads a cache; the bound is a net.
const collectTimeout = 5 * time.Second

// Emit adds one sample. The labels are those of the gauge, in its order.
type Emit func(gauge *prometheus.Desc, value float64, labels ...string)

// Source knows some gauges and how to compute them.
type Source struct {
	// Gauges are all that Collect may emit.
	Gauges []*prometheus.Desc
	// Collect reads objects and emits samples. It gets the cache: what it lists must be neither changed nor kept.
	Collect func(ctx context.Context, c client.Reader, emit Emit) error
}

// Gauge describes one.
func Gauge(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Collector asks all sources at every scrape. It is a runnable of the manager, and registered while that runs.
type Collector struct {
	reader   client.Reader
	registry prometheus.Registerer
	sources  []Source
}

// NewCollector makes one that reads from a cache.
func NewCollector(c client.Reader, registry prometheus.Registerer, sources ...Source) *Collector {
	return &Collector{reader: c, registry: registry, sources: sources}
}

// Start registers the gauges until the context ends: after that the cache stands still, and old numbers are worse than
// none.
func (c *Collector) Start(ctx context.Context) error {
	if err := c.registry.Register(c); err != nil {
		return fmt.Errorf("register the gauges of objects: %w", err)
	}
	defer c.registry.Unregister(c)
	<-ctx.Done()
	return nil
}

// Describe names all gauges.
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	for _, s := range c.sources {
		for _, d := range s.Gauges {
			out <- d
		}
	}
}

// Collect computes all samples. A source that fails is passed over, so that the others still tell.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	for _, s := range c.sources {
		err := s.Collect(ctx, c.reader, func(gauge *prometheus.Desc, value float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(gauge, prometheus.GaugeValue, value, labels...)
		})
		if err != nil {
			logf.Log.WithName("metrics").Error(err, "Leaving gauges out of a scrape")
		}
	}
}
