"""Hosts of the test bed with a root file system of their own, so that an installation there changes nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.integration.cells import TESTBED, Done, run
from tests.integration.packages.builds import BUILD_S, must

_HOSTS = str(TESTBED / "hosts")
_DISK = "/mnt"
_ROOT = f"{_DISK}/root"
_ENVIRONMENT = "PATH=/opt/gridengine/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8".split()


class RootedHost:
    """A host of the test bed that sees the file system `lower`, and keeps its changes in memory: by default that of this machine,
    without /opt. `spool`: its /var/spool, which this machine sees."""

    def __init__(self, name: str, lower: Path = Path("/")) -> None:
        self._name = name
        self.spool = Path(f"/var/lib/testbed/{name}/spool")
        must([_HOSTS, "up", name])
        hidden = f"mount -t tmpfs tmpfs {_ROOT}/opt" if lower == Path("/") else ":"
        made = f"""
            mount -t tmpfs tmpfs {_DISK} && mkdir {_DISK}/upper {_DISK}/work {_ROOT}
            mount -t overlay overlay -o lowerdir={lower},upperdir={_DISK}/upper,workdir={_DISK}/work {_ROOT}
            {hidden}
            for place in proc dev run tmp var/spool var/log; do mount --rbind /$place {_ROOT}/$place; done
            mount -t sysfs sysfs {_ROOT}/sys  # with the network devices of the host: MPI looks them up there
            mount --rbind /sys/fs/cgroup {_ROOT}/sys/fs/cgroup
            mount --bind /etc/hosts {_ROOT}/etc/hosts
        """
        must([_HOSTS, "on", name, "bash", "-ec", made])

    def on(self, *command: str, **options: object) -> Done:
        """Run a command as root."""
        entered = [_HOSTS, "on", self._name, "chroot", _ROOT, "env", "-i", "HOME=/root", *_ENVIRONMENT]
        return run([*entered, *command], **{"timeout": BUILD_S, **options})

    def must(self, *command: str, **options: object) -> str:
        """Run a command as root that must succeed, and return its stdout."""
        done = self.on(*command, **options)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def remove(self) -> None:
        run([_HOSTS, "kill", self._name])
        shutil.rmtree(self.spool.parent, ignore_errors=True)
