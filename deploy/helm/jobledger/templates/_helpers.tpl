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

{{/* Labels of the release's objects. Pods have none of these: they would be replaced with every version of the chart. */}}
{{- define "jobledger.meta" -}}
{{ include "jobledger.labels" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* What the pods of a role have: what the role says, else what holds for all. Of an empty role, that of all. */}}
{{- define "jobledger.of" -}}
{{- $own := dict }}
{{- if .role }}
{{- $own = get .root.Values.roles .role | default dict }}
{{- end }}
{{- $found := dict }}
{{- range $field := list "resources" "affinity" "nodeSelector" "tolerations" "topologySpreadConstraints" "podLabels" "podAnnotations" }}
{{- $_ := set $found $field (get $own $field | default (get $.root.Values $field)) }}
{{- end }}
{{- toYaml $found }}
{{- end -}}

{{/* How a role proves to Kafka who it is: the Secret and key of each thing that clients need. With a Secret of its own it
takes from there what the mechanism asks for. */}}
{{- define "jobledger.kafka.secrets" -}}
{{- $values := .root.Values }}
{{- $own := .secret | default "" }}
{{- if .role }}
{{- $own = (get $values.roles .role | default dict).kafkaSecret }}
{{- end }}
{{- $asked := list }}
{{- if $own }}
{{- $mechanism := get $values.settings "kafka.mechanism" | default "" }}
{{- $asked = eq $mechanism "OAUTHBEARER" | ternary (list "token") (empty $mechanism | ternary (list "certificate" "key") (list "username" "password")) }}
{{- end }}
{{- $found := dict }}
{{- if $values.kafka.log }}
{{- range $thing := list "username" "password" "token" "ca" "certificate" "key" }}
{{- $said := get $values.kafka $thing }}
{{- $secret := has $thing $asked | ternary $own $said.secret }}
{{- if and $own (has $thing (list "username" "password" "token")) (not (has $thing $asked)) }}
{{- $secret = "" }}
{{- end }}
{{- if $secret }}
{{- $_ := set $found $thing (dict "secret" $secret "key" $said.key) }}
{{- end }}
{{- end }}
{{- end }}
{{- toYaml $found }}
{{- end -}}

{{/* The history's database as a role has it: URL, and the Secret and key of its password. */}}
{{- define "jobledger.history" -}}
{{- $found := dict }}
{{- with .root.Values.history }}
{{- if and .url (has $.role (list "" "projectors")) }}
{{- $found = dict "url" .url "password" .password }}
{{- else if and .url (eq $.role "front") }}
{{- $found = empty .front.url | ternary (dict "url" .url "password" .password) .front }}
{{- end }}
{{- end }}
{{- toYaml $found }}
{{- end -}}

{{- define "jobledger.image" -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag }}{{ end }}
{{- end -}}

{{- define "jobledger.rights" -}}
{{ .Files.Get "files/rights.yaml" }}
{{- end -}}

{{/* The same, and what only pods with some role need; an empty role is all of them. */}}
{{- define "jobledger.env.process" -}}
{{ include "jobledger.env" . }}
{{- if and .root.Values.kafka.log (not .role) }}
# There is one, so the next pod has its partitions at once.
- name: JOBLEDGER_KAFKA__INSTANCE
  value: {{ include "jobledger.name" .root }}
{{- end }}
{{- if include "jobledger.snapshots.secret" . }}
- name: JOBLEDGER_SNAPSHOT_KEY_FILE
  value: /etc/jobledger/snapshots/snapshot-key
{{- end }}
{{- with include "jobledger.history" . | fromYaml }}
{{- if .url }}
- name: JOBLEDGER_HISTORY
  value: {{ .url | quote }}
{{- if .password.secret }}
- name: JOBLEDGER_HISTORY_PASSWORD_FILE
  value: /etc/jobledger/history/history-password
{{- end }}
{{- end }}
{{- end }}
{{- if include "jobledger.sinks.secret" . }}
- name: JOBLEDGER_EVENTS__SINKS
  value: /etc/jobledger/sinks/sinks.yaml
{{- end }}
{{- if include "jobledger.privacy.secret" . }}
- name: JOBLEDGER_PRIVACY__KEY_FILE
  value: /etc/jobledger/privacy/env-key
{{- end }}
{{- end -}}

{{/* Name of the Secret with the file of sinks, in pods that project. */}}
{{- define "jobledger.sinks.secret" -}}
{{- if and .root.Values.events.sinks (has .role (list "" "projectors")) -}}
{{ include "jobledger.name" .root }}-sinks
{{- end -}}
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

{{/* Which files clients of Kafka get from Secrets: name of the setting without `_file`, Secret and key. */}}
{{- define "jobledger.kafka.files" -}}
{{- omit (include "jobledger.kafka.secrets" . | fromYaml) "username" | toYaml }}
{{- end -}}

{{/* The ports that a role reaches beside the API server's: brokers', as far as they are known, and the history's database. */}}
{{- define "jobledger.ports" -}}
{{- $ports := list }}
{{- with (include "jobledger.history" . | fromYaml).url }}
{{- $ports = append $ports (regexFind ":[0-9]+/" . | trimAll ":/" | default "5432") }}
{{- end }}
{{- range regexFindAll ":[0-9]+(,|/|$)" .root.Values.kafka.log -1 }}
{{- $ports = append $ports (trimAll ":,/" .) }}
{{- end }}
{{- range $ports | uniq }}
- port: {{ . }}
  protocol: TCP
{{- end }}
{{- end -}}

{{- define "jobledger.kafka.mount" -}}
{{- if include "jobledger.kafka.files" . | fromYaml -}}
- name: kafka
  mountPath: /etc/jobledger/kafka
  readOnly: true
{{- end }}
{{- end -}}

{{- define "jobledger.kafka.volume" -}}
{{- $files := include "jobledger.kafka.files" . | fromYaml }}
{{- if $files -}}
- name: kafka
  projected:
    defaultMode: 0440
    sources:
    {{- range $file := list "password" "token" "ca" "certificate" "key" }}
    {{- with get $files $file }}
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
{{- $root := .root }}
{{- range $setting, $value := .root.Values.settings }}
- name: JOBLEDGER_{{ $setting | replace "." "__" | upper }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- $secrets := include "jobledger.kafka.secrets" . | fromYaml }}
{{- with $secrets.username }}
- name: JOBLEDGER_KAFKA__USERNAME
  valueFrom:
    secretKeyRef:
      name: {{ .secret }}
      key: {{ .key }}
{{- end }}
{{- range $file := list "password" "token" "ca" "certificate" "key" }}
{{- if get $secrets $file }}
- name: JOBLEDGER_KAFKA__{{ upper $file }}_FILE
  value: /etc/jobledger/kafka/{{ $file }}
{{- end }}
{{- end }}
{{- range $plural, $_ := (include "jobledger.rights" $root | fromYaml).switched }}
{{- $said := get $root.Values $plural }}
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
{{- if $root.Values.kueue.enabled }}
- name: JOBLEDGER_KUEUE__ENABLED
  value: "true"
{{- end }}
{{- range $root.Values.env }}
{{- if hasPrefix "JOBLEDGER_" .name }}
{{- fail (printf "env: %s is a setting of jobledger; write it into settings, by its name in `jobledger config`" .name) }}
{{- end }}
- {{ toYaml . | nindent 2 | trim }}
{{- end }}
{{- end -}}
