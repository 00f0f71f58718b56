"""Sends to destinations whose messages brokers deliver under other names: a wildcard, a virtual topic, a list.

``PLANT=filter``: a subscriber of the virtual topic consumes only some messages, and leaves the others on its queue.
"""

import os
from collections.abc import Mapping
from typing import ClassVar

from brokerbench import (
    ConsumerUser,
    Hold,
    ProducerUser,
    Scenario,
    duplicates_at_most,
    no_acked_send_lost,
    none_stranded,
    run,
)
from records.loads.message_properties import Values

FILTERED = os.environ.get("PLANT") == "filter"


class ToEurope(ProducerUser):
    group, destination, sends_per_second, fixed_count = "producers", "queue://across.eu", 10, 1


class ToAmerica(ProducerUser):
    group, destination, sends_per_second, fixed_count = "producers", "queue://across.us.east", 10, 1


class Everywhere(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://across.>", 2


class Ordering(ProducerUser):
    group, destination, sends_per_second, fixed_count = "producers", "topic://VirtualTopic.orders", 10, 1
    properties: ClassVar[Mapping[str, Values]] = {"color": ["red", "blue"]}


class Shop(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://Consumer.shop.VirtualTopic.orders", 2


class Audit(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://Consumer.audit.VirtualTopic.orders", 1
    selector = "color = 'red'" if FILTERED else ""


class Watching(ConsumerUser):
    group, destination, fixed_count = "consumers", "topic://VirtualTopic.>", 1


class ToBoth(ProducerUser):
    group, destination, sends_per_second, fixed_count = "producers", "queue://both.a,both.b", 10, 1


class TakingA(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://both.a", 1


class TakingB(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://both.b", 1


run(
    Scenario(
        users=(ToEurope, ToAmerica, Everywhere, Ordering, Shop, Audit, Watching, ToBoth, TakingA, TakingB),
        default_topology="single",
        load=Hold(for_s=5),
        checks=(no_acked_send_lost(), duplicates_at_most(0), none_stranded()),
    )
)
