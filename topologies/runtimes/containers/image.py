"""Finds the brokers' image, pulls it, and builds one if none can be pulled.

The default is upstream's image. Without a registry, an image that was built here replaces it automatically.
``python -m topologies.runtimes.containers.image --base IMAGE --of classic`` (or artemis) builds one from a folder in
docker-compose/images.
"""

import argparse
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import docker
from docker.errors import BuildError, ImageNotFound
from testcontainers.core.config import testcontainers_config

from records.errors import UserError
from records.temporary import temporary_folder
from topologies.model.launch import ProductImage
from topologies.model.topology import BrokerProduct
from topologies.products import DEFAULT, PRODUCTS
from topologies.runtimes.containers.engine import (
    FAILURES,
    Engine,
    EngineTrouble,
    client_of,
    explain_failure,
    find,
    reason,
    step_for,
)

RECIPES = Path(__file__).resolve().parents[3] / "docker-compose" / "images"
PULL_TIMEOUT_S = 900
REGISTRY_TIMEOUT_S = 15

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Image:
    """An image on the engine. ``home``: the path of the brokers' distribution in it."""

    name: str
    id: str
    home: PurePosixPath


def image_of(product: BrokerProduct) -> ProductImage:
    """Return the product's images. Raises UserError if it has none."""
    if product.launch.image is None:
        raise UserError(f"{product.name} brokers have no container image; use --runtime processes")
    return product.launch.image


def wanted(product: BrokerProduct, name: str | None, is_here: Callable[[str], bool]) -> str:
    """Return the requested image; otherwise upstream's, or the one built here if only that is on the engine.

    Pure except for calls of ``is_here``.
    """
    if name:
        return name
    image = image_of(product)
    ours, upstream = image.built, image.upstream
    return ours if not is_here(upstream) and is_here(ours) else upstream


def look(engine: Engine, product: BrokerProduct, wanted_name: str | None) -> tuple[str, str]:
    """Return the image's name, and why it is not available; '' if it is on the engine or in a registry."""
    with client_of(engine.host, REGISTRY_TIMEOUT_S) as client:
        name = wanted(product, wanted_name, lambda image: is_here(client, image))
        if is_here(client, name):
            return name, ""
        try:
            client.images.get_registry_data(_with_prefix(name))
        except FAILURES as error:
            return name, reason(error)
    return name, ""


def obtain(engine: Engine, product: BrokerProduct, wanted_name: str | None, progress: Progress) -> Image:
    """Return the image, pulled first if the engine does not have it. Raises EngineTrouble."""
    with client_of(engine.host, PULL_TIMEOUT_S) as client:
        try:
            name = wanted(product, wanted_name, lambda image: is_here(client, image))
            if not is_here(client, name):
                progress(f"pulling image {name} (once; later runs find it on the engine)")
                client.images.pull(_with_prefix(name))
            docker_image = client.images.get(_with_prefix(name))
        except FAILURES as error:
            raise EngineTrouble(explain_missing_image(product, name, reason(error))) from error
    variables = dict(entry.partition("=")[::2] for entry in docker_image.attrs["Config"].get("Env") or ())
    image = image_of(product)
    return Image(name, str(docker_image.id), PurePosixPath(variables.get(image.home_variable) or image.home))


def explain_missing_image(product: BrokerProduct, name: str, why: str) -> str:
    """Return a sentence about an image that is not on the engine and cannot be pulled. Pure."""
    if step := step_for(why):
        return f"image {name} is not on the Docker engine and cannot be pulled: {why}; {step}"
    return (
        f"image {name} is not on the Docker engine and cannot be pulled ({why}); load it (docker load), name an "
        "existing image by --image, build one (python -m topologies.runtimes.containers.image --base IMAGE --of "
        f"{product.name}), or use --runtime processes"
    )


def is_here(client: docker.DockerClient, name: str) -> bool:
    try:
        client.images.get(_with_prefix(name))
    except ImageNotFound:
        return False
    return True


def enable_reaper_if_available(engine: Engine, progress: Progress) -> None:
    """Use Testcontainers' clean-up container (Ryuk) if its image is available; otherwise only our guard cleans up."""
    if testcontainers_config.ryuk_disabled:
        return
    name = testcontainers_config.ryuk_image
    try:
        with client_of(engine.host) as client:
            if not is_here(client, name):
                client.images.pull(_with_prefix(name))
    except FAILURES as error:
        testcontainers_config.ryuk_disabled = True
        progress(f"Testcontainers' Ryuk image is not available ({reason(error)}): only brokerbench's guard cleans up")


def _with_prefix(name: str) -> str:
    """Return the image name as used by Testcontainers if TESTCONTAINERS_HUB_IMAGE_NAME_PREFIX is set."""
    return testcontainers_config.hub_image_name_prefix + name


def build(engine: Engine, base: str, product: BrokerProduct, tag: str) -> str:
    """Build a product's image from ``base``, which needs Java 17 or newer; return its id.

    Only the distribution needs the network, and the cache keeps it. Raises EngineTrouble or
    UserError.
    """
    image_parts = image_of(product)
    archive, sha512 = image_parts.archive()
    with temporary_folder("brokerbench-image-") as folder, client_of(engine.host, PULL_TIMEOUT_S) as client:
        context = folder / "context"
        context.mkdir()
        shutil.copy(RECIPES / image_parts.recipe / "Dockerfile", context)
        shutil.copy(archive, context)
        arguments = {"BASE": base, "ARCHIVE": archive.name, "SHA512": sha512}
        try:
            image, _ = client.images.build(path=str(context), tag=tag, rm=True, forcerm=True, buildargs=arguments)
        except BuildError as error:
            raise EngineTrouble(f"image {tag} cannot be built from {base}: {error.msg}") from error
        except FAILURES as error:
            raise EngineTrouble(
                f"image {tag} cannot be built from {base}: {explain_failure(error, engine.host)}"
            ) from error
    return str(image.id)


def main(arguments: Sequence[str]) -> int:
    of_products = [name for name, product in PRODUCTS.items() if product.launch.image]
    parser = argparse.ArgumentParser(description="Build the broker image if upstream's cannot be pulled.")
    parser.add_argument("--base", required=True, help="image with Java 17 or newer on its PATH")
    parser.add_argument("--of", choices=of_products, default=DEFAULT.name, help="broker product of the image")
    parser.add_argument("--tag", help="name of the image; by default the name that runs look for")
    options = parser.parse_args(arguments)
    product = PRODUCTS[options.of]
    tag = options.tag or image_of(product).built
    try:
        print(f"{tag}: {build(find(), options.base, product, tag)}")
    except (EngineTrouble, UserError) as error:
        print(f"container_image: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
