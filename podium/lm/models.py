"""Make a model of lm-eval's registry, or say in seconds why it cannot be had."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from podium.errors import InputError, MissingError
from podium.lm.packages import offline, package
from podium.paths import expanded

_SECONDS = 3.0
"""How long a server may take to say that it is there."""
_TRUE = {"1", "true", "yes", "on"}
_LOCAL_FILES = ("config.json", "params.json", "adapter_config.json")


def named_model(name: str, *, device: str = "cpu", batch: int = 8) -> Any:
    """Make the model that ``KIND,KEY=VALUE,...`` names: ``hf,pretrained=gpt2``, ``dummy``.

    KIND is a name of lm-eval's registry, the rest are its arguments as ``lm-eval run
    --model_args`` takes them. A model of a local folder, or one that the cache of Hugging Face
    holds, is loaded without the network.

    Raises:
        InputError: lm-eval knows no such kind, or refuses the arguments.
        MissingError: lm-eval or a package of the model is not installed; the model is neither
            here nor to be had; its server does not answer.
    """
    kind, _, arguments = name.partition(",")
    where = f"--lm {kind}"
    with contextlib.ExitStack() as stack:
        settings = _settings(arguments, where)
        if _is_here(settings):
            stack.enter_context(offline())
        registry = package("lm_eval.api.registry")
        package("lm_eval.models")
        if kind not in registry.model_registry:
            raise InputError(
                f"lm-eval knows no kind of model {kind!r}",
                where=where,
                expected=f"one of {', '.join(sorted(registry.model_registry))}",
            )
        _check_reachable(settings, where)
        try:
            maker = registry.get_model(kind)
            return maker.create_from_arg_obj(settings, {"batch_size": batch, "device": device})
        except (ImportError, OSError) as error:
            raise MissingError(
                f"the model {name!r} cannot be had",
                where=where,
                found=_first_line(error),
                fix="install what it needs, or name a model that is on this machine",
            ) from error
        except (TypeError, ValueError, AssertionError, KeyError) as error:
            raise InputError(
                f"lm-eval cannot make the model {name!r}",
                where=where,
                found=_first_line(error),
                fix="--lm-args key=value,... with the arguments of this kind",
            ) from error


def _settings(arguments: str, where: str) -> dict[str, Any]:
    faulty = [part for part in arguments.split(",") if part and "=" not in part]
    if faulty:
        raise InputError(
            "bad arguments of the model",
            where=where,
            expected="key=value,key=value",
            found=", ".join(map(repr, faulty)),
        )
    settings = package("lm_eval.utils").simple_parse_args_string(arguments)
    name = settings.get("pretrained")
    if isinstance(name, str) and name.startswith(("~", ".", "/")):
        settings["pretrained"] = str(expanded(Path(name), where=where))
    return dict(settings)


def _is_here(settings: dict[str, Any]) -> bool:
    """Whether the named weights lie on this machine, in a folder or in the Hub's cache."""
    name = settings.get("pretrained")
    if not isinstance(name, str):
        return False
    if Path(name).is_dir():
        return True
    cache = os.environ.get("HF_HUB_CACHE") or str(
        Path(os.environ.get("HF_HOME") or Path("~/.cache/huggingface").expanduser()) / "hub"
    )
    place = Path(cache) / f"models--{name.replace('/', '--')}" / "snapshots"
    return any(place.glob(f"*/{file}") for file in _LOCAL_FILES) if place.is_dir() else False


def _check_reachable(settings: dict[str, Any], where: str) -> None:
    """Ask in seconds what the libraries would ask for minutes.

    Raises:
        MissingError: no folder, no such model on the Hub, or nobody answers.
    """
    name, url = settings.get("pretrained"), settings.get("base_url")
    if isinstance(name, str) and not _is_here(settings):
        if name.startswith(("/", "./", "../")) or name.count("/") > 1:
            raise MissingError(
                f"there is no folder {name!r}",
                where=where,
                expected="a folder that save_pretrained wrote, or the name of a model on the Hub",
            )
        _ask_the_hub(name, settings.get("revision"), where)
    if isinstance(url, str):
        _connect(url, where)


def _ask_the_hub(name: str, revision: Any, where: str) -> None:
    fix = f"load {name!r} where there is a network, or --lm-args pretrained=FOLDER"
    wanted = "a model in a folder, in the cache of Hugging Face, or on the Hub"
    asked_not_to = [
        v for v in ("PODIUM_OFFLINE", "HF_HUB_OFFLINE") if os.environ.get(v, "").lower() in _TRUE
    ]
    if asked_not_to:
        raise MissingError(
            f"the model {name!r} is not on this machine",
            where=where,
            expected=wanted,
            found=f"{asked_not_to[0]} is set: the Hub is not asked",
            fix=fix,
        )
    hub = package("huggingface_hub")
    answer: list[BaseException | None] = []

    def ask() -> None:
        try:
            hub.HfApi().model_info(name, revision=revision, timeout=_SECONDS)
        except Exception as error:  # handed to the thread that waits
            answer.append(error)
        else:
            answer.append(None)

    # Looking up a host's name has no time limit of its own: hence a thread that may be left alone.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(_SECONDS + 0.5)
    error = answer[0] if answer else TimeoutError(f"no answer in {_SECONDS:g} s")
    if error is not None:
        raise MissingError(
            f"the model {name!r} is not on this machine, and the Hub does not give it",
            where=where,
            expected=wanted,
            found=_first_line(error),
            fix=fix,
        ) from error


def _connect(url: str, where: str) -> None:
    parts = urlsplit(url)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("no http address")
    except ValueError as error:
        raise InputError(
            "bad address of a server", where=where, expected="base_url=http://...", found=url
        ) from error
    try:
        socket.create_connection((parts.hostname, port), timeout=_SECONDS).close()
    except OSError as error:
        raise MissingError(
            "the server does not answer",
            where=where,
            expected=f"a server at {url}",
            found=_first_line(error),
            fix="start it, or correct base_url",
        ) from error


def _first_line(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0][:300]}" if text else type(error).__name__
