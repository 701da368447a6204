// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
)

func TestEveryErrorHasItsCodeAndASentence(t *testing.T) {
	t.Parallel()
	of := schema.GroupResource{Group: "kopiur.home-operations.com", Resource: "snapshots"}
	refused := apierrors.NewForbidden(of, "data-1", errors.New("admission webhook denied the request: no"))
	refused.ErrStatus.Message = `admission webhook "x" denied the request: no`
	for name, tc := range map[string]struct {
		err  error
		code cli.Code
		says string
	}{
		"nothing":                               {nil, cli.OK, ""},
		"a failure":                             {cli.Failedf("it is broken"), cli.Failed, "it is broken"},
		"a mistake in the command line":         {cli.Usagef("write it so"), cli.Usage, "write it so"},
		"an unknown name":                       {cli.NotFoundf("there is none"), cli.NotFound, "there is none"},
		"too slow":                              {cli.Timeoutf("still waiting"), cli.Timeout, "still waiting"},
		"an error nobody thought of":            {errors.New("odd"), cli.Failed, "odd"},
		"a permission that is missing":          {apierrors.NewForbidden(of, "data-1", errors.New("no")), cli.Forbidden, "ask whoever runs the cluster for this permission"},
		"another admission that refuses":        {refused, cli.Failed, "denied the request: no"},
		"credentials that are not accepted":     {apierrors.NewUnauthorized("Unauthorized"), cli.Forbidden, "log in again"},
		"one object that is missing":            {apierrors.NewNotFound(of, "data-1"), cli.NotFound, `"data-1" not found`},
		"a cluster without Kopiur":              {apierrors.NewGenericServerResponse(http.StatusNotFound, "list", of, "", "404 page not found", 0, true), cli.NotFound, "this cluster has no Kopiur"},
		"an object that the cluster refuses":    {apierrors.NewInvalid(schema.GroupKind{Kind: "Snapshot"}, "x", field.ErrorList{field.Required(field.NewPath("spec"), "write it")}), cli.Failed, "write it"},
		"a server that is too slow":             {apierrors.NewTimeoutError("slow", 1), cli.Timeout, "slow"},
		"an answer that did not come":           {fmt.Errorf("list: %w", &url.Error{Op: "Get", URL: "https://k", Err: context.DeadlineExceeded}), cli.Timeout, "check --kubeconfig and --context"},
		"nobody there":                          {&url.Error{Op: "Get", URL: "https://k", Err: &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}}, cli.Timeout, "the cluster does not answer"},
		"Ctrl-C":                                {&url.Error{Op: "Get", URL: "https://k", Err: context.Canceled}, cli.Failed, "interrupted"},
		"a reason wrapped in what was going on": {fmt.Errorf("list Snapshots: %w", cli.NotFoundf("none")), cli.NotFound, "list Snapshots: none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.code, cli.CodeOf(tc.err))
			if tc.err != nil {
				assert.Contains(t, cli.Sentence(tc.err), tc.says)
			}
		})
	}
}

func TestInvalidNamesFlags(t *testing.T) {
	t.Parallel()
	at := field.NewPath("spec")
	errs := field.ErrorList{
		field.Invalid(at.Child("tags").Key("kopiur"), "x", "choose another name"),
		field.Invalid(at.Child("failurePolicy", "backoffLimit"), -1, "write 0 or more"),
		field.Required(at.Child("source"), "write sourceIndex"),
	}
	err := cli.Invalid(errs, map[string]string{"spec.tags": "--tag", "spec.failurePolicy.backoffLimit": "--backoff-limit"})
	require.EqualError(t, err, `--tag kopiur: Invalid value: "x": choose another name
--backoff-limit: Invalid value: -1: write 0 or more
spec.source: Required value: write sourceIndex`)
	assert.Equal(t, cli.Usage, cli.CodeOf(err))
	require.NoError(t, cli.Invalid(nil, nil))
}
