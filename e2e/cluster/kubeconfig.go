// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"fmt"
	"os"
)

// writeKubeconfig writes a kubeconfig for one user, with everything embedded. JSON is YAML, so no YAML writer is needed.
func writeKubeconfig(path, name, server string, ca []byte, user keyPair) error {
	type object = map[string]any
	config := object{
		"apiVersion": "v1", "kind": "Config", "current-context": name,
		"clusters": []object{{"name": name, "cluster": object{"server": server, "certificate-authority-data": ca}}},
		"users":    []object{{"name": name, "user": object{"client-certificate-data": user.cert, "client-key-data": user.key}}},
		"contexts": []object{{"name": name, "context": object{"cluster": name, "user": name}}},
	}
	raw, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, append(raw, '\n'), 0o600); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return nil
}
