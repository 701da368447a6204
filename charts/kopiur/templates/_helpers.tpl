{{/* The front of every name. */}}
{{- define "kopiur.fullname" -}}
{{ .Values.fullnameOverride | default "kopiur" }}
{{- end }}

{{/* What a selector holds must never change: a Deployment's selector is immutable. */}}
{{- define "kopiur.selector" -}}
app.kubernetes.io/name: kopiur
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: controller
{{- end }}

{{- define "kopiur.labels" -}}
{{ include "kopiur.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* registry/repository:tag or @digest. Takes (list context image). */}}
{{- define "kopiur.image" -}}
{{- $ctx := index . 0 -}}
{{- $image := index . 1 -}}
{{- $registry := $ctx.Values.global.imageRegistry | default $image.registry -}}
{{- with $registry }}{{ trimSuffix "/" . }}/{{ end }}{{ $image.repository }}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ $image.tag | default $ctx.Chart.AppVersion }}{{ end }}
{{- end }}

{{/* Permissions as the controller's code asks for them; see hack/generate.sh. */}}
{{- define "kopiur.rbac" -}}
{{ .Files.Get "files/rbac.yaml" }}
{{- end }}
