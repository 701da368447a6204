// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package complete answers the shell when it asks what may come next.
package complete

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/find"
)

// patience is how long somebody who pressed the tab key waits.
const patience = 3 * time.Second

// Func completes one word.
type Func = cobra.CompletionFunc

// Flag completes a flag's value.
func Flag(cmd *cobra.Command, name string, f Func) {
	if err := cmd.RegisterFlagCompletionFunc(name, f); err != nil {
		panic(err) // there is no such flag: no build with that fault gets past a test
	}
}

// Fixed completes from a list.
func Fixed(words ...string) Func {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}

// Args completes arguments by their place; what comes after them gets nothing.
func Args(places ...Func) Func {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) < len(places) {
			return places[len(args)](cmd, args, word)
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// Names completes the names of a kind in the namespace that is worked in.
func Names(env *cli.Env, list func() client.ObjectList) Func {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return names(cmd.Context(), env, list(), false), cobra.ShellCompDirectiveNoFileComp
	}
}

// Repositories completes the names of repositories of a kind that another flag names.
func Repositories(env *cli.Env, kind *string) Func {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		if *kind == string(kopiurv1.KindClusterRepository) {
			return names(cmd.Context(), env, &kopiurv1.ClusterRepositoryList{}, true), cobra.ShellCompDirectiveNoFileComp
		}
		return names(cmd.Context(), env, &kopiurv1.RepositoryList{}, false), cobra.ShellCompDirectiveNoFileComp
	}
}

// Repository completes the flags that name a repository.
func Repository(cmd *cobra.Command, env *cli.Env, w *find.Wanted) {
	Flag(cmd, "repository", Repositories(env, &w.Kind))
	Flag(cmd, "repository-kind", Fixed(string(kopiurv1.KindRepository), string(kopiurv1.KindClusterRepository)))
	Flag(cmd, "repository-namespace", Namespaces(env))
}

// Namespaces completes the names of namespaces.
func Namespaces(env *cli.Env) Func {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return names(cmd.Context(), env, &corev1.NamespaceList{}, true), cobra.ShellCompDirectiveNoFileComp
	}
}

// Contexts completes the names of the kubeconfig's contexts.
func Contexts(env *cli.Env) Func {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return env.Contexts(), cobra.ShellCompDirectiveNoFileComp
	}
}

// names lists; a cluster that does not answer completes nothing, and says nothing into the command line either.
func names(ctx context.Context, env *cli.Env, list client.ObjectList, clusterWide bool) []string {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cluster, err := env.Connect()
	if err != nil {
		return nil
	}
	namespace := cluster.Namespace
	if clusterWide {
		namespace = ""
	}
	out, err := find.Names(ctx, cluster, namespace, list)
	if err != nil {
		return nil
	}
	return out
}
