// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/yaml"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// manifest writes an object of ours around its spec.
func manifest(kind, spec string) string {
	return "apiVersion: kopiur.home-operations.com/v1alpha1\nkind: " + kind + "\nmetadata: {name: a, namespace: apps}\nspec: " + spec + "\n"
}

// Each row is one mistake in an object that is otherwise whole.
func TestDecodeNamesTheRightPlace(t *testing.T) {
	t.Parallel()
	const policy = "{repository: {name: nas}, sources: [{pvc: {name: data}}], "
	const schedule = "{policyRef: {name: nightly}, schedule: {cron: 0 3 * * *}, "
	const repository = "{encryption: {passwordSecretRef: {name: pw}}, backend: "
	for name, tc := range map[string]struct{ kind, spec, want string }{
		"a class under the claim": {
			"SnapshotPolicy", "{repository: {name: nas}, sources: [{pvc: {name: data, volumeSnapshotClassName: fast}}]}",
			"spec.sources[0].pvc.volumeSnapshotClassName: there is no such field here: it belongs to spec.volumeSnapshotClassName",
		},
		"a path under the claim": {
			"SnapshotPolicy", "{repository: {name: nas}, sources: [{pvc: {name: x}}, {pvc: {name: data, sourcePathOverride: /a}}]}",
			"spec.sources[1].pvc.sourcePathOverride: there is no such field here: it belongs to spec.sources[1].sourcePathOverride",
		},
		"a reference as a text": {
			"SnapshotSchedule", "{policyRef: nightly, schedule: {cron: 0 3 * * *}}",
			"spec.policyRef: write policyRef: {name: nightly}",
		},
		"a schedule as a text": {
			"RepositoryReplication", "{sourceRef: {name: a}, destination: {filesystem: {path: /x}}, schedule: 0 3 * * *}",
			`spec.schedule: write schedule: {cron: "0 3 * * *"}`,
		},
		"a schedule with a policy": {
			"SnapshotPolicy", policy + "schedule: {cron: 0 3 * * *}}",
			"spec.schedule: there is no such field: create a SnapshotSchedule whose policyRef names this policy",
		},
		"insecure at a store": {
			"Repository", repository + "{s3: {bucket: b, insecure: true}}}",
			"spec.backend.s3.insecure: there is no such field: write tls.disableTls: true for a store without TLS, or tls.insecureSkipVerify: true for a certificate that nobody signed",
		},
		"a cron without its schedule": {
			"SnapshotPolicy", policy + "verification: {quick: {cron: 0 3 * * *}}}",
			"spec.verification.quick.cron: there is no such field here: it belongs to spec.verification.quick.schedule.cron",
		},
		"a prefix beside its store": {
			"Repository", repository + "{s3: {bucket: b}, prefix: x/}}",
			"spec.backend.prefix: there is no such field here: it belongs to spec.backend.s3.prefix",
		},
		"a password for a mirror": {
			"RepositoryReplication", "{sourceRef: {name: a}, destination: {filesystem: {path: /x}}, schedule: {cron: 0 3 * * *}, destinationEncryption: {}}",
			"spec.destinationEncryption: there is no such field: a mirror has the source's password",
		},
		"a limit that other programs have": {
			"SnapshotSchedule", schedule + "successfulJobsHistoryLimit: 3}",
			"spec.successfulJobsHistoryLimit: there is no such field: how many snapshots are kept is said by the policy's retention",
		},
		"a field of the schedule above it": {
			"SnapshotSchedule", schedule + "concurrencyPolicy: Forbid}",
			"spec.concurrencyPolicy: there is no such field here: it belongs to spec.schedule.concurrencyPolicy",
		},
		"a field of another kind": {
			"SnapshotSchedule", schedule + "retention: {keepDaily: 3}}",
			"spec.retention: there is no such field here: it belongs to spec.retention of a SnapshotPolicy",
		},
		"a field of two variants": {
			"Restore", "{source: {fromPolicy: {name: a}, asOf: 2026-01-01T00:00:00Z}, target: {populator: {}}}",
			"spec.source.asOf: there is no such field here: it belongs to spec.source.fromPolicy.asOf",
		},
		"a misspelt field": {
			"SnapshotPolicy", policy + "retention: {keepDaly: 3}}",
			"spec.retention.keepDaly: there is no such field: write keepDaily",
		},
		"two letters swapped": {"SnapshotPolicy", policy + "susepnd: true}", "spec.susepnd: there is no such field: write suspend"},
		"another case":        {"SnapshotPolicy", policy + "copymethod: Clone}", "spec.copymethod: there is no such field: write copyMethod"},
		"a shortened field":   {"SnapshotPolicy", policy + "verif: {}}", "spec.verif: there is no such field: write verification"},
		"a misspelt field of the pod": {
			"SnapshotPolicy", policy + "mover: {podSecurityContext: {fsgroup: 3}}}",
			"spec.mover.podSecurityContext.fsgroup: there is no such field: write fsGroup",
		},
		"a misspelt field in a Job of a hook": {
			"SnapshotPolicy", policy + "hooks: {beforeSnapshot: [{runJob: {jobSpec: {template: {spec: {containers: [{name: a, imag: b}]}}}}}]}}",
			"spec.hooks.beforeSnapshot[0].runJob.jobSpec.template.spec.containers[0].imag: there is no such field: write image",
		},
		"a field that nothing is like": {
			"Repository", repository + "{s3: {bucket: b, zzz: 1}}}",
			"spec.backend.s3.zzz: there is no such field: there are bucket, prefix, endpoint, region, tls, auth",
		},
		"an empty variant as null": {
			"Restore", "{source: {snapshotRef: {name: a}}, target: {populator: null}}",
			"spec.target.populator: null chooses nothing: write populator: {}",
		},
		"an empty variant as a text": {
			"Restore", "{source: {snapshotRef: {name: a}}, target: {populator: \"yes\"}}",
			"spec.target.populator: write populator: {}",
		},
		"one value for a list": {
			"Restore", "{source: {snapshotRef: {name: a}}, target: {pvc: {name: a, capacity: 1Gi, accessModes: ReadWriteOnce}}}",
			"spec.target.pvc.accessModes: this takes a list, not a text: write a dash before each item, or brackets around all",
		},
		"a list for one value": {
			"SnapshotPolicy", "{repository: [{name: nas}], sources: [{pvc: {name: data}}]}",
			"spec.repository: this takes one object, not a list: remove the dash",
		},
		"an object for a list": {
			"SnapshotPolicy", "{repository: {name: nas}, sources: {pvc: {name: data}}}",
			"spec.sources: this takes a list, not an object",
		},
		"a text for an object":         {"Repository", repository + "{filesystem: {path: /x}}, maintenance: true}", "spec.maintenance: this takes an object with fields of enabled, "},
		"a number in quotes":           {"SnapshotSchedule", schedule + `failedJobsHistoryLimit: "3"}`, "spec.failedJobsHistoryLimit: this takes a whole number: write it without quotes"},
		"a fraction":                   {"SnapshotSchedule", schedule + "failedJobsHistoryLimit: 2.5}", "spec.failedJobsHistoryLimit: this takes a whole number, not a fraction"},
		"a number beyond its type":     {"SnapshotSchedule", schedule + "failedJobsHistoryLimit: 99999999999}", "spec.failedJobsHistoryLimit: this is too large a number"},
		"a truth in quotes":            {"SnapshotPolicy", policy + `suspend: "true"}`, "spec.suspend: this takes true or false: write true without quotes"},
		"a number for a truth":         {"SnapshotPolicy", policy + "suspend: 1}", "spec.suspend: this takes true or false, not a number"},
		"a truth for a text":           {"SnapshotPolicy", "{repository: {name: on}, sources: [{pvc: {name: data}}]}", `spec.repository.name: this takes a text, not true or false: write it in quotes`},
		"a number for a text":          {"SnapshotPolicy", "{repository: {name: 2026}, sources: [{pvc: {name: data}}]}", `spec.repository.name: this takes a text, not a number: write it in quotes`},
		"an object for a text":         {"SnapshotPolicy", "{repository: {name: {a: b}}, sources: [{pvc: {name: data}}]}", "spec.repository.name: this takes a text, not an object"},
		"a text for a map":             {"SnapshotPolicy", policy + "mover: {resources: {limits: 3Gi}}}", "spec.mover.resources.limits: this takes a map, such as limits: {key: value}"},
		"a list for an amount":         {"SnapshotPolicy", policy + "mover: {resources: {limits: {cpu: []}}}}", "spec.mover.resources.limits.cpu: this takes a text, not a list"},
		"a field that must be there":   {"SnapshotSchedule", "{policyRef: {}, schedule: {cron: 0 3 * * *}}", "spec.policyRef.name: missing"},
		"null where something must be": {"SnapshotSchedule", "{policyRef: {name: a}, schedule: null}", "spec.schedule: missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			documents := Decode([]byte(manifest(tc.kind, tc.spec)))
			require.Len(t, documents, 1)
			require.Len(t, documents[0].Problems, 1, "%v", documents[0].Problems)
			assert.Contains(t, documents[0].Problems[0].String(), tc.want)
			assert.Nil(t, documents[0].Object, "what is half understood is not handed on")
		})
	}
}

