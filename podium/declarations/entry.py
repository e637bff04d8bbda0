"""The shape of ``entry.toml``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from podium.declarations.task import (
    FileSpec,
    Name,
    PaperSpec,
    Strict,
    TaskId,
    Text,
    recordable,
    unique,
)

Kind = Literal["reference", "baseline", "control", "submission"]


class VariantSpec(Strict, frozen=True, kw_only=True):
    """The same method under another fixed configuration, as an entry of its own."""

    id: Name
    title: Text
    summary: str = ""
    config: dict[str, Any]
    kind: Kind | None = None


class EntryFile(Strict, frozen=True, kw_only=True):
    """A method's folder: one entry, and one more for every variant.

    ``smoke``: arguments in tier smoke, where a run shows that it runs: fewer steps, say.
    ``files``: what the method reads beside the problem, such as published weights.
    ``named_by``: the argument that says which of many methods this is, such as a model's name. Its
    value stands in the label, ``lm[hf,pretrained=NAME]``, and the entry is run only if it is named.
    """

    id: Name
    kind: Kind
    title: Text
    summary: Text
    tasks: Annotated[tuple[TaskId, ...], Meta(min_length=1)]
    function: Annotated[
        str,
        Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*$"),
    ] = "method:run"
    config: dict[str, Any] = {}
    smoke: dict[str, Any] = {}
    preload: tuple[Text, ...] = ()
    requires: tuple[Text, ...] = ()
    extra: str | None = None
    files: tuple[FileSpec, ...] = ()
    named_by: str | None = None
    devices: Annotated[tuple[Literal["cpu", "cuda"], ...], Meta(min_length=1)] = ("cpu",)
    seeded: bool = True
    paper: PaperSpec | None = None
    variants: tuple[VariantSpec, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a repeated id or task."""
        unique("id", [self.id, *(v.id for v in self.variants)])
        unique("tasks", list(self.tasks))
        unique("files name", [f.name for f in self.files])
        recordable("config", self.config)
        recordable("smoke", self.smoke)
        for variant in self.variants:
            recordable(f"variant {variant.id!r} config", variant.config)

    def entries(self) -> tuple[EntrySpec, ...]:
        """Return the entry itself and its variants, each with its whole configuration."""
        first = EntrySpec(
            file=self,
            id=self.id,
            title=self.title,
            summary=self.summary,
            kind=self.kind,
            config=self.config,
        )
        rest = (
            EntrySpec(
                file=self,
                id=v.id,
                title=v.title,
                summary=v.summary or self.summary,
                kind=v.kind or self.kind,
                config={**self.config, **v.config},
            )
            for v in self.variants
        )
        return (first, *rest)


class EntrySpec(Strict, frozen=True, kw_only=True):
    """One entry: a method with a fixed configuration."""

    file: EntryFile
    id: str
    title: str
    summary: str
    kind: Kind
    config: dict[str, Any]

    def config_in(self, tier: str) -> dict[str, Any]:
        """Return what the declaration sets of the arguments of a run in a tier."""
        return {**self.config, **self.file.smoke} if tier == "smoke" else self.config
