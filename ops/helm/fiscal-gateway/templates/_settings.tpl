{{- define "fg.databaseName" -}}
{{ include "fg.fullname" . }}-db
{{- end }}

{{/*
The cluster of this chart takes what its programs may open: 31 connections each (docs/scale.md), one gateway more while they are rolled, and
10 for migrations, commands and the operator. Too few would be found out under load alone.
*/}}
{{- define "fg.checkConnections" -}}
{{- if not .Values.database.pooler.existingSecret }}
{{- $gateways := .Values.gateway.replicas }}
{{- with .Values.gateway.autoscaling }}{{ if .enabled }}{{ $gateways = .maxReplicas }}{{ end }}{{ end }}
{{- $relays := .Values.relay.replicas }}
{{- with .Values.relay.keda }}{{ if .enabled }}{{ $relays = .maxReplicas }}{{ end }}{{ end }}
{{- $programs := add $gateways 1 $relays }}
{{- $needed := add (mul $programs 31) 10 }}
{{- $given := int (default 100 .Values.database.cloudnativepg.parameters.max_connections) }}
{{- if gt (int $needed) $given }}
{{- fail (printf "database.cloudnativepg.parameters.max_connections is %d: %d gateways and relays open up to %d. Raise it, or set database.pooler (docs/scale.md)." $given (int $programs) (int $needed)) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "fg.cnpgUrl" -}}
{{- $host := printf "%s-rw" (include "fg.databaseName" .root) -}}
postgresql://{{ .user }}:$({{ .password }})@{{ $host }}:5432/fiscal?sslmode=verify-full&sslrootcert=/tls/database/ca.crt
{{- end }}

{{- define "fg.fromSecret" -}}
- name: {{ .name }}
  valueFrom:
    secretKeyRef: { name: {{ .secret }}, key: {{ .key }} }
{{- end }}

{{/* PostgreSQL itself, under the given name. */}}
{{- define "fg.databaseEnv" -}}
{{- if eq .root.Values.database.mode "cloudnativepg" }}
{{- with .root.Values.database.cloudnativepg }}
{{ include "fg.fromSecret" (dict "name" "APP_PASSWORD" "secret" .appPasswordSecret "key" .appPasswordKey) }}
{{- end }}
- name: {{ .name }}
  value: {{ include "fg.cnpgUrl" (dict "root" .root "user" "fiscal_app" "password" "APP_PASSWORD") }}
{{- else }}
{{ include "fg.fromSecret" (dict "name" .name "secret" .root.Values.database.external.existingSecret "key" .root.Values.database.external.urlKey) }}
{{- end }}
{{- end }}

{{/* The database of a program: with a pooler, transactions go through it and sessions past it. */}}
{{- define "fg.programDatabaseEnv" -}}
{{- $pooler := .root.Values.database.pooler }}
{{- if $pooler.existingSecret }}
{{- include "fg.fromSecret" (dict "name" "DATABASE_URL" "secret" $pooler.existingSecret "key" .poolerKey) }}
{{ include "fg.databaseEnv" (dict "root" .root "name" "DIRECT_DATABASE_URL") | trim }}
{{- else }}
{{- include "fg.databaseEnv" (dict "root" .root "name" "DATABASE_URL") | trim }}
{{- end }}
{{- end }}

{{- define "fg.migrateEnv" -}}
{{ include "fg.databaseEnv" (dict "root" . "name" "DATABASE_URL") }}
{{- if eq .Values.database.mode "cloudnativepg" }}
{{- $secret := printf "%s-app" (include "fg.databaseName" .) }}
{{ include "fg.fromSecret" (dict "name" "OWNER_PASSWORD" "secret" $secret "key" "password") }}
- name: MIGRATE_DATABASE_URL
  value: {{ include "fg.cnpgUrl" (dict "root" . "user" "fiscal_owner" "password" "OWNER_PASSWORD") }}
{{- else }}
{{- with .Values.database.external }}
{{ include "fg.fromSecret" (dict "name" "MIGRATE_DATABASE_URL" "secret" .existingSecret "key" .migrateUrlKey) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "fg.queueEnv" -}}
{{- if eq .Values.queue.mode "redis" }}
{{- with .Values.queue.redis }}
{{ include "fg.fromSecret" (dict "name" "QUEUE_URL" "secret" .existingSecret "key" .urlKey) }}
{{- end }}
{{- else if eq .Values.queue.mode "sentinel" }}
{{- with .Values.queue.sentinel }}
{{- if .passwordSecret }}
{{ include "fg.fromSecret" (dict "name" "QUEUE_PASSWORD" "secret" .passwordSecret "key" .passwordKey) }}
{{- end }}
- name: QUEUE_URL
  value: "{{ ternary "rediss" "redis" .tls }}+sentinel://{{ if .passwordSecret }}:$(QUEUE_PASSWORD)@{{ end }}{{ join "," .hosts }}/{{ .master }}"
{{- end }}
{{- end }}
{{- end }}

