"""Object storage: one small client over every scheme, and the layout of keys in it."""

from goldenpath.store import keys
from goldenpath.store.client import Entry, Store, open_store
from goldenpath.store.documents import get_document, put_document

__all__ = ["Entry", "Store", "get_document", "keys", "open_store", "put_document"]
