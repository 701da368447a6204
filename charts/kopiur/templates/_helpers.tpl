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
{{ include "kopiur.versionLabels" . }}
{{- end }}

{{- define "kopiur.versionLabels" -}}
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

{{/* The webhook's own name, also that of its ServiceAccount, Service and configurations. */}}
{{- define "kopiur.webhook.name" -}}
{{ include "kopiur.fullname" . }}-webhook
{{- end }}

{{- define "kopiur.webhook.selector" -}}
app.kubernetes.io/name: kopiur
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: webhook
{{- end }}

{{- define "kopiur.webhook.labels" -}}
{{ include "kopiur.webhook.selector" . }}
{{ include "kopiur.versionLabels" . }}
{{- end }}

{{/* The Secret that the certificate is in. */}}
{{- define "kopiur.webhook.secret" -}}
{{ .Values.webhook.tls.secretName | default (printf "%s-tls" (include "kopiur.webhook.name" .)) }}
{{- end }}

{{/* Rules from a file of permissions, with the names of this release in place of the markers' own. */}}
{{- define "kopiur.webhook.rbac" -}}
{{- $ctx := index . 0 -}}
{{ $ctx.Files.Get (index . 1) | replace "kopiur-webhook-tls" "%SECRET%" | replace "kopiur-webhook" (include "kopiur.webhook.name" $ctx) | replace "%SECRET%" (include "kopiur.webhook.secret" $ctx) }}
{{- end }}

{{/* The Service, and who signed its certificate where that is known here. Takes (list context path). */}}
{{- define "kopiur.webhook.client" -}}
service:
  name: {{ include "kopiur.webhook.name" (index . 0) }}
  namespace: {{ (index . 0).Release.Namespace }}
  path: {{ index . 1 }}
  port: 443
{{- with (index . 0).Values.webhook }}
{{- if eq .tls.mode "manual" }}
caBundle: {{ if hasPrefix "-----BEGIN" .caBundle }}{{ b64enc .caBundle }}{{ else }}{{ .caBundle }}{{ end }}
{{- end }}
{{- end }}
{{- end }}

{{/* What lets cert-manager write caBundle. */}}
{{- define "kopiur.webhook.injected" -}}
{{- if eq .Values.webhook.tls.mode "cert-manager" }}
annotations:
  cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/{{ include "kopiur.webhook.name" . }}
{{- end }}
{{- end }}
