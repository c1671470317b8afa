"""Names of machine architectures: the load value `arch`, and the directories of libraries.

Called by `daemons.execd.site` and `clients.admin`. As a program, for `make`, it prints the architecture of this machine.
Source: sge_complex(5) arch; the names are those of `util/arch` of 8.1.9.
"""

ARCHITECTURES = {"x86_64": "lx-amd64", "aarch64": "lx-arm64", "i686": "lx-x86", "ppc64le": "lx-ppc64le"}


def architecture(machine: str) -> str:
    """The name of a machine's architecture. `machine`: of uname(2)."""
    return ARCHITECTURES.get(machine, f"lx-{machine}")


if __name__ == "__main__":
    import os

    print(architecture(os.uname().machine))
