// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package find

import (
	"github.com/spf13/pflag"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
)

// Wanted is a repository as flags name it.
type Wanted struct{ Name, Kind, Namespace string }

// AddTo adds the flags --repository, --repository-kind and --repository-namespace.
func (w *Wanted) AddTo(f *pflag.FlagSet, what string) {
	f.StringVar(&w.Name, "repository", "", what)
	f.StringVar(&w.Kind, "repository-kind", string(kopiurv1.KindRepository), "kind of --repository: Repository or ClusterRepository")
	f.StringVar(&w.Namespace, "repository-namespace", "", "namespace of --repository, if it is a Repository of another one")
}

// Reference is the complete reference; nil where no repository is asked for.
func (w *Wanted) Reference(namespace string) (*kopiurv1.RepositoryRef, error) {
	kind := kopiurv1.RepositoryKind(w.Kind)
	switch {
	case kind != kopiurv1.KindRepository && kind != kopiurv1.KindClusterRepository:
		return nil, cli.Usagef("--repository-kind %s is not known: write Repository or ClusterRepository", kind)
	case kind == kopiurv1.KindClusterRepository && w.Namespace != "":
		return nil, cli.Usagef("--repository-namespace: a ClusterRepository is in no namespace: leave it out")
	case w.Name == "" && (w.Namespace != "" || kind != kopiurv1.KindRepository):
		return nil, cli.Usagef("--repository is missing: write the name of the repository")
	case w.Name == "":
		return nil, nil
	}
	ref := kopiurv1.RepositoryRef{Name: w.Name, Kind: kind, Namespace: w.Namespace}.In(namespace)
	return &ref, nil
}
