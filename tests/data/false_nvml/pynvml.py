"""A false `pynvml` for tests: the GPUs of the JSON file $FALSE_NVML, which is read at each count.

A GPU: {"uuid", "name", "memory", "used", "minor", "bus", "links": [index ...], "util": percent, "energy": millijoules,
"ecc": errors, "rows": [corrected, uncorrected, pending, failed], "xids": [number ...], "processes": {pid: bytes}, "lost": true,
"slices": [{"uuid", "name", "memory", "used", "gi", "ci", "processes"} ...]}. A value that a GPU lacks is not supported.
{"error": NUMBER} in place of the list: no driver.
"""

import json
import os
from types import SimpleNamespace

NVML_ERROR_NOT_SUPPORTED = 3
NVML_ERROR_NO_PERMISSION = 4
NVML_ERROR_NOT_FOUND = 6
NVML_ERROR_DRIVER_NOT_LOADED = 9
NVML_ERROR_TIMEOUT = 10
NVML_ERROR_LIBRARY_NOT_FOUND = 12
NVML_ERROR_GPU_IS_LOST = 15
NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 1
NVML_VOLATILE_ECC = 0
NVML_P2P_CAPS_INDEX_NVLINK = 2
NVML_P2P_STATUS_OK = 0
nvmlEventTypeXidCriticalError = 8

_TEXTS = {9: "Driver Not Loaded", 12: "NVML Shared Library Not Found", 15: "GPU is lost", 18: "Driver/library version mismatch"}
_gpus = []
_taken = 0


class NVMLError(Exception):
    def __init__(self, value):
        super().__init__(_TEXTS.get(value, "Not Supported"))
        self.value = value


def _read():
    with open(os.environ["FALSE_NVML"]) as file:
        content = json.load(file)
    if isinstance(content, dict):
        raise NVMLError(content["error"])
    return content


def _of(handle, name):
    gpu = _gpus[handle] if isinstance(handle, int) else handle
    if name not in gpu:
        raise NVMLError(NVML_ERROR_NOT_SUPPORTED)
    return gpu[name]


def nvmlInit():
    _read()


def nvmlShutdown():
    pass


def nvmlDeviceGetCount():
    global _gpus
    _gpus = _read()
    return len(_gpus)


def nvmlDeviceGetHandleByIndex(index):
    if _gpus[index].get("lost"):
        raise NVMLError(NVML_ERROR_GPU_IS_LOST)
    return index


def nvmlDeviceGetUUID(handle):
    return _of(handle, "uuid")


def nvmlDeviceGetName(handle):
    return _of(handle, "name")


def nvmlDeviceGetMinorNumber(handle):
    return _of(handle, "minor")


def nvmlDeviceGetMemoryInfo(handle):
    return SimpleNamespace(total=_of(handle, "memory"), used=_of(handle, "used"))


def nvmlDeviceGetPciInfo(handle):
    return SimpleNamespace(busId=_of(handle, "bus"))


def nvmlDeviceGetMigMode(handle):
    enabled = int(bool(_of(handle, "slices")))
    return [enabled, enabled]


def nvmlDeviceGetMaxMigDeviceCount(handle):
    return 7


def nvmlDeviceGetMigDeviceHandleByIndex(handle, index):
    slices = _of(handle, "slices")
    if index >= len(slices):
        raise NVMLError(NVML_ERROR_NOT_FOUND)
    return slices[index]


def nvmlDeviceGetGpuInstanceId(handle):
    return _of(handle, "gi")


def nvmlDeviceGetComputeInstanceId(handle):
    return _of(handle, "ci")


def nvmlDeviceGetP2PStatus(one, other, index):
    return NVML_P2P_STATUS_OK if other in _of(one, "links") else 1


def nvmlDeviceGetTotalEccErrors(handle, kind, counter):
    return _of(handle, "ecc")


def nvmlDeviceGetRemappedRows(handle):
    return tuple(_of(handle, "rows"))


def nvmlDeviceGetUtilizationRates(handle):
    return SimpleNamespace(gpu=_of(handle, "util"), memory=0)


def nvmlDeviceGetTotalEnergyConsumption(handle):
    return _of(handle, "energy")


def nvmlDeviceGetComputeRunningProcesses(handle):
    return [SimpleNamespace(pid=int(pid), usedGpuMemory=size) for pid, size in _of(handle, "processes").items()]


def nvmlDeviceGetGraphicsRunningProcesses(handle):
    return []


def nvmlEventSetCreate():
    return "events"


def nvmlDeviceRegisterEvents(handle, types, events):
    assert types == nvmlEventTypeXidCriticalError


def nvmlEventSetWait_v2(events, timeout):
    global _taken
    pending = [(index, xid) for index, gpu in enumerate(_read()) for xid in gpu.get("xids", [])]
    if _taken >= len(pending):
        raise NVMLError(NVML_ERROR_TIMEOUT)
    index, xid = pending[_taken]
    _taken += 1
    return SimpleNamespace(device=index, eventType=nvmlEventTypeXidCriticalError, eventData=xid)
