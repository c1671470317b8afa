"""SSSD on a host of the test bed. Its packages lie beside the system: installed, they change the name service of this machine."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.integration import debian
from tests.integration.cells import TestbedCell, eventually
from tests.integration.directory_server import SUFFIX, USERS

_PACKAGES = ("sssd-ldap", "libnss-sss")
_SETTINGS = """\
[sssd]
services = nss
domains = example
[domain/example]
id_provider = ldap
auth_provider = none
access_provider = permit
ldap_uri = {uri}
ldap_search_base = {suffix}
"""
_NAME_SERVICE = "passwd: files sss\ngroup: files sss\nhosts: files dns\n"
_STATE = "/var/lib/sss"


class Sssd:
    """SSSD with the directory server at `uri`, on `host`, with its files in `place`."""

    def __init__(self, cell: TestbedCell, host: str, uri: str, place: Path) -> None:
        self._cell, self._host, self._place = cell, host, place
        place.chmod(0o755)
        for package in _PACKAGES:
            debian.unpack(package, place)
        shutil.copytree(place / "lib", place / "usr" / "lib", symlinks=True, dirs_exist_ok=True)  # /lib is a link on the host
        (place / "nsswitch.conf").write_text(_NAME_SERVICE)
        (place / "sssd.conf").write_text(_SETTINGS.format(uri=uri, suffix=SUFFIX))
        (place / "sssd.conf").chmod(0o600)

    def begin(self) -> None:
        """Start SSSD, and have the host look its users up there."""
        commands = f"""
            mkdir -p {_STATE} /var/log/sssd
            mount -t tmpfs -o mode=755 tmpfs {_STATE}
            mkdir -p {_STATE}/{{db,mc,pubconf,gpo_cache,secrets,pipes}}
            mkdir -m 700 {_STATE}/pipes/private
            mount -t overlay -o ro,lowerdir={self._place}/usr:/usr overlay /usr
            mount --bind {self._place}/nsswitch.conf /etc/nsswitch.conf
            sssd -D -c {self._place}/sssd.conf
        """
        self._cell.must_on(self._host, "bash", "-ec", commands)
        user = next(iter(USERS))
        eventually("SSSD knows a user", lambda: self._cell.on(self._host, "id", user).returncode == 0)

    def remove(self) -> None:
        """End SSSD; the host forgets its users."""
        self._cell.on(self._host, "sh", "-c", "kill $(cat /run/sssd.pid)")
        ended = ("sh", "-c", "! pgrep -x sssd")
        eventually("SSSD has ended", lambda: self._cell.on(self._host, *ended).returncode == 0)
        for place in ("/etc/nsswitch.conf", "/usr", _STATE):
            self._cell.on(self._host, "umount", "--lazy", place)
