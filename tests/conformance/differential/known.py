"""Which recorded requests the embedded server answers differently, by kind, and why: lines of ``recorded``, from 0.

A line in this list whose answer has become the same fails the test: it is to be taken off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

__all__ = ["KNOWN"]

UNCHECKED: Final = "a rule of the kind that is not checked"
TOO_STRICT: Final = "required by the published schema, not by the real server"
CAUSES: Final = "refused, too, but for other fields, in other words, or not for all that is wrong"
CODE: Final = "refused with another code"
OBJECT: Final = "defaults or fields that the server sets"
TOKENS: Final = "the volume with the service account's token, which an admission plugin adds to pods"
LIFECYCLE: Final = "finalizers of protection and the taint of new nodes, which no controller here takes away again"
DEVICES: Final = "rules of dynamic resource allocation, of which only the schema's and immutability are checked"

KNOWN: Final[Mapping[tuple[str, str], Sequence[int]]] = {
    ("APIService", OBJECT): (72, 236, 400),
    ("CSIDriver", CAUSES): (557, 639),
    ("CSIDriver", OBJECT): (65, 393),
    ("ControllerRevision", CAUSES): (360, 688),
    ("CronJob", UNCHECKED): (204,),
    ("DaemonSet", OBJECT): (692,),
    ("Deployment", CAUSES): (197, 361, 443, 689),
    ("Deployment", OBJECT): (198,),
    ("DeviceClass", DEVICES): (161, 243, 489, 571, 653),
    ("DeviceTaintRule", DEVICES): (248, 576, 658),
    ("EndpointSlice", OBJECT): (375, 457),
    ("EndpointSlice", UNCHECKED): (129, 374),
    ("Event", CAUSES): (175,),
    ("Event", UNCHECKED): (93, 503, 585, 667),
    ("FlowSchema", OBJECT): (540,),
    ("HorizontalPodAutoscaler", CAUSES): (285, 367, 613),
    ("HorizontalPodAutoscaler", OBJECT): (38, 120, 366, 448, 530),
    ("HorizontalPodAutoscaler", UNCHECKED): (121,),
    ("IngressClass", CAUSES): (379, 461),
    ("Job", CAUSES): (205, 288, 534, 698),
    ("Job", UNCHECKED): (123, 206, 287, 370, 371, 535, 699),
    ("Lease", CODE): (455,),
    ("LimitRange", CAUSES): (340,),
    ("Namespace", UNCHECKED): (423, 587),
    ("NetworkPolicy", OBJECT): (546,),
    ("Node", LIFECYCLE): (14, 96, 260, 342, 424),
    ("Node", UNCHECKED): (588,),
    ("PersistentVolume", CAUSES): (183, 347, 511, 591, 673, 674),
    ("PersistentVolume", LIFECYCLE): (17, 18, 19, 100, 181, 263, 345, 510),
    ("PersistentVolume", UNCHECKED): (509,),
    ("PersistentVolumeClaim", LIFECYCLE): (15, 16, 98, 262, 344, 425, 426, 507),
    ("Pod", CAUSES): (102, 104, 184, 432, 514, 596, 678),
    ("Pod", TOKENS): (20, 21, 22, 103, 266, 267, 268, 430, 513, 676),
    ("Pod", UNCHECKED): (431,),
    ("PodCertificateRequest", CAUSES): (71, 153, 317, 481, 645),
    ("PodDisruptionBudget", CAUSES): (304, 467, 549, 550, 632),
    ("PodTemplate", UNCHECKED): (269, 351, 515, 679),
    ("PriorityClass", OBJECT): (228, 556),
    ("ReplicaSet", TOO_STRICT): (445,),
    ("ResourceClaim", DEVICES): (162, 490),
    ("ResourceClaimTemplate", DEVICES): (163, 245, 327, 409, 491, 573, 655),
    ("ResourceSlice", DEVICES): (164, 492, 574, 656),
    ("ResourceSlice", OBJECT): (246,),
    ("RuntimeClass", UNCHECKED): (138,),
    ("Service", CAUSES): (356, 359),
    ("Service", OBJECT): (29, 111, 193, 275, 521, 522, 685),
    ("Service", UNCHECKED): (440,),
    ("StatefulSet", UNCHECKED): (693,),
    ("ValidatingAdmissionPolicy", CAUSES): (649,),
    ("ValidatingWebhookConfiguration", UNCHECKED): (483,),
    ("VolumeAttributesClass", LIFECYCLE): (70, 152, 644),
}