func TestDecodeReportsEverythingAtOnce(t *testing.T) {
	t.Parallel()
	err := Problems(Decode([]byte(manifest("SnapshotPolicy", "{repositry: {name: nas}, sorces: [], suspend: 1}"))))
	require.EqualError(t, err, strings.Join([]string{
		"spec.repositry: there is no such field: write repository",
		"spec.sorces: there is no such field: write sources",
		"spec.suspend: this takes true or false, not a number",
		"spec.sources: missing",
	}, "\n"))
}

func TestDecodeStreams(t *testing.T) {
	t.Parallel()
	good := manifest("Restore", "{source: {snapshotRef: {name: a}}, target: {populator: {}}}")
	for name, tc := range map[string]struct {
		stream string
		want   []string // of each document its title, or its first problem
	}{
		"nothing":                       {"", nil},
		"comments and separators":       {"# a\n---\n\n---\n# b\n...\n", nil},
		"one":                           {good, []string{"Restore apps/a"}},
		"two":                           {good + "---\n" + good, []string{"Restore apps/a", "Restore apps/a"}},
		"a separator with a comment":    {"--- # first\n" + good + "--- # second\n" + good, []string{"Restore apps/a", "Restore apps/a"}},
		"content behind a separator":    {"--- {apiVersion: v1, kind: Secret, metadata: {name: x}}\n", []string{"Secret x (not ours)"}},
		"an end before the next":        {good + "...\n" + good, []string{"Restore apps/a", "Restore apps/a"}},
		"a byte order mark":             {"\ufeff" + good, []string{"Restore apps/a"}},
		"line ends of Windows":          {strings.ReplaceAll(good+"---\n"+good, "\n", "\r\n"), []string{"Restore apps/a", "Restore apps/a"}},
		"a separator within a text":     {"apiVersion: v1\nkind: ConfigMap\ndata:\n  a: |\n    ---\n    x\n", []string{"ConfigMap (not ours)"}},
		"JSON":                          {`{"apiVersion": "kopiur.home-operations.com/v1alpha1",` + "\n\t" + `"kind": "Restore", "metadata": {"name": "a"}, "spec": {"source": {"snapshotRef": {"name": "a"}}, "target": {"populator": {}}}}`, []string{"Restore a"}},
		"a list":                        {"apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(good), "\n", "\n  ") + "\n- {apiVersion: v1, kind: Secret}\n", []string{"Restore apps/a", "Secret (not ours)"}},
		"what others have":              {"apiVersion: snapshot.storage.k8s.io/v1\nkind: VolumeSnapshot\nspec: {zzz: 1}\n", []string{"VolumeSnapshot (not ours)"}},
		"a kind of the same name":       {"apiVersion: appstudio.redhat.com/v1\nkind: Snapshot\nspec: {zzz: 1}\n", []string{"Snapshot (not ours)"}},
		"another version":               {strings.Replace(good, "v1alpha1", "v1", 1), []string{"apiVersion: there is no kopiur.home-operations.com/v1: write kopiur.home-operations.com/v1alpha1"}},
		"a misspelt group":              {strings.Replace(good, "home-operations", "home-operation", 1), []string{"apiVersion: there is no kopiur.home-operation.com/v1alpha1: write kopiur.home-operations.com/v1alpha1"}},
		"another group of our name":     {strings.Replace(good, "kopiur.home-operations.com", "kopiur.io", 1), []string{"apiVersion: there is no kopiur.io/v1alpha1: write kopiur.home-operations.com/v1alpha1"}},
		"a kind in the plural":          {strings.Replace(good, "kind: Restore", "kind: Restores", 1), []string{"kind: there is no kind Restores: write Restore"}},
		"a kind that nothing is like":   {strings.Replace(good, "kind: Restore", "kind: Backup", 1), []string{"kind: there is no kind Backup: the kinds are Repository, ClusterRepository, SnapshotPolicy, SnapshotSchedule, Snapshot, Restore, Maintenance, RepositoryReplication, SnapshotReplication"}},
		"no kind":                       {"apiVersion: kopiur.home-operations.com/v1alpha1\n", []string{"kind: missing: the kinds are Repository, "}},
		"no version":                    {"kind: Restore\n", []string{"apiVersion: missing: write kopiur.home-operations.com/v1alpha1"}},
		"nothing of either":             {"spec: {}\n", []string{"apiVersion: missing"}},
		"a list of values":              {"- a\n", []string{"this is no object"}},
		"a key that is there twice":     {good + "---\n# c\n" + good + "metadata: {}\n", []string{"Restore apps/a", `line 11: key "metadata" is there twice: remove one of them`}},
		"a key that is there twice, in": {manifest("Restore", "\n  source: {}\n  source: {}"), []string{`line 6: key "source" is there twice`}},
		"a key twice in JSON":           {`{"kind": "Restore", "kind": "Restore"}`, []string{`line 1: key "kind" is there twice`}},
		"no YAML":                       {good + "---\nfoo: [\n", []string{"Restore apps/a", "this is not YAML: line 6: "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			documents := Decode([]byte(tc.stream))
			require.Len(t, documents, len(tc.want))
			for i, d := range documents {
				got := d.title()
				switch {
				case len(d.Problems) > 0:
					got = d.Problems[0].String()
				case d.Object == nil:
					got += " (not ours)"
				default:
					m, err := meta.Accessor(d.Object)
					require.NoError(t, err)
					assert.Equal(t, "a", m.GetName())
				}
				assert.True(t, strings.HasPrefix(got, tc.want[i]), "want %q, got %q", tc.want[i], got)
				assert.Equal(t, i+1, d.Number)
			}
		})
	}
}

func TestProblemsNameTheirDocument(t *testing.T) {
	t.Parallel()
	stream := "# two\n" + manifest("Restore", "{source: {snapshotRef: a}, target: {populator: {}}}") + "---\n" + manifest("Snapshot", "{polcyRef: {name: a}}")
	require.EqualError(t, Problems(Decode([]byte(stream))),
		"document 1 (Restore apps/a, line 1): spec.source.snapshotRef: write snapshotRef: {name: a}\n"+
			"document 2 (Snapshot apps/a, line 7): spec.polcyRef: there is no such field: write policyRef")
	require.NoError(t, Problems(Decode([]byte("apiVersion: v1\nkind: Secret\n"))))
}

func TestDecodeKeepsWhatIsWritten(t *testing.T) {
	t.Parallel()
	documents := Decode([]byte(manifest("SnapshotPolicy", "{repository: {name: nas}, sources: [{pvc: {name: data}}], mover: {cache: {capacity: 10}, resources: {limits: {cpu: 0.5, memory: 1Gi}}}, retention: null}")))
	require.NoError(t, Problems(documents))
	p, ok := documents[0].Object.(*kopiurv1.SnapshotPolicy)
	require.True(t, ok)
	assert.Equal(t, kopiurv1.Quantity("10"), p.Spec.Mover.Cache.Capacity)
	assert.Equal(t, "apps", p.Namespace)
	assert.Nil(t, p.Spec.Retention)
}

// Every kind of the scheme is known, and none that is not in it.
func TestKindsAreThoseOfTheScheme(t *testing.T) {
	t.Parallel()
	var want []string
	for kind := range scheme.KnownTypes(kopiurv1.GroupVersion) {
		if t := scheme.KnownTypes(kopiurv1.GroupVersion)[kind]; t.PkgPath() == ourPackage && !strings.HasSuffix(kind, "List") {
			want = append(want, kind)
		}
	}
	assert.ElementsMatch(t, want, kinds)
}

// The Go types and the schemas know the same fields, and require the same. Status is left out: its writer is ours.
func TestFieldsAreThoseOfTheSchemas(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			fresh, problem := ours(kopiurv1.GroupVersion.String(), kind)
			require.Nil(t, problem)
			spec, ok := reflect.TypeOf(fresh).Elem().FieldByName("Spec")
			require.True(t, ok)
			compareSchema(t, "spec", deref(spec.Type), schemaOf(t, kind)["spec"])
		})
	}
}

