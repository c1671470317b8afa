"""A directory server: slapd with users and groups of its own, and nslcd, by which hosts of the test bed look them up."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

from tests.integration import debian
from tests.integration.cells import TestbedCell, cell_ports, eventually, run

#: the groups of the directory: group -> id, members beside those whose own group it is
GROUPS = {"physics": (61001, ()), "lattice": (61002, ("lena",))}
#: the users of the directory: user -> id; all are of the group physics
USERS = {"lena": 61001, "otto": 61003}

SUFFIX = "dc=example,dc=org"
_SLAPD = """\
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile {place}/slapd.pid
database mdb
suffix "{suffix}"
directory {place}/data
"""
_NSLCD = "uid root\ngid root\nuri {uri}\nbase {suffix}\n"
_NAME_SERVICE = "passwd: files ldap\ngroup: files ldap\nhosts: files dns\n"


class DirectoryServer:
    """The server, with its files in `place`, and the homes of its users. `uri`: at which the hosts reach it."""

    def __init__(self, place: Path) -> None:
        debian.need("slapd", "nslcd")
        self._place, self._run = place, place / "nslcd"
        (place / "data").mkdir()
        self._run.mkdir(mode=0o755)
        # the end of this machine of the network of the hosts
        self.uri = f"ldap://10.88.0.254:{cell_ports(1)[0]}"
        self.homes = {user: Path("/home") / f"ge-test-{user}" for user in USERS}
        uri = f"ldapi://{str(place / 'ldapi').replace('/', '%2f')}"
        texts = {"slapd.conf": _SLAPD, "nslcd.conf": _NSLCD, "nsswitch.conf": _NAME_SERVICE, "content.ldif": self._content()}
        for name, text in texts.items():
            (place / name).write_text(text.replace("{place}", str(place)).replace("{uri}", uri).replace("{suffix}", SUFFIX))
        server, settings = debian.find("slapd"), ["-f", str(place / "slapd.conf")]
        done = run([str(server), "-T", "add", *settings, "-l", str(place / "content.ldif")])
        assert done.returncode == 0, done.stderr
        for user, home in self.homes.items():
            home.mkdir(mode=0o700, exist_ok=True)
            os.chown(home, USERS[user], GROUPS["physics"][0])
        self._server = subprocess.Popen([str(server), *settings, "-h", f"{uri} {self.uri}", "-d", "0"], stderr=subprocess.DEVNULL)
        eventually("slapd listens", (place / "ldapi").exists)
        self.begin()

    def _content(self) -> str:
        lines = [f"dn: {SUFFIX}\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: example\n"]
        for name, (gid, members) in GROUPS.items():
            listed = "".join(f"memberUid: {member}\n" for member in members)
            lines.append(f"dn: cn={name},{SUFFIX}\nobjectClass: posixGroup\ncn: {name}\ngidNumber: {gid}\n{listed}")
        for name, uid in USERS.items():
            lines.append(
                f"dn: uid={name},{SUFFIX}\nobjectClass: account\nobjectClass: posixAccount\nuid: {name}\ncn: {name}\n"
                f"uidNumber: {uid}\ngidNumber: {GROUPS['physics'][0]}\nhomeDirectory: {self.homes[name]}\nloginShell: /bin/bash\n"
            )
        return "\n".join(lines)

    def begin(self) -> None:
        """Start nslcd, which answers the lookups of the hosts; its files have fixed places, so it gets mounts of its own."""
        mounts = f"mkdir -p /run/nslcd && mount --bind {self._run} /run/nslcd"
        mounts += f" && mount --bind {self._place}/nslcd.conf /etc/nslcd.conf"
        self._nslcd = subprocess.Popen(["unshare", "--mount", "sh", "-c", f"{mounts} && exec {debian.find('nslcd')} -n"])
        eventually("nslcd listens", (self._run / "socket").exists)

    def end(self) -> None:
        """Stop nslcd: lookups fail at once."""
        self._nslcd.terminate()
        self._nslcd.wait()
        (self._run / "socket").unlink(missing_ok=True)

    def hang(self) -> None:
        """Let lookups hang."""
        self._nslcd.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._nslcd.send_signal(signal.SIGCONT)

    def serve(self, cell: TestbedCell, host: str) -> None:
        """Let a host look users up here, until it is switched off."""
        mounts = f"mkdir -p /run/nslcd && mount --bind {self._run} /run/nslcd"
        done = cell.on(host, "sh", "-c", f"{mounts} && mount --bind {self._place}/nsswitch.conf /etc/nsswitch.conf")
        assert done.returncode == 0, done.stderr

    def leave(self, cell: TestbedCell, host: str) -> None:
        cell.on(host, "umount", "/etc/nsswitch.conf", "/run/nslcd")

    def remove(self) -> None:
        self.go_on()
        for process in (self._nslcd, self._server):
            process.terminate()
            process.wait()
        for home in self.homes.values():
            shutil.rmtree(home)
