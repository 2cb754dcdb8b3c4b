"""The flags of kube-apiserver 1.37, and their effects here."""

from __future__ import annotations

from setpoint.apps.envtest.flags import Flag

_USED = {
    "admission-control-config-file": Flag("text", "the credentials for admission webhooks (kubeConfigFile of plugins)"),
    "anonymous-auth": Flag(
        "bool", "whether requests without credentials are accepted, as user system:anonymous (true)"
    ),
    "api-audiences": Flag("list", "the audiences of service account tokens for this server (the first issuer)"),
    "authorization-mode": Flag("list", "AlwaysAllow, or RBAC, optionally together with Node (AlwaysAllow)"),
    "bind-address": Flag("text", "the address to listen on (127.0.0.1)"),
    "cert-dir": Flag("text", "the directory of apiserver.crt and apiserver.key; they are created if they are missing"),
    "client-ca-file": Flag("text", "the authorities of accepted client certificates; CN is the user, O are the groups"),
    "controllers": Flag("list", "setpoint's own: the controllers of kube-controller-manager to run; * means all"),
    "disable-admission-plugins": Flag("list", "the admission plugins to turn off, by their names in Kubernetes"),
    "enable-admission-plugins": Flag("list", "OwnerReferencesPermissionEnforcement; others are on by default"),
    "audit-log-path": Flag("text", "the file to which audit events are appended; - means stdout"),
    "audit-policy-file": Flag("text", "the policy that selects the requests with audit events"),
    "enable-bootstrap-token-auth": Flag("bool", "whether bootstrap tokens, which Secrets define, are accepted (false)"),
    "etcd-servers": Flag("list", "the address of setpoint's etcd; without it, objects are kept in memory"),
    "oidc-ca-file": Flag("text", "the authority of the OpenID Connect provider's certificate (the system's)"),
    "oidc-client-id": Flag("text", "the client ID for which identity tokens must be issued"),
    "oidc-groups-claim": Flag("text", "the claim that holds the user's groups"),
    "oidc-groups-prefix": Flag("text", "the prefix of the groups' names"),
    "oidc-issuer-url": Flag("text", "the OpenID Connect provider whose identity tokens are accepted"),
    "oidc-required-claim": Flag("list", "NAME=VALUE, a claim that identity tokens must have"),
    "oidc-signing-algs": Flag("list", "the algorithms with which identity tokens may be signed (RS256)"),
    "oidc-username-claim": Flag("text", "the claim that holds the user's name (sub)"),
    "oidc-username-prefix": Flag("text", "the prefix of the user's name; - means none (the issuer's URL and #)"),
    "runtime-config": Flag(
        "list", "the versions and resources to turn off; none beyond 1.37's defaults can be turned on"
    ),
    "secure-port": Flag("int", "the port to listen on (6443)"),
    "service-account-issuer": Flag("list", "the accepted issuers of service account tokens; new tokens name the first"),
    "service-account-key-file": Flag("list", "further keys with which service account tokens are verified"),
    "service-account-signing-key-file": Flag("text", "the key that signs service account tokens (a new one)"),
    "service-cluster-ip-range": Flag("list", "the networks of Services, one or one of each IP family (10.96.0.0/12)"),
    "tls-cert-file": Flag("text", "the serving certificate (the one in --cert-dir)"),
    "tls-private-key-file": Flag("text", "the key of the serving certificate"),
    "token-auth-file": Flag("text", "the tokens of users: lines of token,user,uid,groups"),
    # The server always behaves as these flags say.
    "allow-privileged": Flag("bool", "accepted: privileged containers are always allowed"),
    "feature-gates": Flag(
        "list", "ShardedListAndWatch, APIServerWebhookAuthenticationToken; others must have their defaults of 1.37"
    ),
    "v": Flag("int", "accepted: only warnings are logged"),
    "version": Flag("bool", "print the version and exit"),
    "help": Flag("bool", "print this help and exit"),
}
REFUSED = {
    name: Flag("text", "refused: tests may depend on it, and it is not supported here")
    for name in (
        *("authentication-config", "authentication-token-webhook-config-file"),
        *("authorization-config", "authorization-policy-file", "authorization-webhook-config-file"),
        *("encryption-provider-config", "egress-selector-config-file", "service-account-signing-endpoint"),
        "audit-webhook-config-file",
    )
}
"""Flags that are refused: if they were ignored, a test could pass or fail for a different reason than its author
thinks.
"""
_BOOLS = (
    *("aggregator-reject-forwarding-redirect", "audit-log-batch-throttle-enable", "audit-log-compress"),
    *("audit-log-truncate-enabled", "audit-webhook-batch-throttle-enable", "audit-webhook-truncate-enabled"),
    *("contention-profiling", "disable-http2-serving", "emulation-forward-compatible", "enable-aggregator-routing"),
    *("enable-garbage-collector", "enable-logs-handler", "enable-priority-and-fairness"),
    *("encryption-provider-config-automatic-reload", "log-json-split-stream", "log-text-split-stream"),
    *("permit-address-sharing", "permit-port-sharing", "profiling", "runtime-config-emulation-forward-compatible"),
    *("service-account-extend-token-expiration", "service-account-lookup", "shutdown-send-retry-after", "watch-cache"),
)
_OTHERS = (
    *("admission-control", "advertise-address", "allow-metric-labels", "allow-metric-labels-manifest"),
    *("audit-log-batch-buffer-size", "audit-log-batch-max-size", "audit-log-batch-max-wait"),
    *("audit-log-batch-throttle-burst", "audit-log-batch-throttle-qps", "audit-log-format", "audit-log-maxage"),
    *("audit-log-maxbackup", "audit-log-maxsize", "audit-log-mode"),
    *("audit-log-truncate-max-batch-size", "audit-log-truncate-max-event-size", "audit-log-version"),
    *("audit-webhook-batch-buffer-size", "audit-webhook-batch-max-size"),
    *("audit-webhook-batch-max-wait", "audit-webhook-batch-throttle-burst", "audit-webhook-batch-throttle-qps"),
    *("audit-webhook-initial-backoff", "audit-webhook-mode"),
    *("audit-webhook-truncate-max-batch-size", "audit-webhook-truncate-max-event-size", "audit-webhook-version"),
    *("authentication-token-webhook-cache-ttl", "authentication-token-webhook-version"),
    *("authorization-webhook-cache-authorized-ttl", "authorization-webhook-cache-unauthorized-ttl"),
    *("authorization-webhook-version", "coordinated-leadership-lease-duration"),
    *("coordinated-leadership-renew-deadline", "coordinated-leadership-retry-period", "cors-allowed-origins"),
    *("debug-socket-path", "default-not-ready-toleration-seconds", "default-unreachable-toleration-seconds"),
    *("delete-collection-workers", "disabled-metrics", "emulated-version", "endpoint-reconciler-type"),
    *("etcd-cafile", "etcd-certfile", "etcd-compaction-interval", "etcd-count-metric-poll-period"),
    *("etcd-db-metric-poll-interval", "etcd-healthcheck-timeout", "etcd-keyfile", "etcd-prefix"),
    *("etcd-readycheck-timeout", "etcd-servers-overrides", "event-ttl", "external-hostname", "goaway-chance"),
    *("http2-max-streams-per-connection", "kubelet-certificate-authority", "kubelet-client-certificate"),
    *("kubelet-client-key", "kubelet-preferred-address-types", "kubelet-timeout", "kubernetes-service-node-port"),
    *("lease-reuse-duration-seconds", "livez-grace-period", "log-flush-frequency", "log-json-info-buffer-size"),
    *("log-text-info-buffer-size", "logging-format", "max-connection-bytes-per-sec"),
    *("max-mutating-requests-inflight", "max-requests-inflight", "min-compatibility-version", "min-request-timeout"),
    *("peer-advertise-ip", "peer-advertise-port", "peer-ca-file", "proxy-client-cert-file"),
    *("proxy-client-key-file", "request-timeout", "requestheader-allowed-names", "requestheader-client-ca-file"),
    *("requestheader-extra-headers-prefix", "requestheader-group-headers", "requestheader-uid-headers"),
    *("requestheader-username-headers", "service-account-jwks-uri", "service-account-max-token-expiration"),
    *("service-node-port-range", "show-hidden-metrics-for-version", "shutdown-delay-duration"),
    *("shutdown-watch-termination-grace-period", "storage-backend", "storage-initialization-timeout"),
    *("storage-media-type", "strict-transport-security-directives", "tls-cipher-suites", "tls-curve-preferences"),
    *("tls-min-version", "tls-sni-cert-key", "tracing-config-file", "vmodule", "watch-cache-sizes"),
)
FLAGS = {
    **_USED,
    **REFUSED,
    **{name: Flag("bool") for name in _BOOLS},
    **{name: Flag("text") for name in _OTHERS},
}
