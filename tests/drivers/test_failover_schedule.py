"""Checks that the reconnect schedule equals the Java client's, and always keeps its guarantees."""

import json
from collections import Counter
from itertools import product
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.failover import reconnect_schedule as reconnect
from drivers.failover.reconnect_schedule import Attempt, GiveUp, Poll, Sleep, State, StayConnected
from drivers.failover.uri import FailoverOptions, FailoverUri, ServerUri

RNG = Random(1)
SEQUENCES = json.loads((Path(__file__).parent / "golden" / "java_failover_sequences.json").read_text())["sequences"]
PORTS = {"A": 1, "B": 2, "C": 3}


def servers(names: str) -> tuple[ServerUri, ...]:
    return tuple(ServerUri("tcp", "localhost", PORTS[name]) for name in names)


def uri_of(text: str) -> FailoverUri:
    for name, port in PORTS.items():
        for before, after in product("(,", "?,)"):
            text = text.replace(f"{before}{name}{after}", f"{before}tcp://localhost:{port}{after}")
        text = text.replace(f",{name})", f",tcp://localhost:{port})")
    return FailoverUri.parse(text)


def name_of(server: ServerUri) -> str:
    return next(name for name, port in PORTS.items() if port == server.port)


def words(action: reconnect.Action) -> str:
    match action:
        case Attempt(server):
            return f"attempt {name_of(server)}"
        case Sleep(ms):
            return f"sleep {ms}"
        case GiveUp():
            return "give up"
        case _:
            return "hold"


def replay(uri: FailoverUri, events: list[str]) -> list[str]:
    """Our actions when the world answers as it did to the Java client."""
    state, ours = reconnect.begin(uri, RNG), []
    for event, following in zip(events, [*events[1:], ""], strict=True):
        while state.action == Sleep(0):
            state = reconnect.after_sleep(uri, state, RNG)
        if event == "lost":
            state = reconnect.lost(uri, state, RNG, "reset")
        if event == "lost" or event.startswith("connected"):
            ours.append(event)
            continue
        ours.append(words(state.action))
        if isinstance(state.action, Sleep):
            state = reconnect.after_sleep(uri, state, RNG)
        elif following.startswith("connected") and isinstance(state.action, Attempt):
            state = reconnect.connected(uri, state, state.action.server)
        elif isinstance(state.action, Attempt):
            state = reconnect.attempt_failed(uri, state, "refused")
    return ours


def test_there_are_recorded_sequences() -> None:
    assert len(SEQUENCES) > 20


@pytest.mark.parametrize("recorded", SEQUENCES, ids=lambda recorded: f"{recorded['uri'][9:]} {len(recorded['events'])}")
def test_the_sequence_is_that_of_the_java_client(recorded: dict[str, list[str]]) -> None:
    assert replay(uri_of(str(recorded["uri"])), recorded["events"]) == recorded["events"]


def test_the_shuffle_has_the_bias_of_the_java_client() -> None:
    """Four URIs, each random draw one of four equally likely places: first picks 25, 29, 25 and 21 %."""

    class Drawn(Random):
        def __init__(self, draws: tuple[int, ...]) -> None:
            super().__init__()
            self.draws = list(draws)

        def random(self) -> float:
            return self.draws.pop(0) / 100

    four = tuple(ServerUri("tcp", "localhost", port) for port in range(4))
    uri = FailoverUri(four)
    ports = Counter(reconnect.pass_order(uri, None, Drawn(draws))[0].port for draws in product(range(4), repeat=4))
    assert [round(ports[port] * 100 / 256) for port in range(4)] == [25, 29, 25, 21]


def test_every_pass_is_shuffled_anew() -> None:
    uri = FailoverUri(servers("ABC"))
    assert len({reconnect.pass_order(uri, None, RNG) for _ in range(200)}) == 6


def test_the_shuffle_leaves_the_broker_lost_last_at_the_end() -> None:
    a, b, c = servers("ABC")
    orders = {reconnect.pass_order(FailoverUri((a, b, c)), b, RNG) for _ in range(100)}
    assert orders == {(a, c, b), (c, a, b)}


def test_without_priority_a_connected_client_stays() -> None:
    uri = uri_of("failover:(A,B)?randomize=false")
    assert reconnect.connected(uri, reconnect.begin(uri, RNG), uri.servers[1]).action == StayConnected()


def test_a_client_off_its_priority_broker_polls_it_at_once_and_then_ever_slower() -> None:
    uri = uri_of("failover:(A,B)?randomize=false&priorityBackup=true&initialReconnectDelay=20&maxReconnectDelay=100")
    a, b = uri.servers
    state, waits = reconnect.connected(uri, reconnect.begin(uri, RNG), b), []
    for _ in range(5):
        assert isinstance(state.action, Poll)
        assert state.action.servers == (a,)
        waits.append(state.action.ms)
        state = reconnect.poll_failed(uri, state)
    assert waits == [0, 20, 40, 80, 100]


def test_a_client_on_a_priority_broker_holds() -> None:
    uri = uri_of("failover:(A,B)?priorityBackup=true&priorityURIs=tcp://localhost:2,tcp://localhost:1")
    begun = reconnect.begin(uri, RNG)
    assert [reconnect.connected(uri, begun, server).action for server in uri.servers] == [
        StayConnected(),
        StayConnected(),
    ]
    assert reconnect.priority_servers(uri) == uri.servers[::-1]


def polling(uri: FailoverUri, polls: int) -> State:
    """Connected to the second server, and that many polls for a better one failed."""
    state = reconnect.connected(uri, reconnect.begin(uri, RNG), uri.servers[1])
    for _ in range(polls):
        state = reconnect.poll_failed(uri, state)
    return state


