// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// workloadExec checks a command that runs in a container of a running pod.
func workloadExec(at *field.Path, w kopiurv1.WorkloadExec) Findings {
	f := podSelector(at.Child("podSelector"), w.PodSelector)
	f.Merge(containerName(at.Child("container"), w.Container))
	f.Merge(command(at.Child("command"), w.Command))
	f.Merge(duration(at.Child("timeout"), w.Timeout, time.Second))
	return f
}

// containerName checks the name of a container of somebody's pod; "" is one that was left out.
func containerName(at *field.Path, s string) Findings {
	var f Findings
	if s != "" && len(validation.IsDNS1123Label(s)) > 0 {
		f.invalid(at, s, "no container can have this name: write lower case letters, digits and -, at most 63 characters")
	}
	return f
}

// command checks a program and its arguments.
func command(at *field.Path, argv []string) Findings {
	var f Findings
	switch {
	case len(argv) == 0 || argv[0] == "":
		f.required(at, `write the program and its arguments as a list, such as ["pg_dump", "app"]`)
	case len(argv) == 1 && strings.ContainsAny(argv[0], " \t|;&<>"):
		f.invalid(at, argv[0], `no program has this name, and no shell is involved: write a list such as ["sh", "-c", %q]`, argv[0])
	}
	for i, a := range argv {
		if strings.ContainsRune(a, 0) {
			f.forbidden(at.Index(i), "an argument cannot hold the character NUL")
		}
	}
	return f
}

// fileName checks the name of the one file of a stream.
func fileName(at *field.Path, s string) Findings {
	f := present(at, s, "write the name of the file, such as db.sql")
	if s == "." || s == ".." || strings.ContainsAny(s, "/\x00") {
		f.invalid(at, s, "write a single name such as db.sql: no slash, not . or ..")
	}
	return f
}