func compareSchema(t *testing.T, at string, typ reflect.Type, node any) {
	t.Helper()
	m, ok := node.(map[string]any)
	require.True(t, ok, at)
	typ = deref(typ)
	if items, ok := m["items"]; ok {
		compareSchema(t, at+"[]", typ.Elem(), items)
		return
	}
	properties, ok := m["properties"].(map[string]any)
	if !ok || typ.Kind() != reflect.Struct || reflect.PointerTo(typ).Implements(unmarshaler) {
		return
	}
	var names, required []string
	for _, f := range fieldsOf(typ) {
		names = append(names, f.name)
		if f.required {
			required = append(required, f.name)
		}
		compareSchema(t, at+"."+f.name, f.t, properties[f.name])
	}
	assert.ElementsMatch(t, slices.Collect(maps.Keys(properties)), names, at)
	if typ.PkgPath() == ourPackage {
		var want []string
		if list, ok := m["required"].([]any); ok {
			for _, name := range list {
				want = append(want, name.(string))
			}
		}
		assert.ElementsMatch(t, want, required, "required at %s", at)
	}
}

// schemaOf reads the properties of a kind from the chart.
func schemaOf(t *testing.T, kind string) map[string]any {
	t.Helper()
	files, err := filepath.Glob("../../charts/kopiur/crds/*.yaml")
	require.NoError(t, err)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		var crd struct {
			Spec struct {
				Names    struct{ Kind string }
				Versions []struct {
					Schema struct {
						OpenAPIV3Schema struct{ Properties map[string]any }
					}
				}
			}
		}
		require.NoError(t, yaml.Unmarshal(raw, &crd))
		if crd.Spec.Names.Kind == kind {
			return crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
		}
	}
	t.Fatalf("there is no CRD of %s", kind)
	return nil
}

