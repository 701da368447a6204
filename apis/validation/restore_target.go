// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

func restoreTarget(at *field.Path, s *kopiurv1.RestoreSpec, own string) Findings {
	t := s.Target
	f := oneOf(at, variant{"pvc", t.PVC != nil}, variant{"pvcRef", t.PVCRef != nil},
		variant{"populator", t.Populator != nil}, variant{"streamExec", t.StreamExec != nil})
	if t.PVC != nil {
		f.Merge(targetPVC(at.Child("pvc"), *t.PVC))
	}
	if r := t.PVCRef; r != nil {
		at := at.Child("pvcRef")
		f.Merge(name(at.Child("name"), r.Name))
		f.Merge(namespace(at.Child("namespace"), r.Namespace))
		if r.Namespace != "" && own != "" && r.Namespace != own {
			f.invalid(at.Child("namespace"), r.Namespace, "a mover mounts claims of its own namespace only: create the Restore in %s", r.Namespace)
		}
		if !slices.Contains([]kopiurv1.InUsePolicy{"", kopiurv1.InUseWarn, kopiurv1.InUseRefuse}, r.IfInUse) {
			f.invalid(at.Child("ifInUse"), string(r.IfInUse), "write Warn or Refuse")
		}
	}
	if e := t.StreamExec; e != nil {
		at := at.Child("streamExec")
		f.Merge(fileName(at.Child("fileName"), e.FileName))
		f.Merge(workloadExec(at.Child("workloadExec"), e.WorkloadExec))
	}
	return f
}

func targetPVC(at *field.Path, t kopiurv1.TargetPVC) Findings {
	f := name(at.Child("name"), t.Name)
	capacity := at.Child("capacity")
	if t.Capacity == "" {
		f.required(capacity, "write the size of the new claim, such as 10Gi: at least what the snapshot holds")
	} else {
		f.Merge(quantity(capacity, t.Capacity))
		if q, err := t.Capacity.Parse(); err == nil && q.IsZero() {
			f.invalid(capacity, string(t.Capacity), "write more than 0, such as 10Gi")
		}
	}
	if t.StorageClassName != "" {
		f.Merge(name(at.Child("storageClassName"), t.StorageClassName))
	}
	f.Merge(accessModes(at.Child("accessModes"), t.AccessModes))
	return f
}

// accessModes checks those of a claim that is written to.
func accessModes(at *field.Path, modes []corev1.PersistentVolumeAccessMode) Findings {
	var f Findings
	for i, m := range modes {
		switch m {
		case corev1.ReadWriteOnce, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOncePod:
		default:
			f.invalid(at.Index(i), string(m), "write ReadWriteOnce, ReadWriteMany, ReadWriteOncePod or ReadOnlyMany")
		}
	}
	switch {
	case len(modes) == 0:
	case len(modes) == 1 && modes[0] == corev1.ReadOnlyMany:
		f.invalid(at, modes, "nobody could write to the claim: add ReadWriteOnce")
	case len(modes) > 1 && slices.Contains(modes, corev1.ReadWriteOncePod):
		f.invalid(at, modes, "ReadWriteOncePod stands alone: leave the other modes out")
	}
	return f
}

// option is one that a target or another option has no use for.
type option struct {
	name string
	set  bool
}

func restoreOptions(at *field.Path, s *kopiurv1.RestoreSpec) Findings {
	var f Findings
	o := s.Options
	if o == nil {
		return f
	}
	f.Merge(atLeastOne(at.Child("parallel"), o.Parallel))
	if o.Parallel != nil && *o.Parallel > maxParallel {
		f.invalid(at.Child("parallel"), *o.Parallel, "write at most %d", maxParallel)
	}
	yes := func(b *bool) bool { return b != nil && *b }
	no := func(b *bool) bool { return b != nil && !*b }
	if yes(o.EnableFileDeletion) {
		for _, keep := range []option{
			{"overwriteFiles", no(o.OverwriteFiles)}, {"overwriteDirectories", no(o.OverwriteDirectories)}, {"overwriteSymlinks", no(o.OverwriteSymlinks)},
		} {
			if keep.set {
				f.forbidden(at.Child("enableFileDeletion"), "it deletes what the snapshot has not, and %s: false keeps what the snapshot has otherwise: keep one of them", keep.name)
			}
		}
	}
	if yes(o.SkipExisting) && yes(o.SkipTimes) {
		f.warn(at.Child("skipExisting"), "it compares times, and skipTimes sets none: what was restored before is restored again")
	}
	if s.Target.StreamExec != nil {
		for _, unused := range []option{
			{"enableFileDeletion", o.EnableFileDeletion != nil},
			{"ignorePermissionErrors", o.IgnorePermissionErrors != nil},
			{"writeFilesAtomically", o.WriteFilesAtomically != nil},
			{"writeSparseFiles", o.WriteSparseFiles != nil},
			{"skipOwners", o.SkipOwners != nil},
			{"skipPermissions", o.SkipPermissions != nil},
			{"skipTimes", o.SkipTimes != nil},
			{"overwriteFiles", o.OverwriteFiles != nil},
			{"overwriteDirectories", o.OverwriteDirectories != nil},
			{"overwriteSymlinks", o.OverwriteSymlinks != nil},
			{"skipExisting", o.SkipExisting != nil},
			{"parallel", o.Parallel != nil},
		} {
			if unused.set {
				f.warn(at.Child(unused.name), "it is not used with target.streamExec, which writes no files")
			}
		}
		if yes(o.IgnoreErrors) {
			f.forbidden(at.Child("ignoreErrors"), "half a file must not reach the command of target.streamExec: leave it out")
		}
	}
	return f
}
