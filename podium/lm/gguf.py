"""A GGUF file as an ordinary checkpoint of transformers."""

from __future__ import annotations

import copy
from pathlib import Path

from podium.data.derived import derived_folder
from podium.lm.packages import offline, package

_LAYOUT = 1
"""Raised whenever ``_convert`` would write other files."""


def gguf_checkpoint(file: Path, name: str) -> Path:
    """Return a folder with the model of a GGUF file in bfloat16 safetensors, and its tokenizer.

    Made once and kept in the cache: reading the quantised file takes far longer than the
    checkpoint does. The weights are those of the file, rounded to bfloat16.

    Args:
        file: the GGUF file.
        name: what it is, in lower case: the name of its folder in the cache.

    Raises:
        MissingError: transformers or gguf is not installed, or the cache cannot be written.
    """
    return derived_folder(
        name,
        lambda folder: _convert(file, folder),
        sources=[file],
        parameters={"layout": _LAYOUT, "dtype": "bfloat16"},
    )


def _convert(file: Path, folder: Path) -> None:
    with offline():
        transformers = package("transformers")
        package("gguf")
        package("accelerate")
    import torch

    place = {"gguf_file": file.name, "local_files_only": True}
    model = transformers.AutoModelForCausalLM.from_pretrained(
        str(file.parent), dtype=torch.float32, **place
    )
    # transformers refuses to save a model that it knows to come from GGUF: the same weights in a
    # model made from the same configuration without that mark.
    config = copy.deepcopy(model.config)
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    plain = type(model)(config)
    plain.load_state_dict(model.state_dict())
    plain.generation_config = copy.deepcopy(model.generation_config)
    plain.to(torch.bfloat16).save_pretrained(str(folder))
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(file.parent), **place)
    tokenizer.save_pretrained(str(folder))
