"""Keeps a copy of one collection of an API server up to date: reflector, store, indexes, informer, lister and
factory.
"""

from setpoint.cache.backoff import ReflectorBackoff
from setpoint.cache.errors import CacheError, CacheSyncError, InformerStopped, NotFoundInCache, UndeclaredRead
from setpoint.cache.factory import InformerFactory
from setpoint.cache.handler_registration import HandlerRegistration
from setpoint.cache.head_update import HeadUpdate
from setpoint.cache.index import Index, IndexFunction
from setpoint.cache.informer import Informer
from setpoint.cache.informer_scope import Scope
from setpoint.cache.lister import Lister
from setpoint.cache.lister_watcher import ListerWatcher
from setpoint.cache.metrics import InformerMetrics
from setpoint.cache.object_parser import ObjectParser, Transform
from setpoint.cache.reflector import Reflector
from setpoint.cache.reflector_sink import Sink
from setpoint.cache.shared_informer import SharedInformer
from setpoint.cache.snapshot import Snapshot
from setpoint.cache.store import Store
from setpoint.cache.watch_options import WatchOptions
from setpoint.meta.object_head import Head

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
    "ListerWatcher",
    "NotFoundInCache",
    "ObjectParser",
    "Reflector",
    "ReflectorBackoff",
    "Scope",
    "SharedInformer",
    "Sink",
    "Snapshot",
    "Store",
    "Transform",
    "UndeclaredRead",
    "WatchOptions",
]
