"""What reading a damaged archive raises, depending on the byte that is wrong."""

from __future__ import annotations

import struct
import zipfile
import zlib

DAMAGED_ZIP = (
    OSError,
    EOFError,
    RuntimeError,  # "encrypted", and as NotImplementedError an unknown compression or version
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
