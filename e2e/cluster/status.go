// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kopiur/kopiur/e2e/internal/box"
)

// Status is what is known about a cluster.
type Status struct {
	Name      string     `json:"name"`
	Kind      string     `json:"kind"`
	Running   bool       `json:"running"`
	Ready     bool       `json:"ready"`
	Started   *time.Time `json:"started,omitempty"`
	Leftovers []string   `json:"leftovers,omitempty"`

	Server       string            `json:"server,omitempty"`
	Kubeconfig   string            `json:"kubeconfig,omitempty"`
	Kubectl      string            `json:"kubectl,omitempty"`
	Assets       string            `json:"kubebuilderAssets,omitempty"`
	AuditLog     string            `json:"auditLog,omitempty"`
	Logs         string            `json:"logs"`
	PKI          string            `json:"pki,omitempty"`
	SnapshotCRDs string            `json:"snapshotCRDs,omitempty"`
	Versions     map[string]string `json:"versions,omitempty"`

	Node        string            `json:"node,omitempty"`
	NodeAddress string            `json:"nodeAddress,omitempty"`
	PID         int               `json:"pid,omitempty"` // the box's first process, as the host numbers it
	Storage     map[string]string `json:"storage,omitempty"`
	HostPath    string            `json:"hostPath,omitempty"`   // as pods name it
	HostFolder  string            `json:"hostFolder,omitempty"` // the same folder on the host
	Namespace   string            `json:"containerNamespace,omitempty"`
	Socket      string            `json:"containerdSocket,omitempty"`
	Processes   []ProcessStatus   `json:"processes,omitempty"`
}

// ProcessStatus is one program of a cluster. PID is the box's number of it if there is a box.
type ProcessStatus struct {
	Name string `json:"name"`
	PID  int    `json:"pid"`
	Exit string `json:"exit,omitempty"`
	Log  string `json:"log"`
}

// Status looks at the machine, not only at the record of the last command.
func (c *Cluster) Status(ctx context.Context) (Status, error) {
	s := Status{Name: c.layout.name, Kind: string(c.kind), Running: c.Running(), Ready: c.record.Ready, Logs: c.layout.logs}
	if !s.Running {
		s.Ready = false
		s.Leftovers = c.Leftovers()
		return s, nil
	}
	s.Started = &c.record.Started
	s.Server, s.Kubeconfig, s.AuditLog, s.PKI = c.record.Server, c.Kubeconfig(), c.AuditLog(), c.PKI()
	s.Kubectl, s.Assets, s.SnapshotCRDs, s.Versions = c.program("kubectl"), c.Assets(), c.SnapshotCRDs(), c.record.Versions
	if !c.isBox() {
		for _, p := range c.record.Processes {
			s.Processes = append(s.Processes, ProcessStatus{Name: p.Name, PID: p.PID, Log: c.layout.log(p.Name)})
		}
		return s, nil
	}
	s.Node, s.NodeAddress, s.PID, s.Namespace = c.node(), nodeIP, c.record.Processes[0].PID, "k8s.io"
	s.Storage = map[string]string{snapshotDriver: c.StorageRoot(true), plainDriver: c.StorageRoot(false)}
	s.HostPath, s.HostFolder = c.HostPath()
	s.Socket = filepath.Join(c.layout.state, "containerd", "containerd.sock")
	processes, err := box.Ask(ctx, c.layout.socket(), box.Request{})
	for _, p := range processes {
		s.Processes = append(s.Processes, ProcessStatus{Name: p.Name, PID: p.PID, Exit: p.Exit, Log: c.layout.log(p.Name)})
	}
	return s, err
}

// Print writes a table for people.
func (s Status) Print(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name string, value any) {
		if text := fmt.Sprint(value); text != "" {
			fmt.Fprintf(table, "%s\t%s\n", name, text)
		}
	}
	row("name", s.Name+" ("+s.Kind+")")
	if !s.Running {
		state := "not running; nothing left"
		if len(s.Leftovers) > 0 {
			state = "not running; left behind: " + strings.Join(s.Leftovers, "; ")
		}
		row("state", state)
		row("logs", s.Logs)
		return table.Flush()
	}
	state := "running and ready"
	if !s.Ready {
		state = "running, never became ready"
	}
	row("state", state+", since "+s.Started.Format(time.DateTime))
	row("server", s.Server)
	row("kubeconfig", s.Kubeconfig)
	row("kubectl", s.Kubectl)
	row("audit log", s.AuditLog)
	row("logs", s.Logs)
	row("certificates", s.PKI)
	row("snapshot CRDs", s.SnapshotCRDs)
	row("node", strings.TrimSpace(s.Node+" "+s.NodeAddress))
	for _, driver := range []string{snapshotDriver, plainDriver} {
		if root := s.Storage[driver]; root != "" {
			row("storage", driver+" in "+root)
		}
	}
	if s.PID != 0 {
		row("hostPath volumes", s.HostPath+", on the host "+s.HostFolder)
		row("pid of the box", s.PID)
		row("container namespace", s.Namespace+" at "+s.Socket)
	}
	for _, module := range []string{moduleKubernetes, moduleEtcd, moduleContainerd, moduleCoreDNS, moduleSnapshotter, moduleProvisioner} {
		if s.Versions[module] != "" {
			row("version", s.Versions[module]+" "+module)
		}
	}
	for _, p := range s.Processes {
		row("process", strings.TrimSpace(fmt.Sprintf("%6d %s %s", p.PID, p.Name, p.Exit)))
	}
	return table.Flush()
}
