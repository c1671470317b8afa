"""NVIDIA's GPUs by NVML, through the library nvidia-ml-py (module `pynvml`), which needs the driver's libnvidia-ml.so.1.

Source: NVIDIA, "NVML API Reference Guide"; device files of slices: "MIG User Guide", device nodes and capabilities.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from daemons.execd.devices.nvidia import capability_files, ecc_fault, mig_model, slice_profile, xid_fault
from daemons.execd.devices.pci import near, pci_directory, short_model
from daemons.execd.devices.reader_errors import DeviceReadError, InterfaceMissingError
from gridengine.protocols.devices import UNKNOWN, Device, DeviceUsage

_Handle = Any  # the library has no types
_MISSING = ("NVML_ERROR_LIBRARY_NOT_FOUND", "NVML_ERROR_DRIVER_NOT_LOADED", "NVML_ERROR_NO_PERMISSION")
_PROCESSES = ("nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses")


class Nvml:
    """The open library. Critical errors (XID) are noticed while it is open, so a process that watches keeps it open."""

    def __init__(self, root: Path = Path("/")) -> None:
        """Raises InterfaceMissingError, DeviceReadError."""
        try:
            import pynvml
        except ImportError:
            raise InterfaceMissingError("this Python has no library nvidia-ml-py") from None
        self._nvml: Any = pynvml
        self._root = root
        self._xids: dict[str, list[int]] = {}
        self._energy: dict[str, float] = {}
        try:
            self._nvml.nvmlInit()
        except self._nvml.NVMLError as error:
            if getattr(error, "value", None) in [getattr(self._nvml, name, None) for name in _MISSING]:
                raise InterfaceMissingError(f"NVML: {error}") from None
            raise DeviceReadError(f"NVML cannot be used: {error}") from None
        self._events = self._event_set()

    def close(self) -> None:
        with suppress(self._nvml.NVMLError):
            self._nvml.nvmlShutdown()

    def _ask(self, function: str, *arguments: Any) -> Any:
        """The value of a function of the library; None where this GPU or driver does not have it."""
        try:
            return getattr(self._nvml, function)(*arguments)
        except (self._nvml.NVMLError, AttributeError):
            return None

    def _identifier(self, handle: _Handle) -> str:
        return _text(self._ask("nvmlDeviceGetUUID", handle))

    def _is_divided(self, handle: _Handle) -> bool:
        mode = self._ask("nvmlDeviceGetMigMode", handle)
        return mode is not None and mode[0] == 1

    # -- devices

    def devices(self) -> list[Device]:
        """Raises DeviceReadError."""
        self._collect_events()
        found: list[Device] = []
        handles = dict(self._handles())
        for index, handle in handles.items():
            if isinstance(handle, str):  # a GPU that has fallen off the bus has no identifier any more
                found.append(Device("nvidia", index, "", fault=handle))
                continue
            gpu = self._gpu(index, handle)
            found.append(gpu)
            found += self._slices(gpu, handle)
        return self._with_links(found, handles)

    def _handles(self) -> Iterator[tuple[int, _Handle]]:
        """Index and handle of each GPU; a sentence in place of the handle of a GPU that is lost. Raises DeviceReadError."""
        try:
            count = self._nvml.nvmlDeviceGetCount()
        except self._nvml.NVMLError as error:
            raise DeviceReadError(f"NVML does not count the GPUs: {error}") from None
        for index in range(count):
            try:
                yield index, self._nvml.nvmlDeviceGetHandleByIndex(index)
            except self._nvml.NVMLError as error:
                yield index, f"the driver cannot open it: {error}"

    def _gpu(self, index: int, handle: _Handle) -> Device:
        identifier, faults, memory = self._identifier(handle), [], 0
        try:
            memory = int(self._nvml.nvmlDeviceGetMemoryInfo(handle).total)
        except self._nvml.NVMLError as error:
            if getattr(error, "value", None) != getattr(self._nvml, "NVML_ERROR_NOT_SUPPORTED", 3):
                faults.append(f"the driver cannot read it: {error}")
        minor = self._ask("nvmlDeviceGetMinorNumber", handle)
        place = self._ask("nvmlDeviceGetPciInfo", handle)
        node, cores = near(pci_directory(self._root, _text(place.busId))) if place else (UNKNOWN, "")
        ecc = self._ecc_errors(handle)
        _, _, pending, failed = self._ask("nvmlDeviceGetRemappedRows", handle) or (0, 0, 0, 0)
        self._forget_xids_of_reset(identifier, handle)
        xids = self._xids.get(identifier, [])
        faults += [ecc_fault(ecc, pending=bool(pending), failed=bool(failed)), xid_fault(xids)]
        return Device(
            "nvidia",
            index,
            identifier,
            model=short_model(_text(self._ask("nvmlDeviceGetName", handle))),
            memory=memory,
            device_files=(f"/dev/nvidia{index if minor is None else minor}",),
            numa_node=node,
            cores=cores,
            divided=self._is_divided(handle),
            fault="; ".join(filter(None, faults)),
            ecc_errors=ecc,
            xid_errors=UNKNOWN if self._events is None else len(xids),
        )

    def _slices(self, gpu: Device, handle: _Handle) -> list[Device]:
        found = []
        for number, mig in self._slice_handles(handle):
            memory = self._ask("nvmlDeviceGetMemoryInfo", mig)
            functions = ("nvmlDeviceGetGpuInstanceId", "nvmlDeviceGetComputeInstanceId")
            gpu_instance, compute_instance = (self._ask(function, mig) for function in functions)
            found.append(
                Device(
                    "nvidia",
                    number,
                    self._identifier(mig),
                    model=mig_model(gpu.model, slice_profile(_text(self._ask("nvmlDeviceGetName", mig)))),
                    memory=int(memory.total) if memory else 0,
                    device_files=gpu.device_files + capability_files(self._root, gpu, gpu_instance, compute_instance),
                    numa_node=gpu.numa_node,
                    cores=gpu.cores,
                    parent=gpu.identifier,
                    parent_index=gpu.index,
                    fault=gpu.fault,
                )
            )
        return found

    def _slice_handles(self, handle: _Handle) -> Iterator[tuple[int, _Handle]]:
        if self._is_divided(handle):
            for number in range(self._ask("nvmlDeviceGetMaxMigDeviceCount", handle) or 0):
                mig = self._ask("nvmlDeviceGetMigDeviceHandleByIndex", handle, number)
                if mig is not None:
                    yield number, mig

    def _with_links(self, devices: list[Device], handles: dict[int, _Handle]) -> list[Device]:
        """Devices with the identifiers of GPUs that NVLink connects to them, directly or by a switch."""
        nvlink, connected = (getattr(self._nvml, f"NVML_P2P_{name}", None) for name in ("CAPS_INDEX_NVLINK", "STATUS_OK"))
        gpus = {each.index: each.identifier for each in devices if each.identifier and not each.parent}

        def links(one: int) -> tuple[str, ...]:
            others = [index for index in gpus if index != one]
            return tuple(
                gpus[other]
                for other in others
                if self._ask("nvmlDeviceGetP2PStatus", handles[one], handles[other], nvlink) == connected is not None
            )

        return [replace(each, links=links(each.index)) if gpus.get(each.index) == each.identifier else each for each in devices]

    # -- health

    def _ecc_errors(self, handle: _Handle) -> int:
        names = ("NVML_MEMORY_ERROR_TYPE_UNCORRECTED", "NVML_VOLATILE_ECC")
        count = self._ask("nvmlDeviceGetTotalEccErrors", handle, *(getattr(self._nvml, name, None) for name in names))
        return UNKNOWN if count is None else int(count)

    def _event_set(self) -> Any:
        """The set of events in which critical errors are noted; None where neither a GPU nor the driver has events."""
        nvml = self._nvml
        try:
            events = nvml.nvmlEventSetCreate()
            for _, handle in self._handles():
                if not isinstance(handle, str):
                    nvml.nvmlDeviceRegisterEvents(handle, nvml.nvmlEventTypeXidCriticalError, events)
        except (nvml.NVMLError, AttributeError, DeviceReadError):
            return None
        return events

    def _collect_events(self) -> None:
        """Note the critical errors since the last call."""
        while self._events is not None and (event := self._ask("nvmlEventSetWait_v2", self._events, 0)) is not None:
            self._xids.setdefault(self._identifier(event.device), []).append(int(event.eventData))

    def _forget_xids_of_reset(self, identifier: str, handle: _Handle) -> None:
        """A reset of the GPU ends the fault of its errors. The counter of energy shows a reset: it starts anew."""
        energy = self._energy_of(handle)
        if energy < self._energy.get(identifier, UNKNOWN):
            self._xids.pop(identifier, None)
        self._energy[identifier] = energy

    # -- use

    def usage(self) -> list[DeviceUsage]:
        """Raises DeviceReadError. Utilisation and energy of a slice are unknown."""
        found = []
        for handle in dict(self._handles()).values():
            if isinstance(handle, str):
                continue
            rates = self._ask("nvmlDeviceGetUtilizationRates", handle)
            utilisation = UNKNOWN if rates is None else min(1.0, rates.gpu / 100)
            found.append(self._usage(handle, utilisation, self._energy_of(handle)))
            found += [self._usage(mig) for _, mig in self._slice_handles(handle)]
        return found

    def _usage(self, handle: _Handle, utilisation: float = UNKNOWN, energy: float = UNKNOWN) -> DeviceUsage:
        memory = self._ask("nvmlDeviceGetMemoryInfo", handle)
        processes: dict[int, int] = {}
        for function in _PROCESSES:
            for process in self._ask(function, handle) or ():
                pid = int(process.pid)
                processes[pid] = max(processes.get(pid, 0), int(process.usedGpuMemory or 0))
        return DeviceUsage(self._identifier(handle), utilisation, int(memory.used) if memory else 0, energy, processes)

    def _energy_of(self, handle: _Handle) -> float:
        millijoules = self._ask("nvmlDeviceGetTotalEnergyConsumption", handle)
        return UNKNOWN if millijoules is None else millijoules / 1000


def _text(value: object) -> str:
    """The text of an answer, which older libraries give as bytes; "" for none."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return "" if value is None else str(value)
