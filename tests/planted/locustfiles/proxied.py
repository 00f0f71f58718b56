"""One producer and one consumer on one broker, with a proxy that applies faults to selected messages.

Asks: does the report show exactly the proxy's faults?
"""

import json
import os

from brokerbench import Hold, Scenario, no_acked_send_lost, run
from drivers.users.locust_users import ConsumerUser, ProducerUser
from tests.support.stomp_faults import StompFault
from tests.support.stomp_proxy import StompProxy
from topologies.model.endpoints import Endpoint

HELD_S = 60.0  # at most, until the next message has overtaken it
FAULTS = [
    # ``at_most``: a resent message gets through
    StompFault(towards=towards, kind=kind, seqs=set(seqs), at_most=len(seqs), delay_s=HELD_S)
    for kind, towards, seqs in json.loads(os.environ["PLANTED_FAULTS"])
]
proxies: list[StompProxy] = []


class Producer(ProducerUser):
    group, destination, fixed_count = "producers", "queue://planted", 1
    sends_per_second = 100


class Consumer(ConsumerUser):
    group, destination, fixed_count = "consumers", "queue://planted", 1


def through_a_proxy(endpoint: Endpoint) -> Endpoint:
    host, _, port = endpoint.uri.partition("://")[2].rpartition(":")
    proxies.append(StompProxy({endpoint.broker: (host, int(port))}, FAULTS))
    return proxies[-1].endpoint(endpoint.broker)


run(
    Scenario((Producer, Consumer), "single", Hold(for_s=5), (no_acked_send_lost(),), question=__doc__),
    reroute=through_a_proxy,
)
