"""The feature gates of kube-apiserver 1.37 with their defaults. The embedded server behaves as these defaults say; two
gates can be turned on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from setpoint.apps.envtest.flags import FlagError

_ON: Final = frozenset(
    (
        "APIResponseCompression", "APIServerIdentity", "AggregatedDiscoveryRemoveBetaType",
        "AllowOverwriteTerminationGracePeriodSeconds", "AllowParsingUserUIDFromCertAuth", "AllowServiceExternalIPs",
        "AllowUnsafeMalformedObjectDeletion", "AtomicFIFO", "AuthorizePodWebsocketUpgradeCreatePermission",
        "CPUManagerPolicyBetaOptions", "CPUManagerPolicyOptions", "CRDObservedGenerationTracking",
        "CRDValidationRatcheting", "CSIServiceAccountTokenSecrets", "ClearingNominatedNodeNameAfterBinding",
        "ClientsAllowCARotation", "ClientsAllowTLSCacheGC", "ClusterTrustBundle", "ClusterTrustBundleProjection",
        "ComponentFlagz", "ComponentStatusz", "ConcurrentWatchObjectDecode", "ConstrainedImpersonation",
        "ContainerCheckpoint", "ContainerRestartRules", "ContextualLogging", "CustomCPUCFSQuotaPeriod",
        "CustomResourceFieldSelectors", "DRAAdminAccess", "DRAConsumableCapacity", "DRADeviceBindingConditions",
        "DRADeviceTaintRules", "DRADeviceTaints", "DRAExtendedResource", "DRAFractionalCapacityRange",
        "DRAPartitionableDevices", "DRAPrioritizedList", "DRAResourceClaimDeviceStatus",
        "DRAResourceClaimGranularStatusAuthorization", "DRASchedulerFilterTimeout", "DeclarativeValidation",
        "DeclarativeValidationBeta", "DeclarativeValidationTakeover", "DeploymentReplicaSetTerminatingReplicas",
        "DetectCacheInconsistency", "DisableAllocatorDualWrite", "DisableCPUQuotaWithExclusiveCPUs",
        "DisableNodeKubeProxyVersion", "DynamicResourceAllocation", "EnvFiles", "EtcdRangeStream",
        "ExcludeAdmissionWebhookVirtualResources", "ExecProbeTimeout", "ExtendWebSocketsToKubelet",
        "ExternalServiceAccountTokenSigner", "GitRepoVolumeDriver", "GracefulNodeShutdown",
        "GracefulNodeShutdownBasedOnPodPriority", "HPAConfigurableTolerance", "HPAGeneration",
        "HPAOptimizedSelectorStore", "HPAScaleToZero", "HostnameOverride", "HugepageAwareEviction",
        "ImageMaximumGCAge", "ImageVolume", "InOrderInformers", "InOrderInformersBatchProcess",
        "InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScaling",
        "InPlacePodVerticalScalingInitContainers", "InformerResourceVersion", "JobManagedBy", "KubeProxyIPVS",
        "KubeletCgroupDriverFromCRI", "KubeletCrashLoopBackOffMax", "KubeletEnsureSecretPulledImages",
        "KubeletFineGrainedAuthz", "KubeletInUserNamespace", "KubeletPSI", "KubeletPodResourcesDynamicResources",
        "KubeletPodResourcesGet", "KubeletPodResourcesListUseActivePods", "KubeletSeparateDiskGC",
        "KubeletServiceAccountTokenForCredentialProviders", "KubeletTracing", "ListFromCacheSnapshot",
        "LoggingBetaOptions", "ManifestBasedAdmissionControlConfig", "MatchLabelKeysInPodAffinity",
        "MatchLabelKeysInPodTopologySpread", "MatchLabelKeysInPodTopologySpreadSelectorMerge",
        "MaxUnavailableStatefulSet", "MemoryQoS", "MultiCIDRServiceAllocator", "MutableCSINodeAllocatableCount",
        "MutablePodResourcesForSuspendedJobs", "MutableSchedulingDirectivesForSuspendedJobs",
        "MutatingAdmissionPolicy", "NFTablesNetlink", "NFTablesProxyMode", "NativeHistograms",
        "NodeControllerLeaseCircuitBreaker", "NodeDeclaredFeatures", "NodeInclusionPolicyInPodTopologySpread",
        "NodeLogQuery", "NodeSwap", "NominatedNodeNameForExpectation", "OpenAPIEnums", "OpportunisticBatching",
        "PLEGOnDemandRelist", "PersistentVolumeClaimUnusedSinceTime", "PodCertificateRequest", "PodDeletionCost",
        "PodLevelResources", "PodLevelResourcesFixDefaulting", "PodLevelResourcesFixKubeletQOSClass",
        "PodObservedGenerationTracking", "PodReadyToStartContainersCondition", "PodSchedulingReadiness",
        "PodTopologyLabelsAdmission", "PodsAPI", "PortForwardWebsockets", "PreferSameTrafficDistribution",
        "ProcMountType", "RecoverVolumeExpansionFailure", "RecursiveReadOnlyMounts",
        "RelaxedEnvironmentVariableValidation", "RelaxedServiceNameValidation", "ReloadKubeletClientCAFile",
        "ReloadKubeletServerCertificateFile", "RemoteRequestHeaderUID", "ResourceHealthStatus",
        "ResourceHealthStatusMessage", "RestartAllContainersOnContainerExits", "RotateKubeletServerCertificate",
        "SELinuxChangePolicy", "SELinuxMount", "SELinuxMountReadWriteOncePod", "SchedulerAsyncPreemption",
        "SchedulerPopFromBackoffQ", "SeparateCacheWatchRPC", "SeparateTaintEvictionController",
        "ServiceAccountNodeAudienceRestriction", "ServiceAccountTokenJTI", "ServiceAccountTokenNodeBinding",
        "ServiceAccountTokenNodeBindingValidation", "ServiceAccountTokenPodNodeInfo",
        "ServiceCIDRStatusFieldWiping", "SizeBasedListCostEstimate", "StaleControllerConsistencyDaemonSet",
        "StaleControllerConsistencyHPA", "StaleControllerConsistencyJob", "StaleControllerConsistencyReplicaSet",
        "StaleControllerConsistencyStatefulSet", "StatefulSetSemanticRevisionComparison", "StorageCapacityScoring",
        "StorageNamespaceIndex", "StorageVersionHash", "StorageVersionMigrator", "StrictIPCIDRValidation",
        "StructuredAuthenticationConfigurationEgressSelector", "StructuredAuthenticationConfigurationJWKSMetrics",
        "SupplementalGroupsPolicy", "SystemdWatchdog", "TokenRequestServiceAccountUIDValidation",
        "TopologyManagerPolicyBetaOptions", "TopologyManagerPolicyOptions", "TranslateStreamCloseWebsocketRequests",
        "UnauthenticatedHTTP2DOSMitigation", "UnknownVersionInteroperabilityProxy", "UnlockWhileProcessingFIFO",
        "UserNamespacesSupport", "VolumeAttributesClass", "VolumeLimitScaling",
        "WatchCacheInitializationPostStartHook", "WatchList", "WatchListClient", "WatchListCompression",
        "WebhookRoundTripLoadBalancing", "WinDSR", "WinOverlay", "WindowsGracefulNodeShutdown",
    )
)  # fmt: skip
_OFF: Final = frozenset(
    (
        "APIServerWebhookAuthenticationToken", "APIServingWithRoutine", "AllAlpha", "AllBeta",
        "AllowDNSOnlyNodeCSR", "AllowInsecureKubeletCertificateSigningRequests", "AtomicWriteVolumeUserFields",
        "CBORServingAndStorage", "CPUManagerPolicyAlphaOptions", "CRIListStreaming", "CSIVolumeHealth",
        "ChangeContainerStatusOnKubeletRestart", "ClientsAllowCBOR", "ClientsPreferCBOR",
        "CloudControllerManagerWatchBasedRoutesReconciliation", "CloudControllerManagerWebhook",
        "CompositePodGroup", "ConsistentListFromCacheSkipTimeoutFallback", "ContainerStopSignals",
        "ControllerManagerReleaseLeaderElectionLockOnExit", "CoordinatedLeaderElection",
        "CrossNamespaceVolumeDataSource", "DRADerivedAttributes", "DRADeviceCompatibilityGroups",
        "DRAListTypeAttributes", "DRANodeAllocatableResources", "DRAOptionalNodeOperations",
        "DRAPartitionableDevicesType", "DRAResourcePoolStatus", "DRAWorkloadResourceClaims", "DefaultPodSysctls",
        "EmptyDirVolumeMode", "EventedPLEG", "EvictionRequestAPI", "GRPCContainerProbeTLS", "GenericWorkload",
        "H2CContainerProbe", "ImageVolumeWithDigest", "InPlacePodVerticalScalingExclusiveCPUs",
        "InPlacePodVerticalScalingExclusiveMemory", "InPlacePodVerticalScalingMemoryBackedVolumes",
        "InPlacePodVerticalScalingSchedulerPreemption", "InterPodAffinityHostnameFastPath", "KMSv1",
        "KubeProxyNFTablesLocalhostNodePorts", "KubeletAllocatedPodsEndpoint", "KubeletRegistrationGetOnExistsOnly",
        "LocalStorageCapacityIsolationFSQuotaMonitoring", "LoggingAlphaOptions", "MutablePVNodeAffinity",
        "NodeLifecycleConditions", "PodAndContainerStatsFromCRI", "PodGroupPreemptionPolicy",
        "PodLevelResourceManagers", "PodLogsQuerySplitStreams", "QOSReserved", "ReduceDefaultCrashLoopBackOffDecay",
        "RuntimeClassInImageCriApi", "SchedulerAsyncAPICalls", "SchedulerPreQueueingHints", "ShardedListAndWatch",
        "StatefulSetRecreateStrategy", "StorageVersionAPI", "TaintTolerationComparisonOperators",
        "TopologyAwareWorkloadScheduling", "TopologyManagerPolicyAlphaOptions", "UserNamespacesHostNetworkSupport",
        "VolumeBindMountOptions", "WindowsCPUAndMemoryAffinity", "WindowsHostNetwork", "WorkloadWithJob",
    )
)  # fmt: skip
_TRUTHS: Final = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}


SHARDS: Final = "ShardedListAndWatch"
WEBHOOK_TOKENS: Final = "APIServerWebhookAuthenticationToken"


def is_on(gate: str, gates: Sequence[str]) -> bool:
    """Whether ``gates``, which `check_gates` has accepted, turn `SHARDS` or `WEBHOOK_TOKENS` on; the last entry
    counts.
    """
    values = [text.removeprefix("kube:").partition("=") for text in gates]
    return [False, *(_TRUTHS[value.strip().lower()] for name, _, value in values if name == gate)][-1]


def check_gates(gates: Sequence[str]) -> None:
    """Checks that each gate in ``gates`` (``NAME=BOOL``, with or without ``kube:`` before it) has its default value, or
    is `SHARDS` or `WEBHOOK_TOKENS`.

    Raises:
        FlagError: an entry has a different form, a gate does not exist, or its value is not supported.
    """
    for text in gates:
        name, equals, value = text.removeprefix("kube:").partition("=")
        wanted = _TRUTHS.get(value.strip().lower())
        if not equals or wanted is None:
            raise FlagError(f'invalid argument "{text}" for "--feature-gates" flag: give it as NAME=true or NAME=false')
        if name not in _ON and name not in _OFF:
            raise FlagError(f"--feature-gates: unrecognized feature gate: {name}")
        if wanted != (name in _ON) and name not in (SHARDS, WEBHOOK_TOKENS):
            raise FlagError(
                f"--feature-gates={text} is not supported by setpoint's kube-apiserver, which behaves as 1.37 does by "
                f"default ({name}={str(not wanted).lower()}): leave it out, or use the real one"
            )