// A hint stands for a name that does not exist, and an empty variant for one that does.
func TestHintsAndVariantsExist(t *testing.T) {
	t.Parallel()
	for typ, names := range hints {
		for name := range names {
			assert.False(t, slices.ContainsFunc(fieldsOf(typ), func(f jsonField) bool { return f.name == name }), "%s has a field %s", typ, name)
		}
	}
	for _, name := range emptyVariants {
		var found []place
		for _, kind := range kinds {
			fresh, _ := ours(kopiurv1.GroupVersion.String(), kind)
			find(nil, reflect.TypeOf(fresh).Elem(), name, 0, &found)
		}
		assert.NotEmpty(t, found, name)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(manifest("Restore", "{source: {snapshotRef: a}, target: {populator: {}}}"))
	f.Add(manifest("SnapshotPolicy", "{repositories: [{nam: a}], sources: [{pvc: []}], mover: {resources: {limits: {cpu: {}}}}, hooks: {beforeSnapshot: [{runJob: {jobSpec: {template: 3}}}]}}"))
	f.Add("--- {a: b}\n...\n%YAML 1.1\n---\n? [a]\n: b\n")
	f.Add("kind: List\nitems: [1, {}, null]\n")
	f.Add("a: &a {b: *a}\n")
	f.Fuzz(func(t *testing.T, stream string) {
		for _, d := range Decode([]byte(stream)) {
			for _, p := range d.Problems {
				assert.NotEmpty(t, p.Message)
			}
			if len(d.Problems) > 0 {
				assert.Nil(t, d.Object)
			}
		}
	})
}
