{{- define "rummy.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "rummy.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains (include "rummy.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "rummy.name" .) | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "rummy.selector" -}}
app.kubernetes.io/name: {{ include "rummy.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- /* Labels of everything; called with (dict "root" $ "component" "api"). */}}
{{- define "rummy.labels" -}}
{{ include "rummy.selector" .root }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{- /* An image's name: by digest where there is one. Called with (dict "image" … "tag" default). */}}
{{- define "rummy.image" -}}
{{- if .image.digest -}}
{{- printf "%s@%s" .image.repository .image.digest }}
{{- else -}}
{{- printf "%s:%s" .image.repository (default .tag .image.tag) }}
{{- end }}
{{- end }}

{{- define "rummy.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "rummy.fullname" .) .Values.serviceAccount.name }}
{{- else -}}
{{- required "serviceAccount.name: name the account, or let the chart make one (serviceAccount.create)" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- /* The level `restricted` of the pod security standards, and a read-only root. */}}
{{- define "rummy.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ default 10001 . }}
runAsGroup: {{ default 10001 . }}
fsGroup: {{ default 10001 . }}
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "rummy.containerSecurity" -}}
allowPrivilegeEscalation: false
capabilities: {drop: [ALL]}
privileged: false
readOnlyRootFilesystem: true
runAsNonRoot: true
{{- end }}

{{- /* What every pod of ours says about where it runs. Called with (dict "root" "component" "pod"). */}}
{{- define "rummy.placement" -}}
serviceAccountName: {{ include "rummy.serviceAccountName" .root | quote }}
automountServiceAccountToken: false
# Else a service named like a setting would be read as one.
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- include "rummy.podSecurity" 0 | nindent 2 }}
topologySpreadConstraints:
  {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "rummy.selector" $.root | nindent 8 }}
        app.kubernetes.io/component: {{ $.component }}
    # Counted within a version: else those that go in an upgrade would draw the new ones together.
    matchLabelKeys: [pod-template-hash]
  {{- end }}
{{- with .pod.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .pod.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .pod.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .pod.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* One Redis as JSON: scheme, host, port, database, username, password (a secret's name and
       key), rest (the URL behind the login); with Sentinels also service, sentinels, sentinelUsername
       and sentinelPassword, and port is that of the master. Called with (dict "root" $ "use" "state" or
       "queue"). */}}
{{- define "rummy.redis" -}}
{{- $redis := .root.Values.redis }}
{{- $given := index $redis .use }}
{{- if and (eq .use "queue") (not $given.url) (not $given.sentinel.hosts) }}{{ $given = $redis.state }}{{ end }}
{{- if $redis.trial.enabled }}
{{- $host := printf "%s-redis" (include "rummy.fullname" .root) }}
{{- dict "scheme" "redis" "host" $host "port" 6379 "database" 0 "username" "" "password" dict "rest" (printf "%s:6379/0" $host) | toJson }}
{{- else if $given.sentinel.hosts }}
{{- $sentinel := $given.sentinel }}
{{- $hosts := list }}
{{- range $sentinel.hosts }}
{{- $hosts = append $hosts (printf "%s:%d" . (int $sentinel.port)) }}
{{- end }}
{{- $password := dict }}
{{- if $given.passwordSecret.name }}{{ $password = $given.passwordSecret }}{{ end }}
{{- $sentinelPassword := dict }}
{{- if $sentinel.passwordSecret.name }}{{ $sentinelPassword = $sentinel.passwordSecret }}{{ end }}
{{- dict "scheme" (ternary "rediss+sentinel" "redis+sentinel" $sentinel.tls) "host" "" "port" (int $sentinel.masterPort) "sentinels" $hosts "sentinelPort" (int $sentinel.port) "service" $sentinel.service "sentinelUsername" $sentinel.username "sentinelPassword" $sentinelPassword "database" (int $sentinel.database) "username" $given.username "password" $password "rest" (printf "%s/%s/%d" (join "," $hosts) $sentinel.service (int $sentinel.database)) | toJson }}
{{- else if dig "cluster" "hosts" list $given }}
{{- $cluster := $given.cluster }}
{{- $hosts := list }}
{{- range $cluster.hosts }}
{{- $hosts = append $hosts (printf "%s:%d" . (int $cluster.port)) }}
{{- end }}
{{- $password := dict }}
{{- if $given.passwordSecret.name }}{{ $password = $given.passwordSecret }}{{ end }}
{{- dict "scheme" (ternary "rediss+cluster" "redis+cluster" $cluster.tls) "host" "" "port" (int $cluster.port) "database" 0 "username" $given.username "password" $password "rest" (join "," $hosts) | toJson }}
{{- else }}
{{- $scheme := (splitList "://" $given.url) | first }}
{{- $rest := trimPrefix (printf "%s://" $scheme) $given.url }}
{{- $hostPort := (splitList "/" $rest) | first }}
{{- $port := regexFind ":[0-9]+$" $hostPort | trimPrefix ":" | default "6379" }}
{{- $host := regexReplaceAll ":[0-9]+$" $hostPort "" }}
{{- $database := regexFind "/[0-9]+$" $rest | trimPrefix "/" | default "0" }}
{{- $password := dict }}
{{- if $given.passwordSecret.name }}{{ $password = $given.passwordSecret }}{{ end }}
{{- dict "scheme" $scheme "host" $host "port" ($port | int) "database" ($database | int) "username" $given.username "password" $password "rest" (printf "%s:%s/%s" $host $port $database) | toJson }}
{{- end }}
{{- end }}

{{- /* The two variables of one Redis. Called with (dict "root" "use" "variable"). */}}
{{- define "rummy.redisEnv" -}}
{{- $redis := include "rummy.redis" . | fromJson }}
{{- $login := "" }}
{{- if $redis.password }}
{{- $login = printf "%s:$(%s_PASSWORD)@" $redis.username .variable }}
- name: {{ .variable }}_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ $redis.password.name | quote }}
      key: {{ $redis.password.key | quote }}
{{- else if $redis.username }}
{{- $login = printf "%s@" $redis.username }}
{{- end }}
{{- $query := list }}
{{- with $redis.sentinelUsername }}
{{- $query = append $query (printf "sentinel_username=%s" .) }}
{{- end }}
{{- with $redis.sentinelPassword }}
{{- $query = append $query (printf "sentinel_password=$(%s_SENTINEL_PASSWORD)" $.variable) }}
- name: {{ $.variable }}_SENTINEL_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ .name | quote }}
      key: {{ .key | quote }}
{{- end }}
{{- if hasPrefix "rediss" $redis.scheme }}
{{- if .root.Values.redis.caSecret.name }}
{{- $query = append $query "ssl_ca_certs=/etc/redis-ca/ca.crt" }}
{{- end }}
{{- if .root.Values.redis.clientSecret.name }}
{{- $query = concat $query (list "ssl_certfile=/etc/redis-client/tls.crt" "ssl_keyfile=/etc/redis-client/tls.key") }}
{{- end }}
{{- end }}
- name: {{ .variable }}
  value: {{ printf "%s://%s%s%s%s" $redis.scheme $login $redis.rest (ternary "?" "" (gt (len $query) 0)) (join "&" $query) | quote }}
{{- end }}

