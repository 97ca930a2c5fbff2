"""Proxies, as the environment names them: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY."""

from __future__ import annotations

import base64
import ipaddress
import urllib.request
from typing import Dict, Optional
from urllib.parse import SplitResult, unquote, urlsplit


class Proxy:
    """An HTTP proxy: requests over TLS go through a tunnel, others are handed to it."""

    def __init__(self, parts: SplitResult) -> None:
        self.host = parts.hostname or ""
        self.port = parts.port or 80
        self._user, self._password = parts.username, parts.password

    def authorization(self) -> Dict[str, str]:
        if self._user is None:
            return {}
        secret = f"{unquote(self._user)}:{unquote(self._password or '')}"
        return {"Proxy-Authorization": "Basic " + base64.b64encode(secret.encode()).decode()}


def find(scheme: str, host: str, port: int) -> Optional[Proxy]:
    """The proxy for a server, or None. A server on this machine never needs one."""
    if _is_loopback(host) or urllib.request.proxy_bypass(f"{host}:{port}") or urllib.request.proxy_bypass(host):
        return None
    proxies = urllib.request.getproxies()
    address = proxies.get(scheme) or proxies.get("all")
    if not address:
        return None
    parts = urlsplit(address if "://" in address else "http://" + address)
    if parts.scheme != "http" or not parts.hostname:
        # The address is not shown: it may contain a password.
        raise ValueError(f"the environment names a proxy for {scheme} that is not of the form http://host:port")
    return Proxy(parts)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
