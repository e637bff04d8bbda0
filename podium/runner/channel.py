"""JSON messages over a socket: four bytes of length, then the text.

Infinity and NaN pass, unlike in records: a metric's declared range may be unbounded.
"""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

Message = dict[str, Any]
_LENGTH = struct.Struct("!I")


class Channel:
    """One end of a stream socket that carries JSON objects, and now and then a descriptor."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        self._buffer = bytearray()
        self.descriptors: list[int] = []
        self.closed = False

    def fileno(self) -> int:
        """Return the descriptor, so that selectors can wait on this object."""
        return self.socket.fileno()

    def send(self, message: Message, descriptors: list[int] | None = None) -> None:
        """Send a message; descriptors travel with its first byte.

        Raises:
            OSError: the other end is gone.
        """
        text = json.dumps(message, separators=(",", ":")).encode()
        frame = _LENGTH.pack(len(text)) + text
        if descriptors:
            sent = socket.send_fds(self.socket, [frame], descriptors)
            frame = frame[sent:]
        self.socket.sendall(frame)

    def receive(self) -> list[Message]:
        """Read what has arrived, waiting for at least some bytes; sets ``closed`` at the end."""
        try:
            data, descriptors, _, _ = socket.recv_fds(
                self.socket, 1 << 16, 16, socket.MSG_CMSG_CLOEXEC
            )
        except BlockingIOError:
            return []
        except ConnectionResetError:
            data, descriptors = b"", []
        self.descriptors += descriptors
        if not data:
            self.closed = True
        self._buffer += data
        return self._messages()

    def receive_one(self) -> Message | None:
        """Wait for one message; ``None`` at the end of the stream.

        For ends to which one message is sent in all.
        """
        while not self.closed:
            messages = self.receive()
            if messages:
                return messages[0]
        return None

    def drain(self) -> list[Message]:
        """Read everything that has arrived, without waiting."""
        self.socket.setblocking(False)
        messages = []
        while not self.closed:
            before = len(self._buffer)
            found = self.receive()
            if not found and len(self._buffer) == before:
                break
            messages += found
        return messages

    def close(self) -> None:
        """Close this end."""
        self.socket.close()
        self.closed = True

    def _messages(self) -> list[Message]:
        messages = []
        while len(self._buffer) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer)
            if len(self._buffer) < _LENGTH.size + length:
                break
            text = bytes(self._buffer[_LENGTH.size : _LENGTH.size + length])
            del self._buffer[: _LENGTH.size + length]
            messages.append(json.loads(text))
        return messages
