"""The options of Core's own URI.

An example: ``(tcp://a:61616,tcp://b:61616)?ha=true&reconnectAttempts=-1``.

These options apply to a connection as a whole. Options of one broker's connector are in that broker's own URI.
"""

from collections.abc import Mapping
from re import fullmatch

SWITCHES = frozenset(
    {"ha", "compressLargeMessage", "blockOnAcknowledge", "useTopologyForLoadBalancing", "useGlobalPools"}
)
NUMBERS = frozenset({"retryIntervalMultiplier"})
WHOLE_NUMBERS = frozenset(
    {
        "reconnectAttempts",
        "failoverAttempts",
        "initialConnectAttempts",
        "retryInterval",
        "maxRetryInterval",
        "connectionTTL",
        "clientFailureCheckPeriod",
        "callTimeout",
        "callFailoverTimeout",
        "confirmationWindowSize",
        "consumerWindowSize",
        "producerWindowSize",
        "minLargeMessageSize",
        "compressionLevel",
        "threadPoolMaxSize",
        "scheduledThreadPoolMaxSize",
    }
)
SUPPORTED = SWITCHES | NUMBERS | WHOLE_NUMBERS | {"connectionLoadBalancingPolicyClassName"}
_SCHEDULE = "clients keep the schedule of the run"
_ANSWER = "clients send ahead and record each answer"
_WHO = "brokerbench sets the client ids, to distinguish clients in the events"
REFUSED: Mapping[str, str] = {
    "preAcknowledge": "a message would count as acknowledged before it is received",
    "blockOnDurableSend": _ANSWER,
    "blockOnNonDurableSend": _ANSWER,
    "consumerMaxRate": _SCHEDULE,
    "producerMaxRate": _SCHEDULE,
    "clientID": _WHO,
    "groupID": "messages of one group go to one consumer",
    "autoGroup": "messages of one group go to one consumer",
    "dupsOKBatchSize": "clients acknowledge each message by itself",
    "transactionBatchSize": "clients acknowledge each message by itself",
    "incomingInterceptorList": "it names classes that this process does not have",
    "outgoingInterceptorList": "it names classes that this process does not have",
    "protocolManagerFactoryStr": "it names classes that this process does not have",
    "user": "a URI must not contain credentials",
    "password": "a URI must not contain credentials",
}
"""Options that the library supports, and why a client of brokerbench cannot honor them."""

CORE_OPTIONS = SUPPORTED | REFUSED.keys()


def accepted_form(name: str, value: str) -> str:
    """Return the accepted form of a supported option's value; empty if the value has it. Core's client reports no
    such error."""
    if name in SWITCHES:
        return "" if value in ("true", "false") else "true or false"
    if name in WHOLE_NUMBERS:
        return "" if fullmatch(r"-?\d+", value) else "a whole number, such as -1"
    if name in NUMBERS:
        return "" if fullmatch(r"\d+(\.\d+)?", value) else "a number, such as 1.5"
    return ""