{{/* Settings that gateway and relay share. */}}
{{- define "fg.env" -}}
{{- with include "fg.queueEnv" . | trim }}
{{- . }}
{{ end }}
{{- include "fg.fromSecret" (dict "name" "SECRETS_KEY" "secret" .Values.secretsKey.existingSecret "key" .Values.secretsKey.key) }}
- name: LINK_PUBLIC_URL
  value: {{ .Values.linkPublicUrl | quote }}
{{- with .Values.deviceCidrs }}
- name: DEVICE_ALLOWED_CIDRS
  value: {{ join "," . | quote }}
{{- end }}
{{- with .Values.trustedProxies }}
- name: TRUSTED_PROXIES
  value: {{ join "," . | quote }}
{{- end }}
- name: METRICS_PORT
  value: '9464'
- name: METRICS_HOST
  value: 0.0.0.0
- name: LOG_LEVEL
  value: {{ .Values.logLevel }}
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- range $name, $from := .Values.secretSettings }}
{{ include "fg.fromSecret" (dict "name" $name "secret" $from.name "key" $from.key) }}
{{- end }}
{{- end }}

{{- define "fg.caSecret" -}}
{{- if eq .Values.database.mode "cloudnativepg" -}}
{{ include "fg.databaseName" . }}-ca
{{- else -}}
{{ .Values.database.external.caSecret }}
{{- end }}
{{- end }}

{{- define "fg.mounts" -}}
- { name: tmp, mountPath: /tmp }
{{- if include "fg.caSecret" . }}
- { name: database-ca, mountPath: /tls/database, readOnly: true }
{{- end }}
{{- end }}

{{- define "fg.volumes" -}}
- name: tmp
  emptyDir: { medium: Memory, sizeLimit: 64Mi }
{{- with include "fg.caSecret" . }}
- name: database-ca
  secret:
    secretName: {{ . }}
    items: [{ key: ca.crt, path: ca.crt }]
{{- end }}
{{- end }}

{{- define "fg.migrationContainer" -}}
name: migrate
{{ include "fg.container" . }}
command: [node, scripts/migrate.mjs]
env:
  {{- include "fg.migrateEnv" . | trim | nindent 2 }}
resources:
  {{- toYaml .Values.migration.resources | nindent 2 }}
volumeMounts:
  {{- include "fg.mounts" . | nindent 2 }}
{{- end }}

{{- define "fg.initContainers" -}}
{{- $mode := .Values.migration.mode }}
{{- if or (eq $mode "init") (and (eq $mode "auto") .Release.IsInstall) }}
initContainers:
  - {{ include "fg.migrationContainer" . | nindent 4 | trim }}
{{- end }}
{{- end }}

{{/* Where the archive is; nothing where there is none: a dict of root, and of the secret that another one takes the place of. */}}
{{- define "fg.archiveEnv" -}}
{{- if .root.Values.archive.existingClaim }}
- name: ARCHIVE_DIR
  value: /archive
{{- end }}
{{- $other := .secret }}
{{- with .root.Values.archive.bucket }}
{{- if .name }}
- name: ARCHIVE_BUCKET
  value: {{ .name | quote }}
{{- with .endpoint }}
- name: ARCHIVE_ENDPOINT
  value: {{ . | quote }}
{{- end }}
{{- with .region }}
- name: ARCHIVE_REGION
  value: {{ . | quote }}
{{- end }}
{{- with default .existingSecret $other }}
{{ include "fg.fromSecret" (dict "name" "ARCHIVE_ACCESS_KEY_ID" "secret" . "key" $.root.Values.archive.bucket.accessKeyIdKey) }}
{{ include "fg.fromSecret" (dict "name" "ARCHIVE_SECRET_ACCESS_KEY" "secret" . "key" $.root.Values.archive.bucket.secretAccessKeyKey) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
