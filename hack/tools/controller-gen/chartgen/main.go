// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// chartgen derives from Go code what the chart must not state by hand: the CRDs and the controller's permissions.
// It drives controller-gen's own packages instead of post-processing its files, because only they still know which
// type a piece of schema came from.
//
//	chartgen crds  -out charts/kopiur/crds ./v1alpha1
//	chartgen rbac  -out charts/kopiur/files/rbac.yaml ./...
//	chartgen reference -out docs/reference/api charts/kopiur/crds
//	chartgen conditions -out docs/reference/conditions.md apis/v1alpha1
//	chartgen unread ./controller/...
//	chartgen sizes charts/kopiur/crds
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "chartgen:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("usage: chartgen crds|rbac|reference|conditions|unread|sizes …")
	}
	flags := flag.NewFlagSet("chartgen "+args[0], flag.ContinueOnError)
	out := flags.String("out", "", "where to write")
	api := flags.String("api", "github.com/kopiur/kopiur/apis/v1alpha1", "import path of the API types")
	page := flags.String("page", "docs/reference/not-yet.md", "page that lists what is not carried out")
	accounted := flags.String("accounted", "hack/fields-read-elsewhere.txt", "list of fields that other code than the controller reads")
	own := flags.String("own", "github.com/kopiur/kopiur/", "import path prefix of the types whose descriptions stay")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "crds":
		return writeCRDs(*out, *own, flags.Args())
	case "rbac":
		return writeRBAC(*out, flags.Args())
	case "reference":
		return writeReference(*out, flags.Arg(0))
	case "conditions":
		return writeConditions(*out, flags.Arg(0))
	case "unread":
		return checkUnread(os.Stdout, *api, *page, *accounted, flags.Args())
	case "sizes":
		return checkSizes(os.Stdout, flags.Arg(0))
	}
	return fmt.Errorf("unknown command %q", args[0])
}
