{{/* Name of everything: the release's, which usually is jobledger. */}}
{{- define "jobledger.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{/* What selects all pods of the release. */}}
{{- define "jobledger.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "jobledger.image" -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag }}{{ end }}
{{- end -}}

{{- define "jobledger.rights" -}}
{{ .Files.Get "files/rights.yaml" }}
{{- end -}}

{{/* The container's environment: settings, then what else is wanted. */}}
{{- define "jobledger.env" -}}
{{- range $setting, $value := .Values.settings }}
- name: JOBLEDGER_{{ $setting | replace "." "__" | upper }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- range .Values.env }}
{{- if hasPrefix "JOBLEDGER_" .name }}
{{- fail (printf "env: %s is a setting of jobledger; write it into settings, by its name in `jobledger config`" .name) }}
{{- end }}
- {{ toYaml . | nindent 2 | trim }}
{{- end }}
{{- end -}}