def test_a_loss_while_polling_for_a_better_broker_continues_backing_off() -> None:
    uri = uri_of("failover:(A,B)?randomize=false&priorityBackup=true&initialReconnectDelay=20")
    state = reconnect.lost(uri, polling(uri, 3), RNG, "reset", pause_ms=55)
    assert state.action == Sleep(55 + 160)
    assert replayed_pass(uri, state) == ["attempt A", "attempt B"]


def test_a_loss_falls_back_at_once_on_a_broker_that_java_had_a_connection_to() -> None:
    uri = uri_of("failover:(A,B,C)?randomize=false&priorityBackup=true&initialReconnectDelay=20")
    state = reconnect.lost(uri, polling(uri, 3), RNG, "reset", pause_ms=55)
    assert state.action == Sleep(55)
    assert replayed_pass(uri, state) == ["attempt C", "attempt A", "attempt B"]


def replayed_pass(uri: FailoverUri, state: State) -> list[str]:
    state, attempts = reconnect.after_sleep(uri, state, RNG), []
    while isinstance(state.action, Attempt):
        attempts.append(words(state.action))
        state = reconnect.attempt_failed(uri, state, "refused")
    return attempts


def test_servers_that_came_later_go_first_and_keep_their_place_when_they_were_lost() -> None:
    a, b, c = servers("ABC")
    uri = FailoverUri((a, b), FailoverOptions(randomize=False), updated=(b, c))
    assert reconnect.pass_order(uri, b, RNG) == (b, c, a)
    assert reconnect.pass_order(uri, a, RNG) == (b, c, a)


def test_giving_up_names_the_brokers_the_limit_and_the_last_reason() -> None:
    uri = uri_of("failover:(A,B)?randomize=false&startupMaxReconnectAttempts=1")
    state = reconnect.attempt_failed(uri, reconnect.begin(uri, RNG), "first")
    assert reconnect.attempt_failed(uri, state, "connection refused").action == GiveUp(
        "no broker of localhost:1, localhost:2 could be connected to in one pass over the list "
        "(startupMaxReconnectAttempts=1); the last error: connection refused"
    )


def test_a_loss_with_no_attempt_allowed_is_the_end() -> None:
    uri = uri_of("failover:(A)?maxReconnectAttempts=0")
    state = reconnect.connected(uri, reconnect.begin(uri, RNG), uri.servers[0])
    assert reconnect.lost(uri, state, RNG, "reset").action == GiveUp(
        "the connection to localhost:1 was lost (reset) and maxReconnectAttempts=0"
    )


OPTIONS = st.builds(
    FailoverOptions,
    initial_reconnect_delay_ms=st.integers(0, 5_000),
    max_reconnect_delay_ms=st.integers(1, 60_000),
    reconnect_delay_ms=st.integers(0, 100),
    use_exponential_back_off=st.booleans(),
    reconnect_delay_exponent=st.floats(1, 5),
    max_reconnect_attempts=st.integers(-1, 5),
    startup_max_reconnect_attempts=st.integers(-1, 5),
    randomize=st.booleans(),
    priority_backup=st.booleans(),
)
URIS = st.builds(
    lambda names, options: FailoverUri(tuple(ServerUri("tcp", name, 1) for name in names), options),
    st.lists(st.sampled_from("abcde"), min_size=1, max_size=6),
    OPTIONS,
)


def lived(uri: FailoverUri, outcomes: list[bool], seed: int) -> list[State]:
    """The states of a client with scripted attempts, which loses each connection again."""
    rng = Random(seed)
    state, states, script = reconnect.begin(uri, rng), [], iter(outcomes)
    while True:
        states.append(state)
        match state.action:
            case Sleep():
                state = reconnect.after_sleep(uri, state, rng)
            case Attempt(server):
                worked = next(script, None)
                if worked is None:
                    return states
                state = (
                    reconnect.connected(uri, state, server) if worked else reconnect.attempt_failed(uri, state, "no")
                )
            case GiveUp():
                return states
            case _:
                state = reconnect.lost(uri, state, rng, "gone")


@given(URIS, st.lists(st.booleans(), max_size=60), st.integers(0, 9))
def test_no_delay_exceeds_its_cap_and_no_limit_on_passes_is_passed(
    uri: FailoverUri, outcomes: list[bool], seed: int
) -> None:
    options = uri.options
    cap = max(options.max_reconnect_delay_ms, options.initial_reconnect_delay_ms, options.reconnect_delay_ms)
    for state in lived(uri, outcomes, seed):
        if isinstance(state.action, Sleep):
            assert 0 <= state.action.ms <= cap
        limit = options.max_reconnect_attempts
        if not state.ever_connected and options.startup_max_reconnect_attempts != -1:
            limit = options.startup_max_reconnect_attempts
        if limit >= 0 and not isinstance(state.action, GiveUp):
            assert state.failed_passes < max(1, limit)


@given(URIS, st.integers(1, 5), st.integers(0, 9))
def test_no_broker_is_starved_each_pass_tries_every_one_once(uri: FailoverUri, passes: int, seed: int) -> None:
    uri = FailoverUri(uri.servers, FailoverOptions(randomize=uri.options.randomize))
    size = len(set(uri.servers))
    states = lived(uri, [False] * (size * passes), seed)
    tried = [state.action.server for state in states if isinstance(state.action, Attempt)]
    for start in range(0, size * passes, size):
        assert sorted(map(str, tried[start : start + size])) == sorted(map(str, set(uri.servers)))


@given(URIS, st.lists(st.booleans(), max_size=60), st.integers(0, 9))
def test_the_same_seed_gives_the_same_schedule(uri: FailoverUri, outcomes: list[bool], seed: int) -> None:
    assert lived(uri, outcomes, seed) == lived(uri, outcomes, seed)
