{{- define "fg.ingressAnnotations" -}}
nginx.ingress.kubernetes.io/ssl-redirect: 'true'
# A little more than the gateway's own limit, so that its problem documents reach the caller.
nginx.ingress.kubernetes.io/proxy-body-size: 5m
# A sale may wait for its register; no second gateway is ever given the same request by the proxy.
nginx.ingress.kubernetes.io/proxy-read-timeout: '90'
nginx.ingress.kubernetes.io/proxy-next-upstream: 'off'
# Signatures cover the bytes as they were sent.
nginx.ingress.kubernetes.io/proxy-request-buffering: 'off'
{{- end }}

{{- define "fg.paths" -}}
{{- range .paths }}
- path: {{ . }}
  pathType: {{ if or (eq . "/link") (eq . "/openapi.json") (eq . "/v1/catalog/imports") }}Exact{{ else }}Prefix{{ end }}
  backend:
    service:
      name: {{ $.service }}
      port: { name: http }
{{- end }}
{{- end }}

{{- define "fg.mtls" -}}
nginx.ingress.kubernetes.io/auth-tls-verify-client: 'on'
nginx.ingress.kubernetes.io/auth-tls-secret: {{ .Release.Namespace }}/{{ .Values.ingress.mtls.caSecret }}
nginx.ingress.kubernetes.io/auth-tls-verify-depth: '2'
{{- end }}
