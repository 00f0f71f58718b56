"""Which files do the brokers of a topology get, and where are they written? For reading and for taking elsewhere."""

from pathlib import Path

from topologies.model import Topology
from topologies.render.files import render
from topologies.render.site import Site


def broker_files(topology: Topology, base_port: int) -> dict[str, str]:
    """Every file by ``broker/file``. Ports are given out one by one from ``base_port``, a broker after the other."""
    wanted = [(broker.name, protocol) for broker in topology.brokers for protocol in broker.protocols]
    if base_port + len(wanted) - 1 > 65535:
        raise ValueError(
            f"base port {base_port}: {len(wanted)} ports are needed, which passes 65535: choose a lower one"
        )
    site = Site(ports={key: base_port + n for n, key in enumerate(wanted)})
    return {
        f"{broker.name}/{name}": text
        for broker in topology.brokers
        for name, text in render(topology, broker, site).items()
    }


def write_files(files: dict[str, str], out: Path) -> list[Path]:
    """Write each file below ``out`` and say where. Files of the same name are replaced, others left alone."""
    written = []
    for name, text in files.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written
