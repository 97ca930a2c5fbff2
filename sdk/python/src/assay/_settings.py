"""Where the server is and which key is sent: what the caller gives, checked before the first request."""

from __future__ import annotations

import os
from typing import NoReturn, Optional
from urllib.parse import urlsplit


class Secret:
    """An API key. Nothing shows it, copies it to disk or compares it by accident; only ``reveal`` gives it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "<API key>"

    def __bool__(self) -> bool:
        return self._text != ""

    def __reduce__(self) -> NoReturn:
        raise TypeError("an API key cannot be pickled or copied")


def read_key(key: Optional[str]) -> Secret:
    """The key that was given, or that of the environment variable ASSAY_KEY. An empty one means no key."""
    text = os.environ.get("ASSAY_KEY", "") if key is None else key
    if not isinstance(text, str):
        raise TypeError("the API key must be a string")
    if any(not "!" <= c <= "~" for c in text):
        raise ValueError("the API key contains a space, a line break or another character that no key has")
    return Secret(text)


class Origin:
    """The address of a server: scheme, host and port, and the path in front of its routes."""

    def __init__(self, url: Optional[str]) -> None:
        text = os.environ.get("ASSAY_URL", "") if url is None else url
        if not text:
            raise ValueError("no server: give its address, such as https://assay.example, or set ASSAY_URL")
        # The address is not shown: it may contain a password, or have been mistaken for the key.
        if any(not "!" <= c <= "~" for c in text):
            raise ValueError("the address of the server contains a space or a character that an address cannot have")
        parts = urlsplit(text)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("the address of the server must begin with http:// or https:// and a host")
        if "@" in parts.netloc:
            raise ValueError("the address of the server must not contain a name or password")
        if "?" in text or "#" in text:
            raise ValueError("the address of the server must not contain a query or a fragment")
        try:
            port = parts.port
        except ValueError:
            raise ValueError("the port of the server must be a number from 0 to 65535") from None
        self.scheme = parts.scheme
        self.host = parts.hostname
        self.port = port if port is not None else (443 if self.scheme == "https" else 80)
        self.path = parts.path.rstrip("/")
        self.url = f"{parts.scheme}://{parts.netloc}{self.path}"
