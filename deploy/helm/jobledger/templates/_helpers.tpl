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

{{/* The same, and what only pods with some role need; an empty role is all of them. */}}
{{- define "jobledger.env.process" -}}
{{ include "jobledger.env" .root }}
{{- if and .root.Values.kafka.log (not .role) }}
# There is one, so the next pod has its partitions at once.
- name: JOBLEDGER_KAFKA__INSTANCE
  value: {{ include "jobledger.name" .root }}
{{- end }}
{{- if include "jobledger.snapshots.secret" . }}
- name: JOBLEDGER_SNAPSHOT_KEY_FILE
  value: /etc/jobledger/snapshots/snapshot-key
{{- end }}
{{- if and .root.Values.history.url (has .role (list "" "projectors" "front")) }}
- name: JOBLEDGER_HISTORY
  value: {{ .root.Values.history.url | quote }}
{{- if include "jobledger.history.secret" . }}
- name: JOBLEDGER_HISTORY_PASSWORD_FILE
  value: /etc/jobledger/history/history-password
{{- end }}
{{- end }}
{{- if include "jobledger.privacy.secret" . }}
- name: JOBLEDGER_PRIVACY__KEY_FILE
  value: /etc/jobledger/privacy/env-key
{{- end }}
{{- end -}}

{{/* Name of the Secret with the key for hashes of env values, in pods that make hashes or pods. */}}
{{- define "jobledger.privacy.secret" -}}
{{- if has .role (list "" "bridge" "projectors") -}}
{{ .root.Values.privacy.key.secret }}
{{- end -}}
{{- end -}}

{{/* Name of the Secret with the key of snapshots, in pods that save or believe them. */}}
{{- define "jobledger.snapshots.secret" -}}
{{- if has .role (list "" "engine" "projectors") -}}
{{ .root.Values.snapshotKey.secret }}
{{- end -}}
{{- end -}}

{{/* Name of the Secret with the password for the history's database, in pods that write to it or show it. */}}
{{- define "jobledger.history.secret" -}}
{{- if and .root.Values.history.url (has .role (list "" "projectors" "front")) -}}
{{ .root.Values.history.password.secret }}
{{- end -}}
{{- end -}}

{{/* Which files clients of Kafka get from Secrets, as a list. */}}
{{- define "jobledger.kafka.files" -}}
{{- if .Values.kafka.log }}
{{- range $file := list "password" "ca" "certificate" "key" }}
{{- if (index $.Values.kafka $file).secret }}
- {{ $file }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The ports of brokers, as far as they are known, and of the history's database. */}}
{{- define "jobledger.ports" -}}
{{- $ports := list }}
{{- with .Values.history.url }}
{{- $ports = append $ports (regexFind ":[0-9]+/" . | trimAll ":/" | default "5432") }}
{{- end }}
{{- range regexFindAll ":[0-9]+(,|/|$)" .Values.kafka.log -1 }}
{{- $ports = append $ports (trimAll ":,/" .) }}
{{- end }}
{{- range $ports | uniq }}
- port: {{ . }}
  protocol: TCP
{{- end }}
{{- end -}}

{{- define "jobledger.kafka.mount" -}}
{{- if include "jobledger.kafka.files" . | trim -}}
- name: kafka
  mountPath: /etc/jobledger/kafka
  readOnly: true
{{- end }}
{{- end -}}

{{- define "jobledger.kafka.volume" -}}
{{- if include "jobledger.kafka.files" . | trim -}}
- name: kafka
  projected:
    defaultMode: 0440
    sources:
    {{- range $file := include "jobledger.kafka.files" . | fromYamlArray }}
    {{- with index $.Values.kafka $file }}
    - secret:
        name: {{ .secret }}
        items:
        - key: {{ .key }}
          path: {{ $file }}
    {{- end }}
    {{- end }}
{{- end }}
{{- end -}}

{{/* The container's environment: settings, then what else is wanted. */}}
{{- define "jobledger.env" -}}
{{- range $setting, $value := .Values.settings }}
- name: JOBLEDGER_{{ $setting | replace "." "__" | upper }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- if .Values.kafka.log }}
{{- with .Values.kafka.username }}
{{- if .secret }}
- name: JOBLEDGER_KAFKA__USERNAME
  valueFrom:
    secretKeyRef:
      name: {{ .secret }}
      key: {{ .key }}
{{- end }}
{{- end }}
{{- range $file := include "jobledger.kafka.files" . | fromYamlArray }}
- name: JOBLEDGER_KAFKA__{{ upper $file }}_FILE
  value: /etc/jobledger/kafka/{{ $file }}
{{- end }}
{{- end }}
{{- range $plural, $_ := (include "jobledger.rights" . | fromYaml).switched }}
{{- $said := get $.Values $plural }}
{{- if $said.namespaces }}
- name: JOBLEDGER_{{ upper $plural }}__NAMESPACES
  value: {{ join "," $said.namespaces | quote }}
{{- range $setting, $value := omit $said "namespaces" }}
{{- with $value }}
- name: JOBLEDGER_{{ upper $plural }}__{{ snakecase $setting | upper }}
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- if .Values.kueue.enabled }}
- name: JOBLEDGER_KUEUE__ENABLED
  value: "true"
{{- end }}
{{- range .Values.env }}
{{- if hasPrefix "JOBLEDGER_" .name }}
{{- fail (printf "env: %s is a setting of jobledger; write it into settings, by its name in `jobledger config`" .name) }}
{{- end }}
- {{ toYaml . | nindent 2 | trim }}
{{- end }}
{{- end -}}
