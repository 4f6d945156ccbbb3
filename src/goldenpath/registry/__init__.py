"""Models by digest: publishing, registering, aliases, and the trace from a model to its origins."""

from goldenpath.registry.manifest import File, Manifest, read_manifest
from goldenpath.registry.publication import publish
from goldenpath.registry.retrieval import fetch, verify
from goldenpath.registry.versions import Version, resolve, versions

__all__ = [
    "File",
    "Manifest",
    "Version",
    "fetch",
    "publish",
    "read_manifest",
    "resolve",
    "verify",
    "versions",
]
