{{- define "fg.egressCommon" -}}
# Names.
- ports:
    - { protocol: UDP, port: 53 }
    - { protocol: TCP, port: 53 }
- ports:
    - { protocol: TCP, port: {{ .Values.networkPolicy.database.port }} }
  {{- if eq .Values.database.mode "cloudnativepg" }}
  to:
    - podSelector: { matchLabels: { cnpg.io/cluster: {{ include "fg.databaseName" . }} } }
  {{- else if .Values.networkPolicy.database.to }}
  to:
    {{- toYaml .Values.networkPolicy.database.to | nindent 4 }}
  {{- end }}
{{- end }}

{{- define "fg.egressPooler" -}}
{{- if .Values.database.pooler.existingSecret }}
- ports:
    - { protocol: TCP, port: {{ .Values.networkPolicy.pooler.port }} }
  {{- with .Values.networkPolicy.pooler.to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "fg.egressArchive" -}}
{{- if .Values.archive.bucket.name }}
- ports:
    - { protocol: TCP, port: {{ .Values.networkPolicy.archive.port }} }
  {{- with .Values.networkPolicy.archive.to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "fg.egressQueue" -}}
{{- if ne .Values.queue.mode "postgres" }}
- ports:
    {{- range .Values.networkPolicy.queue.ports }}
    - { protocol: TCP, port: {{ . }} }
    {{- end }}
  {{- with .Values.networkPolicy.queue.to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}