{{- define "rummy.env" -}}
envFrom:
  - configMapRef:
      name: {{ include "rummy.fullname" . | quote }}
env:
  {{- include "rummy.redisEnv" (dict "root" . "use" "state" "variable" "REDIS_URL") | nindent 2 }}
  {{- include "rummy.redisEnv" (dict "root" . "use" "queue" "variable" "QUEUE_REDIS_URL") | nindent 2 }}
  {{- with .Values.tracing.endpoint }}
  - name: OTEL_EXPORTER_OTLP_ENDPOINT
    value: {{ . | quote }}
  - name: OTEL_TRACES_SAMPLER
    value: parentbased_traceidratio
  - name: OTEL_TRACES_SAMPLER_ARG
    value: {{ $.Values.tracing.sampleRatio | quote }}
  {{- with $.Values.tracing.headersSecret }}
  {{- if .name }}
  - name: OTEL_EXPORTER_OTLP_HEADERS
    valueFrom:
      secretKeyRef:
        name: {{ .name | quote }}
        key: {{ .key | quote }}
  {{- end }}
  {{- end }}
  {{- end }}
{{- end }}

{{- define "rummy.mounts" -}}
- name: tmp
  mountPath: /tmp
{{- if .Values.redis.caSecret.name }}
- name: redis-ca
  mountPath: /etc/redis-ca
  readOnly: true
{{- end }}
{{- if .Values.redis.clientSecret.name }}
- name: redis-client
  mountPath: /etc/redis-client
  readOnly: true
{{- end }}
{{- end }}

{{- define "rummy.volumes" -}}
# Heartbeats, counters and the copy of the compiled kernels: some megabytes, in memory.
- name: tmp
  emptyDir: {medium: Memory, sizeLimit: 64Mi}
{{- if .Values.redis.caSecret.name }}
- name: redis-ca
  secret:
    secretName: {{ .Values.redis.caSecret.name | quote }}
    items: [{key: {{ .Values.redis.caSecret.key | quote }}, path: ca.crt}]
{{- end }}
{{- with .Values.redis.clientSecret }}
{{- if .name }}
- name: redis-client
  secret:
    secretName: {{ .name | quote }}
    # For our user and nobody else: by the pod's fsGroup.
    defaultMode: 0440
    items:
      - {key: {{ .certificateKey | quote }}, path: tls.crt}
      - {key: {{ .keyKey | quote }}, path: tls.key}
{{- end }}
{{- end }}
{{- end }}

{{- /* One worker's values: the defaults, and what it says otherwise, as JSON. */}}
{{- define "rummy.worker" -}}
{{- mustMergeOverwrite (deepCopy .root.Values.workerDefaults) (index .root.Values.workers .queue) | toJson }}
{{- end }}
