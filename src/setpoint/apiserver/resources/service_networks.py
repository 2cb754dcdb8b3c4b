"""The networks from which the addresses of services are taken: one, or one for each IP family (dual stack)."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network
from typing import Final

from setpoint.schema.addresses import network_of

ServiceNetwork = IPv4Network | IPv6Network

SERVICE_NETWORKS: Final[tuple[ServiceNetwork, ...]] = (IPv4Network("10.96.0.0/12"),)
"""The default: IPv4 only."""
_FEWEST: Final = 8
"""The number of addresses that kube-apiserver requires of a network of services."""
_EXAMPLE: Final = "10.96.0.0/12, or 10.96.0.0/12,fd00:10:96::/112 for dual stack"


def service_networks(texts: Sequence[str]) -> tuple[ServiceNetwork, ...]:
    """The networks in the values of kube-apiserver's ``--service-cluster-ip-range``. A second network makes a server
    dual-stack. The family of the first is that of services which name no family. Without values, the default.

    Raises:
        ValueError: a value is not a network or is too small, there are more than two, or two of one family.
    """
    if not texts:
        return SERVICE_NETWORKS
    networks: list[ServiceNetwork] = []
    for text in texts:
        network = network_of(text.strip())
        if network is None or network.num_addresses < _FEWEST:
            raise ValueError(f"{text!r} is not a network of at least {_FEWEST} addresses: give {_EXAMPLE}")
        networks.append(network)
    if len(networks) > 2:
        raise ValueError(f"there are {len(networks)} networks: give {_EXAMPLE}")
    if len({network.version for network in networks}) < len(networks):
        raise ValueError(f"both networks are of the family IPv{networks[0].version}: give {_EXAMPLE}")
    return tuple(networks)
