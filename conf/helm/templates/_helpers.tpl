{{- define "gateway.name" -}}
{{- .Values.fullnameOverride | default (ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) (contains .Chart.Name .Release.Name)) | trunc 53 | trimSuffix "-" }}
{{- end }}

{{- define "gateway.selector" -}}
app.kubernetes.io/name: {{ .Values.nameOverride | default .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "gateway.labels" -}}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "gateway.selector" . }}
{{- end }}

{{- define "gateway.port" -}}
{{ ternary 8080 9310 (eq .Values.placement "front") }}
{{- end }}

{{- define "gateway.toml" -}}
state_dir = "/var/lib/robots-gateway"
mode = {{ .Values.mode | quote }}
trusted_proxies = {{ .Values.trustedProxies | toJson }}
{{- if eq .Values.placement "beside" }}
listen = []
{{- else }}
listen = ["0.0.0.0:8080"]
{{- end }}
{{- if .Values.admin.enabled }}
admin = "0.0.0.0:9309"
admin_token = {{ .Values.admin.token | quote }}
{{- end }}
{{- if eq .Values.placement "beside" }}

[authorize]
listen = "0.0.0.0:9310"
{{- end }}
{{- with .Values.fleet }}
{{- if .database }}

[fleet]
database = {{ .database | quote }}
{{- if .secret }}
password_file = "/etc/robots-gateway-fleet/{{ .secretKey }}"
{{- end }}
{{- end }}
{{- end }}

[[sites]]
{{- with .Values.hosts }}
hosts = {{ . | toJson }}
{{- end }}
{{- if eq .Values.placement "front" }}
origin = {{ required "placement \"front\" needs `origin`: where requests go" .Values.origin | quote }}
{{- end }}
{{- if .Values.robots }}
robots = { file = "robots.txt", block = {{ .Values.block | toJson }} }
{{- else if eq .Values.placement "front" }}
robots = { from = "origin", block = {{ .Values.block | toJson }} }
{{- else }}
{{- fail "placement \"beside\" needs `robots`: the gateway has no origin to take it from" }}
{{- end }}
{{- with .Values.extraConfig }}

{{ . }}
{{- end }}
{{- end }}
