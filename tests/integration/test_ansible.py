"""The Ansible role of `packaging/ansible` makes a cell on bare hosts of the test bed, through ssh, and changes it."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.integration.cells import ROOT, TEST_PREFIX, TESTBED, Done, eventually, hosts_ready, run
from tests.integration.debian import find, need
from tests.integration.test_joining import forget
from tests.needs import skip

#: minutes long: `make sites`
pytestmark = pytest.mark.apart

MASTER, HOSTS, LATER = "am", ("an1", "an2"), "an3"
CELLS = "/opt/local/cells"
PLAYBOOK = Path(sys.prefix) / "ansible" / "bin" / "ansible-playbook"
EXAMPLE = ROOT / "packaging" / "ansible" / "example"
VARIABLES = f"""
    gridengine_prefix: {TEST_PREFIX}
    gridengine_root: {CELLS}
    gridengine_init_options: [--no-arco, --load-thresholds, NONE, --slots, "2"]
    ansible_become: false
    ansible_user: root
"""


class Site:
    """Bare hosts with sshd, and an inventory; `place` has its keys and the files of the configuration."""

    def __init__(self, place: Path) -> None:
        self.place = place
        (place / "configuration" / "queues").mkdir(parents=True)
        for name in ("host", "user"):
            done = run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(place / name)])
            assert done.returncode == 0, done.stderr
        self._sshd_config = place / "sshd_config"
        self._sshd_config.write_text(
            f"HostKey {place}/host\nAuthorizedKeysFile {place}/user.pub\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n"
            "PasswordAuthentication no\nPidFile none\n"
        )

    def up(self) -> None:
        done = run([str(TESTBED / "hosts"), "up", MASTER, *HOSTS, LATER])
        assert done.returncode == 0, done.stderr
        for host in (MASTER, *HOSTS, LATER):
            self.must(host, "mkdir -p -m 755 /run/sshd", f"{find('sshd')} -f {self._sshd_config}")
        self.set_inventory(HOSTS)

    def set_inventory(self, hosts: tuple[str, ...], shadow: str = "") -> None:
        """Write the inventory."""
        groups = {"master": (MASTER,), "exec": hosts, "shadow": (shadow,) if shadow else ()}
        lines = ["all:", "  vars:", VARIABLES, f"    gridengine_configuration: {self.place}/configuration", "  children:"]
        for group, names in groups.items():
            lines += [f"    gridengine_{group}:", "      hosts:" if names else "      hosts: {}"]
            lines += [f"        {name}:" for name in names]
        (self.place / "inventory.yml").write_text("\n".join(lines) + "\n")

    def play(self, *options: str) -> dict[str, int]:
        """Play the example on the master host; return the number of changes by host. Every host must succeed."""
        ssh = f"-i {self.place}/user -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o ControlMaster=no"
        environment = {
            **os.environ,
            "ANSIBLE_CONFIG": str(EXAMPLE / "ansible.cfg"),
            "ANSIBLE_HOME": str(self.place / "ansible"),
            "ANSIBLE_REMOTE_TEMP": "/tmp/ansible",
            "ANSIBLE_SSH_ARGS": ssh,
            "ANSIBLE_PYTHON_INTERPRETER": "/usr/bin/python3",
        }
        at_master = [str(TESTBED / "hosts"), "on", MASTER]
        command = [*at_master, str(PLAYBOOK), "-i", str(self.place / "inventory.yml"), *options, str(EXAMPLE / "site.yml")]
        done = run(command, env=environment, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "ge1_" not in done.stdout + done.stderr, "a token was shown"
        return {name: int(changed) for name, changed in re.findall(r"^(\w+) .*changed=(\d+)", done.stdout, re.MULTILINE)}

    def on(self, host: str, line: str) -> Done:
        return run([str(TESTBED / "hosts"), "on", host, "bash", "-c", line])

    def must(self, host: str, *lines: str) -> str:
        """The output of these lines on a host; they must succeed."""
        done = self.on(host, " && ".join(lines))
        assert done.returncode == 0, (lines, done.stdout, done.stderr)
        return str(done.stdout)

    def ask(self, line: str) -> str:
        """The output of a command of the cell on its master host."""
        return self.must(MASTER, f". {CELLS}/default/common/settings.sh", line)

    def down(self) -> None:
        names = (MASTER, *HOSTS, LATER)
        run([str(TESTBED / "hosts"), "kill", *names])
        forget(*names)
        for name in names:
            shutil.rmtree(f"/var/lib/testbed/{name}", ignore_errors=True)


@pytest.fixture
def site(installed: None) -> Iterator[Site]:
    need("sshd")
    if not PLAYBOOK.exists():
        skip("Ansible", "run `make sites`, which installs it in an environment of its own")
    with TemporaryDirectory(dir="/var/tmp") as place:  # all hosts of the test bed see it
        site = Site(Path(place))
        try:
            site.up()
            yield site
        finally:
            site.down()


def test_the_role_makes_a_cell_leaves_it_as_it_is_and_changes_what_the_files_change(site: Site) -> None:
    assert site.play()[MASTER] == 2, "the cell is made and started"
    eventually("both hosts take jobs", lambda: hosts_ready(site.ask("qstat -f")) == set(HOSTS))
    assert site.play() == dict.fromkeys((MASTER, *HOSTS), 0)

    queue = site.place / "configuration" / "queues" / "all.q"
    queue.write_text(site.ask("SGE_SINGLE_LINE=1 qconf -sq all.q").replace("priority              0", "priority              7"))
    assert site.play("--check") == {MASTER: 1, **dict.fromkeys(HOSTS, 0)}
    assert re.search(r"^priority +0$", site.ask("qconf -sq all.q"), re.MULTILINE), "a check changes nothing"
    assert site.play() == {MASTER: 1, **dict.fromkeys(HOSTS, 0)}
    assert re.search(r"^priority +7$", site.ask("qconf -sq all.q"), re.MULTILINE)

    site.set_inventory((*HOSTS, LATER), shadow=LATER)
    changes = site.play()
    assert changes[LATER] > 0 and not any(changes[name] for name in (MASTER, *HOSTS)), changes
    eventually("it takes jobs", lambda: hosts_ready(site.ask("qstat -f")) == {*HOSTS, LATER})
    eventually("it can take over", lambda: LATER in site.ask("gridengine shadow show || true"))
    assert site.play() == dict.fromkeys((MASTER, *HOSTS, LATER), 0)
