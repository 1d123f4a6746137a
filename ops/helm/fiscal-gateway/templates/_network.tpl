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
  to:
    {{- if .Values.networkPolicy.archive.to }}
    {{- toYaml .Values.networkPolicy.archive.to | nindent 4 }}
    {{- else }}
    {{- include "fg.publicInternet" . | nindent 4 }}
    {{- end }}
{{- end }}
{{- end }}

{{- define "fg.publicInternet" -}}
- ipBlock:
    cidr: 0.0.0.0/0
    except: [10.0.0.0/8, 100.64.0.0/10, 169.254.0.0/16, 172.16.0.0/12, 192.168.0.0/16]
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
