"""The words that generated problems are made of."""

from typing import Any

GPU, NIC = "gpu.example.com", "nic.example.com"
ROOT = "resource.kubernetes.io/pcieRoot"
CLASSES: list[dict[str, Any]] = [
    {"metadata": {"name": "any"}, "spec": {}},
    {
        "metadata": {"name": "gpu"},
        "spec": {
            "selectors": [{"cel": {"expression": f'device.driver == "{GPU}"'}}],
            "config": [{"opaque": {"driver": GPU, "parameters": {"mode": "fast"}}}],
        },
    },
    {"metadata": {"name": "nic"}, "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{NIC}"'}}]}},
]
ERRING = [
    f'device.attributes["{GPU}"].numa == 0',
    f'device.attributes["{NIC}"].model == "a"',
    f'device.attributes["{GPU}"].odd == 1',
]
"""Errors on devices that do not publish what they read."""
SELECTORS = [
    f'device.attributes["{GPU}"].?numa.orValue(0) == 1',
    f'device.attributes["{GPU}"].?numa.orValue(1) == 1',
    f'device.attributes["{GPU}"].?model.orValue("a") == "a"',
    f'device.attributes["{ROOT.partition("/")[0]}"].?pcieRoot.orValue("r0") == "r0"',
    "device.allowMultipleAllocations",
    "!device.allowMultipleAllocations",
    "true",
    "true",
]
TOLERATIONS: list[list[dict[str, Any]]] = [
    [{"operator": "Exists"}],
    [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}],
    [{"key": "k", "operator": "Exists", "effect": "NoExecute"}],
    [{"key": "k", "value": "v"}, {"key": "x"}],
]
TAINTS: list[dict[str, Any]] = [
    {"key": "k", "value": "v", "effect": "NoSchedule"},
    {"key": "k", "value": "w", "effect": "NoExecute"},
    {"key": "x", "effect": "None"},
]
POLICIES: list[dict[str, Any]] = [
    {"default": "2"},
    {"default": "0"},
    {"default": "2", "validValues": ["1", "2", "4"]},
    {"default": "1", "validValues": ["1", "2"]},
    {"default": "1", "validRange": {"min": "1", "max": "3", "step": "1"}},
    {"default": "1", "validRange": {"min": "1", "max": "2"}},
    {"default": "500m", "validRange": {"min": "500m", "step": "500m"}},
]
