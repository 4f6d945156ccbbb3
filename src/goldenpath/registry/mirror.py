"""MLflow's copy of the registry: for its UI and its clients, never the authority.

Versions are found by their tag ``goldenpath.digest``, so that a retry makes no second one and a lost
database is filled again from the store. MLflow numbers its versions by itself: where they differ from
ours, the tag ``goldenpath.ref`` has our number.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from goldenpath.errors import ConfigError, GoldenPathError, InputError, Temporary
from goldenpath.registry.versions import Version
from goldenpath.store import keys

_OURS = re.compile(r"(champion|challenger|previous)(-.+)?")
"""Aliases that are ours alone: others in MLflow stay as they are."""

_NOT_ALLOWED = frozenset({"UNAUTHENTICATED", "PERMISSION_DENIED", "CUSTOMER_UNAUTHORIZED"})
_OUR_FAULT = frozenset({"BAD_REQUEST", "INVALID_PARAMETER_VALUE", "INVALID_STATE", "ENDPOINT_NOT_FOUND"})
_PROBE_S = 5.0


class Mirror:
    """The model registry of one tracking server, or of one database."""

    def __init__(self, tracking: str) -> None:
        """Opens it.

        Raises:
            ConfigError: The extra ``mlflow`` is not installed.
            Temporary: The server does not answer.
        """
        try:
            from mlflow import MlflowClient
        except ImportError:
            raise ConfigError(
                f"Registering models in {tracking} needs MLflow, which is not installed.",
                next_step="Install goldenpath[mlflow].",
            ) from None
        self.tracking = tracking
        _probe(tracking)
        with self._answering():
            self._client: Any = MlflowClient(tracking_uri=tracking, registry_uri=tracking)

    def keep_version(self, version: Version, *, store: str) -> str:
        """Creates or adopts MLflow's version of one of ours, and returns MLflow's number for it.

        Args:
            version: The version as committed in the store.
            store: The URL of that store.
        """
        with self._answering():
            found = self._find(version)
            if found is None:
                self._create(version, store)
                # Two may have created at once: the first number is kept, ours goes if it is a later one.
                found = self._find(version, drop_later=True)
        if found is None:
            raise Temporary(
                f"MLflow does not show the version of {version.name}:{version.number} that it just made."
            )
        return found

    def keep_aliases(self, name: str, wanted: Mapping[str, str]) -> None:
        """Sets aliases to MLflow's versions, and removes those of ours that nothing wants.

        Args:
            name: The model's name.
            wanted: MLflow's number by alias.
        """
        with self._answering():
            model = self._client.get_registered_model(name)
            there = {alias: str(number) for alias, number in model.aliases.items()}
            for alias, number in wanted.items():
                if there.get(alias) != number:
                    self._client.set_registered_model_alias(name, alias, number)
            for alias in there.keys() - wanted.keys():
                if _OURS.fullmatch(alias):
                    self._client.delete_registered_model_alias(name, alias)

    def _find(self, version: Version, *, drop_later: bool = False) -> str | None:
        # Names and digests are of a known alphabet: nothing in them needs quoting.
        query = f"name = '{version.name}' and tags.`goldenpath.digest` = 'sha256:{version.digest}'"
        found = sorted(int(one.version) for one in self._client.search_model_versions(query))
        if drop_later:
            for number in found[1:]:
                # The others see the same and drop the same: whoever comes second finds it gone.
                with self._unless("RESOURCE_DOES_NOT_EXIST"):
                    self._client.delete_model_version(version.name, str(number))
        return str(found[0]) if found else None

    def _create(self, version: Version, store: str) -> None:
        with self._unless("RESOURCE_ALREADY_EXISTS"):
            self._client.create_registered_model(version.name)
        self._client.create_model_version(
            version.name,
            source=_source(version, store, self.tracking),
            tags=tags(version, store=store),
            await_creation_for=0,
        )

    @staticmethod
    @contextlib.contextmanager
    def _unless(code: str) -> Iterator[None]:
        """Takes one of MLflow's errors for done."""
        from mlflow.exceptions import MlflowException

        try:
            yield
        except MlflowException as error:
            if error.error_code != code:
                raise

    @contextlib.contextmanager
    def _answering(self) -> Iterator[None]:
        from mlflow.exceptions import MlflowException
        from sqlalchemy.exc import SQLAlchemyError

        try:
            yield
        except MlflowException as error:
            raise self._translated(str(error.error_code), error) from error
        except (SQLAlchemyError, OSError) as error:
            raise self._translated("", error) from error

    def _translated(self, code: str, error: Exception) -> GoldenPathError:
        line = str(error).partition("\n")[0][:300]
        if code in _NOT_ALLOWED:
            return InputError(
                f"MLflow at {self.tracking} does not let us in: {line}",
                next_step="Check MLflow's credentials in the environment.",
            )
        if code in _OUR_FAULT:
            return GoldenPathError(f"MLflow at {self.tracking} refused a request: {line}")
        return Temporary(f"MLflow at {self.tracking} did not answer: {line}", next_step="Try again.")


def tags(version: Version, *, store: str) -> dict[str, str]:
    """What MLflow's version says of where the model came from; what is not known is left out."""
    found = {
        "ref": version.ref(store),
        "digest": f"sha256:{version.digest}",
        "run": version.run,
        "evaluation": version.evaluation,
        "gate": version.gate,
        "verdict": version.verdict,
        "override": version.override,
        "code.repository": version.code.repository,
        "code.commit": version.code.commit,
        "code.dirty": version.code.dirty,
        "image": version.image,
        "config_digest": version.config_digest,
        "checkpoint": version.checkpoint,
        "queue": version.queue,
        "cost": f"{version.cost.amount:.4f} {version.cost.currency}" if version.cost else "",
        **{f"dataset.{name}": ref for name, ref in version.datasets.items()},
    }
    return {f"goldenpath.{key}": value for key, value in found.items() if value}


def _source(version: Version, store: str, tracking: str) -> str:
    path = keys.model_files(version.name, version.digest).rstrip("/")
    if store.startswith("file://") and tracking.startswith(("http://", "https://")):
        # An MLflow server takes no path of another machine's disk: the tag with the reference has it.
        return f"goldenpath:///{path}"
    return f"{store}/{path}"


def _probe(tracking: str) -> None:
    """Fails at once where a server is down: MLflow's own client would retry for minutes."""
    if not tracking.startswith(("http://", "https://")):
        return
    import httpx

    try:
        answer = httpx.get(f"{tracking.rstrip('/')}/health", timeout=_PROBE_S)
    except httpx.TransportError as error:
        reason = str(error) or type(error).__name__
    else:
        if answer.status_code < 500:
            return
        reason = f"status {answer.status_code}"
    raise Temporary(
        f"MLflow at {tracking} does not answer: {reason}.",
        next_step="Start it, or check MLFLOW_TRACKING_URI, then try again.",
    )
