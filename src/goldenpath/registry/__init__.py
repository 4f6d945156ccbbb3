"""Models by digest: publishing, registering, aliases, and the trace from a model to its origins."""

from goldenpath.registry.alias_epochs import (
    CHALLENGER,
    CHAMPION,
    PREVIOUS,
    AliasEpoch,
    Aliases,
    alias_history,
    aliases,
    mirror_aliases,
    move_alias,
)
from goldenpath.registry.lineage import Trace, in_toto, trace
from goldenpath.registry.manifest import File, Manifest, read_manifest
from goldenpath.registry.pins import Pins, pin
from goldenpath.registry.publication import publish
from goldenpath.registry.registration import Evidence, Registered, mirror_versions, register
from goldenpath.registry.retrieval import fetch, verify
from goldenpath.registry.signature import sign
from goldenpath.registry.tracked import from_tracked
from goldenpath.registry.versions import Version, names, numbers, resolve, version, versions
from goldenpath.registry.wrapper import settle as settle_wrapper

__all__ = [
    "CHALLENGER",
    "CHAMPION",
    "PREVIOUS",
    "AliasEpoch",
    "Aliases",
    "Evidence",
    "File",
    "Manifest",
    "Pins",
    "Registered",
    "Trace",
    "Version",
    "alias_history",
    "aliases",
    "fetch",
    "from_tracked",
    "in_toto",
    "mirror_aliases",
    "mirror_versions",
    "move_alias",
    "names",
    "numbers",
    "pin",
    "publish",
    "read_manifest",
    "register",
    "resolve",
    "settle_wrapper",
    "sign",
    "trace",
    "verify",
    "version",
    "versions",
]
