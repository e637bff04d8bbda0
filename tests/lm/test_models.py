"""Models that cannot be had say so in seconds."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

from podium.errors import InputError, MissingError
from podium.lm.models import named_model
from podium.lm.packages import package

NOBODY = "podium-tests/no-such-model"


@pytest.fixture(autouse=True)
def libraries(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Imported before any time is taken; an empty cache of the Hub."""
    package("lm_eval.models")
    package("lm_eval.utils")
    package("huggingface_hub")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    for name in ("PODIUM_OFFLINE", "HF_HUB_OFFLINE", "HF_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InputError, match="no kind of model 'hff'") as refused:
        named_model("hff,pretrained=x")
    assert refused.value.expected is not None
    assert "vllm" in refused.value.expected


def test_bad_arguments_are_refused(tiny_model: Path) -> None:
    with pytest.raises(InputError, match="bad arguments"):
        named_model("hf,gpt2")
    with pytest.raises(InputError, match="cannot make the model"):
        named_model("hf")
    with pytest.raises(InputError, match="cannot make the model") as refused:
        named_model(f"hf,pretrained={tiny_model},no_such_argument=3")
    assert "no_such_argument" in str(refused.value)


def test_a_folder_that_is_not_there_is_missing(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="there is no folder"):
        named_model(f"hf,pretrained={tmp_path / 'none'}")


def test_an_empty_folder_is_no_model(tmp_path: Path) -> None:
    with pytest.raises((MissingError, InputError), match="model"):
        named_model(f"hf,pretrained={tmp_path}")


@pytest.mark.parametrize("variable", ["PODIUM_OFFLINE", "HF_HUB_OFFLINE"])
def test_offline_the_hub_is_not_asked(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "1")
    with pytest.raises(MissingError, match="is not on this machine") as missing:
        named_model(f"hf,pretrained={NOBODY}")
    assert missing.value.found == f"{variable} is set: the Hub is not asked"


def test_a_model_that_the_hub_does_not_give_fails_in_seconds() -> None:
    start = time.monotonic()
    with pytest.raises(MissingError, match=NOBODY):
        named_model(f"hf,pretrained={NOBODY}")
    assert time.monotonic() - start < 5


def test_a_hub_that_never_answers_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        time.sleep(30)

    monkeypatch.setattr(package("huggingface_hub").HfApi, "model_info", never)
    start = time.monotonic()
    with pytest.raises(MissingError, match="no answer in 3 s"):
        named_model(f"hf,pretrained={NOBODY}")
    assert time.monotonic() - start < 5


def test_a_server_that_is_not_there_fails_in_seconds() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1/chat/completions"
        start = time.monotonic()
        with pytest.raises(MissingError, match="the server does not answer"):
            named_model(f"local-chat-completions,model=m,base_url={url}")
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("url", ["localhost", "ftp://a/b", "http://a:b/c"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="bad address"):
        named_model(f"local-chat-completions,model=m,base_url={url}")
