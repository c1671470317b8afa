"""How kinds of machines are called: the load value `arch`, and the directories of libraries.

Called by `daemons.execd.site`, `clients.admin`, and as a program, which prints that of this machine, by `make`.
Source: sge_complex(5) arch; the names are those of `util/arch` of 8.1.9.
"""

ARCHITECTURES = {"x86_64": "lx-amd64", "aarch64": "lx-arm64", "i686": "lx-x86", "ppc64le": "lx-ppc64le"}


def architecture(machine: str) -> str:
    """The name of a kind of machine; `machine`: as uname(2) has it."""
    return ARCHITECTURES.get(machine, f"lx-{machine}")


if __name__ == "__main__":
    import os

    print(architecture(os.uname().machine))
