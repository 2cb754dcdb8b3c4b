"""Keeps a copy of one collection of an API server up to date: reflector, store, indexes, informer, lister and
factory.
"""

from setpoint.cache.backoff import ReflectorBackoff
from setpoint.cache.errors import CacheError, CacheSyncError, InformerStopped, NotFoundInCache, UndeclaredRead
from setpoint.cache.factory import InformerFactory
from setpoint.cache.head_update import HeadUpdate
from setpoint.cache.index import Index, IndexFunction
from setpoint.cache.informer import Informer
from setpoint.cache.lister import Lister
from setpoint.cache.metrics import InformerMetrics
from setpoint.cache.object_parser import ObjectParser, Transform
from setpoint.cache.reflector import Reflector
from setpoint.cache.registration import HandlerRegistration
from setpoint.cache.scope import Scope
from setpoint.cache.shared import SharedInformer
from setpoint.cache.sink import Sink
from setpoint.cache.snapshot import Snapshot
from setpoint.cache.source import Source
from setpoint.cache.store import Store
from setpoint.meta.head import Head

__all__ = [
    "CacheError",
    "CacheSyncError",
    "HandlerRegistration",
    "Head",
    "HeadUpdate",
    "Index",
    "IndexFunction",
    "Informer",
    "InformerFactory",
    "InformerMetrics",
    "InformerStopped",
    "Lister",
    "NotFoundInCache",
    "ObjectParser",
    "Reflector",
    "ReflectorBackoff",
    "Scope",
    "SharedInformer",
    "Sink",
    "Snapshot",
    "Source",
    "Store",
    "Transform",
    "UndeclaredRead",
]
