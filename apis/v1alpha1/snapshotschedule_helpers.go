// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "encoding/json"

// UnmarshalJSON reads the older scheduledAt as at, so that nobody has to ask for both.
func (s *ScheduleSlot) UnmarshalJSON(data []byte) error {
	type plain ScheduleSlot
	if err := json.Unmarshal(data, (*plain)(s)); err != nil {
		return err //nolint:wrapcheck // the decoder adds the path
	}
	if s.At == "" {
		s.At = s.ScheduledAt
	}
	s.ScheduledAt = ""
	return nil
}
