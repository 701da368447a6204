// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller is the root of the controller module; its code lives in the packages below.
package controller
