"""Writes metrics in the format that a client asks for, as a kube-apiserver: Prometheus' text, or its protobuf messages,
the only ones that have native histograms.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from setpoint.apiserver.requests.accept import accepted
from setpoint.apiserver.responses.protobuf import chunk, varint

if TYPE_CHECKING:
    from prometheus_client.core import Metric
    from prometheus_client.samples import NativeHistogram, Sample

    NativeHistograms = Mapping[str, Sequence[tuple[Mapping[str, str], NativeHistogram]]]

_PROTOBUF: Final = "application/vnd.google.protobuf"
_MESSAGE: Final = "io.prometheus.client.MetricFamily"
_DELIMITED: Final = f"{_PROTOBUF}; proto={_MESSAGE}; encoding=delimited; escaping=underscores"
_PLAIN: Final = "text/plain"
_TEXT: Final = f"{_PLAIN}; version=0.0.4; charset=utf-8; escaping=underscores"
_TYPES: Final = {"counter": 0, "gauge": 1, "unknown": 3, "histogram": 4}
_VALUES: Final = {"counter": b"\x1a", "gauge": b"\x12", "unknown": b"\x2a"}
"""The tags of a metric's value by its type."""
_HISTOGRAM: Final = b"\x3a"

Native = Mapping[frozenset[tuple[str, str]], "NativeHistogram"]


def exposition(families: Iterable[Metric], accept: str, native: NativeHistograms | None = None) -> tuple[bytes, str]:
    """The families in the format that ``accept`` selects, and the content type. ``native`` are their native histograms,
    by family.
    """
    from prometheus_client import CollectorRegistry
    from prometheus_client.exposition import generate_latest

    if _wants_protobuf(accept):
        return b"".join(_delimited(families, native or {})), _DELIMITED
    registry = CollectorRegistry()
    registry.register(_Collected([*families]))
    return generate_latest(registry), _TEXT


def process_families() -> Iterable[Metric]:
    """The time, memory and files of this process."""
    from prometheus_client import ProcessCollector

    return ProcessCollector(registry=None).collect()


def _wants_protobuf(accept: str) -> bool:
    for clause in accepted(accept):
        parameters = clause.parameters
        if clause.kind == _PROTOBUF and parameters.get("proto") == _MESSAGE:
            return parameters.get("encoding") == "delimited"
        if clause.kind == _PLAIN:
            return False
    return False


class _Collected:
    def __init__(self, metrics: list[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> list[Metric]:
        return self._metrics


# -- messages: the numbers of fields are those of Prometheus' metrics.proto -------------------------------------------


def _delimited(families: Iterable[Metric], native: NativeHistograms) -> Iterator[bytes]:
    for family in families:
        histograms = {frozenset(labels.items()): item for labels, item in native.get(family.name, ())}
        yield chunk(b"", _family(family, histograms))


def _family(family: Metric, native: Native) -> bytes:
    if family.type == "histogram":
        name, metrics = family.name, _histograms(family, native)
    else:
        name = f"{family.name}_total" if family.type == "counter" else family.name
        tag = _VALUES[family.type]
        metrics = [_labels(sample.labels) + chunk(tag, _double(b"\x09", sample.value)) for sample in family.samples
                   if sample.name == name]  # fmt: skip
    head = chunk(b"\x0a", name.encode()) + chunk(b"\x12", family.documentation.encode())
    kind = b"\x18" + varint(_TYPES[family.type])
    return b"".join((head, kind, *(chunk(b"\x22", metric) for metric in metrics)))


def _histograms(family: Metric, native: Native) -> list[bytes]:
    """The metrics of a histogram, each made of the samples that differ in their bound alone."""
    groups: dict[frozenset[tuple[str, str]], list[Sample]] = {}
    for sample in family.samples:
        labels = frozenset(item for item in sample.labels.items() if item[0] != "le")
        groups.setdefault(labels, []).append(sample)
    return [
        _labels(dict(labels)) + chunk(_HISTOGRAM, _histogram(family.name, samples, native.get(labels)))
        for labels, samples in groups.items()
    ]


def _histogram(name: str, samples: list[Sample], native: NativeHistogram | None) -> bytes:
    parts = []
    for sample in samples:
        if sample.name == f"{name}_count":
            parts.append(b"\x08" + varint(int(sample.value)))
        elif sample.name == f"{name}_sum":
            parts.append(_double(b"\x11", sample.value))
        elif (bound := sample.labels["le"]) != "+Inf":  # which every histogram has, with the count
            bucket = b"\x08" + varint(int(sample.value)) + _double(b"\x11", float(bound))
            parts.append(chunk(b"\x1a", bucket))
    if native is not None:
        parts += (b"\x28", _signed(native.schema), _double(b"\x31", native.zero_threshold))
        parts += (b"\x38", varint(int(native.zero_count)))
        for span in native.pos_spans or ():
            parts.append(chunk(b"\x62", b"\x08" + _signed(span.offset) + b"\x10" + varint(span.length)))
        for delta in native.pos_deltas or ():
            parts += (b"\x68", _signed(delta))
    return b"".join(parts)


def _labels(labels: Mapping[str, str]) -> bytes:
    pairs = (chunk(b"\x0a", name.encode()) + chunk(b"\x12", labels[name].encode()) for name in sorted(labels))
    return b"".join(chunk(b"\x0a", pair) for pair in pairs)


def _double(tag: bytes, value: float) -> bytes:
    return tag + struct.pack("<d", value)


def _signed(value: int) -> bytes:
    """An integer in zigzag encoding."""
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)
