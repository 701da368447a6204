// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package moverlog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kopiur/kopiur/kopiurctl/internal/moverlog"
)

func TestCopy(t *testing.T) {
	t.Parallel()
	output := strings.Join([]string{
		`{"type":"log","time":"2026-03-05T09:00:01+01:00","level":"info","message":"connected to the repository"}`,
		`{"type":"progress","time":"2026-03-05T08:00:02Z","progress":{"bytesProcessed":1}}`,
		`{"type":"log","time":"2026-03-05T08:00:03Z","level":"warning","message":"a file changed"}`,
		``,
		`panic: out of luck`,
		`{not ours`,
		`{"type":"result","time":"2026-03-05T08:00:04Z","result":{"code":"OK"}}`,
	}, "\n")
	var got []string
	n := moverlog.Copy(strings.NewReader(output), func(format string, args ...any) { got = append(got, fmt.Sprintf(format, args...)) })
	assert.Equal(t, []string{
		"08:00:01 INFO  connected to the repository", "08:00:03 WARNING a file changed", "panic: out of luck", "{not ours",
	}, got)
	assert.Equal(t, 4, n)
}
