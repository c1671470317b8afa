"""NVIDIA's GPUs by the program `nvidia-smi`, where Python has no library for NVML.

The reader runs `nvidia-smi -q -x`, and `nvidia-smi -L` for the identifiers of slices. Neither has
NVLink per pair of GPUs, nor XIDs, nor a counter of energy. Source: nvidia-smi(1).
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

from daemons.execd.devices.nvidia import capability_files, ecc_fault, mig_model, slice_profile
from daemons.execd.devices.pci import near, pci_directory, short_model
from daemons.execd.devices.reader_errors import DeviceReadError, InterfaceMissingError
from gridengine.errors import plain_fault
from gridengine.protocols.devices import UNKNOWN, Device, DeviceUsage

_ASK_S = 30.0
_NO_DEVICES = 6
"""Exit status of the program if the driver has no GPU."""
_Identifiers = dict[tuple[int, int], str]
"""(GPU, slice) -> identifier."""
_UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


class NvidiaSmi:
    """The program in PATH."""

    def __init__(self, root: Path = Path("/")) -> None:
        """Raises InterfaceMissingError."""
        program = shutil.which("nvidia-smi")
        if program is None:
            raise InterfaceMissingError("nvidia-smi is not in PATH")
        self._program, self._root = program, root
        self._last: tuple[ElementTree.Element, _Identifiers] | None = None

    def close(self) -> None:
        """There is nothing to close."""

    def devices(self) -> list[Device]:
        """Raises DeviceReadError."""
        found: list[Device] = []
        log, slices = self._last = self._report()
        for index, gpu in enumerate(log.iterfind("gpu")):
            found.append(_gpu(self._root, index, gpu))
            found += _slices(self._root, found[-1], gpu, slices)
        return found

    def usage(self) -> list[DeviceUsage]:
        """Of the report that `devices` has read, else of a new one: the program takes a second. Raises DeviceReadError."""
        found = []
        (log, slices), self._last = self._last or self._report(), None
        for index, gpu in enumerate(log.iterfind("gpu")):
            percent = re.match(r"\d+", gpu.findtext("utilization/gpu_util") or "")
            found.append(
                DeviceUsage(
                    gpu.findtext("uuid") or "",
                    utilisation=min(1.0, int(percent[0]) / 100) if percent else UNKNOWN,
                    memory=_bytes(gpu.findtext("fb_memory_usage/used")),
                    processes=_processes(gpu),
                )
            )
            for mig in gpu.iterfind("mig_devices/mig_device"):
                own = slices.get((index, _number(mig.findtext("index"))), "")
                found.append(DeviceUsage(own, memory=_bytes(mig.findtext("fb_memory_usage/used")), processes=_of_slice(gpu, mig)))
        return found

    def _report(self) -> tuple[ElementTree.Element, _Identifiers]:
        log = self._log()
        return log, self._slice_identifiers() if log.find("gpu/mig_devices/mig_device") is not None else {}

    def _log(self) -> ElementTree.Element:
        text = self._run("-q", "-x")
        try:
            return ElementTree.fromstring(text or b"<nvidia_smi_log/>")
        except ElementTree.ParseError as error:
            raise DeviceReadError(f"nvidia-smi -q -x printed no XML: {error}") from None

    def _slice_identifiers(self) -> _Identifiers:
        """Of the lines `GPU 0: NAME (UUID: …)` and `  MIG 1g.5gb Device 0: (UUID: …)`."""
        found: _Identifiers = {}
        gpu = UNKNOWN
        for line in self._run("-L").decode(errors="replace").splitlines():
            if match := re.match(r"GPU (\d+):", line):
                gpu = int(match[1])
            elif match := re.match(r"\s+MIG .*Device\s+(\d+): \(UUID: ([^)]+)\)", line):
                found[gpu, int(match[1])] = match[2]
        return found

    def _run(self, *options: str) -> bytes:
        """The output of the program, empty without GPUs. Raises DeviceReadError."""
        try:
            done = subprocess.run([self._program, *options], capture_output=True, timeout=_ASK_S, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            raise DeviceReadError(f"nvidia-smi did not answer within {_ASK_S:.0f} s") from None
        except OSError as error:
            raise DeviceReadError(f"nvidia-smi cannot be run: {plain_fault(error)}") from None
        if done.returncode == _NO_DEVICES:
            return b""
        if done.returncode != 0:
            text = " ".join((done.stdout + done.stderr).decode(errors="replace").split())[:200]
            raise DeviceReadError(f"nvidia-smi ended with status {done.returncode}: {text}")
        return done.stdout


def _gpu(root: Path, index: int, gpu: ElementTree.Element) -> Device:
    node, cores = near(pci_directory(root, gpu.get("id") or ""))
    # Hopper and later have one sum, earlier GPUs one per kind of memory
    volatile = [each for each in gpu.iterfind("ecc_errors/volatile//*") if "uncorrectable" in each.tag and not len(each)]
    counts = [int(text) for each in volatile if (text := each.text or "").isdecimal()]
    errors = sum(counts) if counts else UNKNOWN
    pending, failed = (gpu.findtext(f"remapped_rows/remapped_row_{name}") == "Yes" for name in ("pending", "failure"))
    identifier = gpu.findtext("uuid") or ""
    lost = "" if identifier.startswith("GPU-") else "nvidia-smi shows no identifier of it"
    return Device(
        "nvidia",
        index,
        identifier if not lost else "",
        model=short_model(gpu.findtext("product_name") or ""),
        memory=_bytes(gpu.findtext("fb_memory_usage/total")),
        device_files=(f"/dev/nvidia{_number(gpu.findtext('minor_number'), index)}",),
        numa_node=node,
        cores=cores,
        divided=gpu.findtext("mig_mode/current_mig") == "Enabled",
        fault="; ".join(filter(None, (lost, ecc_fault(errors, pending=pending, failed=failed)))),
        ecc_errors=errors,
    )


def _slices(root: Path, gpu: Device, element: ElementTree.Element, identifiers: _Identifiers) -> list[Device]:
    found = []
    for mig in element.iterfind("mig_devices/mig_device"):
        number = _number(mig.findtext("index"))
        memory = _bytes(mig.findtext("fb_memory_usage/total"))
        instances = _number(mig.findtext("gpu_instance_id")), _number(mig.findtext("compute_instance_id"))
        profile = slice_profile(mig.findtext("product_name") or "") or _profile(mig, memory)
        found.append(
            Device(
                "nvidia",
                number,
                identifiers.get((gpu.index, number), ""),
                model=mig_model(gpu.model, profile),
                memory=memory,
                device_files=gpu.device_files + capability_files(root, gpu, *instances),
                numa_node=gpu.numa_node,
                cores=gpu.cores,
                parent=gpu.identifier,
                parent_index=gpu.index,
                fault=gpu.fault,
            )
        )
    return found


def _profile(mig: ElementTree.Element, memory: int) -> str:
    """`1g.5gb`, of the slices of its GPU instance and its memory; the program rounds the memory down a little."""
    slices = _number(mig.findtext("device_attributes/shared/gpu_instance_slice_count") or "", 0)
    return f"{slices}g.{round(memory / 2**30)}gb" if slices else ""


def _of_slice(gpu: ElementTree.Element, mig: ElementTree.Element) -> dict[int, int]:
    """Processes of a slice: the processes of its GPU with its instances."""
    names = ("gpu_instance_id", "compute_instance_id")
    instances = [mig.findtext(name) for name in names]
    own = [each for each in gpu.iterfind("processes/process_info") if [each.findtext(name) for name in names] == instances]
    return {_number(each.findtext("pid")): _bytes(each.findtext("used_memory")) for each in own}


def _processes(gpu: ElementTree.Element) -> dict[int, int]:
    processes = gpu.iterfind("processes/process_info")
    return {_number(each.findtext("pid")): _bytes(each.findtext("used_memory")) for each in processes}


def _bytes(text: str | None) -> int:
    """Bytes of `81559 MiB`, 0 for `N/A`."""
    match = re.fullmatch(r"(\d+) (B|[KMG]iB)", text or "")
    return int(match[1]) * _UNITS[match[2]] if match else 0


def _number(text: str | None, default: int = UNKNOWN) -> int:
    return int(text) if text and text.isdecimal() else default
