"""Rejects attributes of user classes that are not settings, which a run would silently ignore, and invalid values.

The settings of `ProducerUser` and `ConsumerUser`, methods, properties, and names that begin with ``_`` are allowed,
except names that brokerbench's or Locust's classes use internally. Locust's attributes are allowed if they have an
effect in a run.
"""

from collections.abc import Iterable, Iterator, Mapping

from locust import User

from drivers.users.broker_user import BrokerUser
from drivers.users.declared_settings import OUR_MODULES, SET_BY_LOCUST, kind_of, names_taken_by, settings_of
from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness.options.declarations import OPTIONS, Bounds
from records.declared_types import misfit, shown
from records.errors import UserError
from records.loads.arrivals import LOADS
from records.loads.client_steps import MOST_CLIENTS
from records.loads.rate_steps import LEAST_PER_S, MOST_PER_S, parse_steps
from topologies.model.spelling import nearest

KINDS: tuple[type[BrokerUser], ...] = (ProducerUser, ConsumerUser)
OTHER_KIND: Mapping[type, type] = {ProducerUser: ConsumerUser, ConsumerUser: ProducerUser}
PACE = {
    ProducerUser: "a producer sends on a fixed schedule; write sends_per_second",
    ConsumerUser: "a consumer receives messages as they arrive; write work_ms for its processing time per message",
}
WAITS = ("wait_time", "min_wait", "max_wait", "wait_function")
WITHOUT_EFFECT = {
    "host": "clients connect with the failover URI of their group; choose --topology or --brokers-file",
    "weight": "the number of users of a class is fixed; write fixed_count",
}
"""Attributes of Locust users that a run would ignore, with the next step."""
TASKS = {ProducerUser: "produce", ConsumerUser: "consume"}
"""The one task of each kind, which lasts until the run ends."""
FROM_LOCUST = (*SET_BY_LOCUST, "fixed_count")
"""`_task_problem` checks tasks."""
TAKEN_BY_LOCUST = ("run", "start", "stop", "greenlet", "json", "fullname")
"""Locust users do not work if these are overridden. Classes may override `on_start`, `on_stop`, `context` and `wait`.
"""

CHECKED_WITH_MESSAGES = ("time_to_live_s", "priority")
"""`drivers.client.message_settings` checks their bounds."""
BOUNDS = {
    "fixed_count": Bounds(0, MOST_CLIENTS),  # 0 means that no number is set; a run rejects it
    "sends_per_second": Bounds(LEAST_PER_S, MOST_PER_S),
} | {
    attribute: option.bounds
    for option in OPTIONS.values()
    if (attribute := option.sets.rpartition(".")[2]) and option.bounds and attribute not in CHECKED_WITH_MESSAGES
}
"""Bounds of class attributes, taken from the options that set them."""


def attribute_refusals(users: Iterable[type[BrokerUser]], *, join: bool) -> Iterator[str]:
    """Yield one sentence for each attribute of a user class that a run would ignore, or that has an invalid value.

    ``join``: whether the steps of the load determine the number of users.
    """
    for user in users:
        if problem := _kind_problem(user):
            yield f"{user.__name__}: {problem}"
            return
        kind = kind_of(user)
        for owner in _own_classes(user):
            yield from (
                f"{user.__name__}: {problem}"
                for name in (*vars(owner), *_only_annotated(owner))
                if (problem := _problem(user, kind, owner, name))
            )
        if problem := _task_problem(user, kind):
            yield f"{user.__name__}: {problem}"
        for name, hint in settings_of(kind).items():
            if problem := misfit(name, getattr(user, name), hint):
                yield f"{user.__name__}: {problem}"
        if problem := _value_problem(user, join=join):
            yield f"{user.__name__}: {problem}"


def _kind_problem(user: type) -> str:
    kinds = [kind.__name__ for kind in KINDS if issubclass(user, kind)]
    if len(kinds) == 1:
        return ""
    names = " or ".join(kind.__name__ for kind in KINDS)
    return f"is {' and '.join(kinds) or 'a BrokerUser only'}; derive the class from either {names}"


def _own_classes(user: type) -> list[type]:
    """Return the class, its bases and its mixins, without the classes of brokerbench, Locust and Python."""
    others = ("locust.", OUR_MODULES, "builtins", "typing", "abc")
    return [base for base in user.__mro__ if not f"{base.__module__}.".startswith(others)]


def _only_annotated(owner: type) -> list[str]:
    """Return the names that have an annotation but no value: ``sends_per_second: 99`` sets nothing."""
    return [name for name in vars(owner).get("__annotations__", {}) if name not in vars(owner)]


def _problem(user: type, kind: type[BrokerUser], owner: type, name: str) -> str:
    """Return the problem of one attribute, with the rule and the next step; '' if it is allowed."""
    taken = name in names_taken_by(kind) or name in TAKEN_BY_LOCUST
    if name in FROM_LOCUST or (name.startswith("_") and not taken):
        return ""
    settings = settings_of(kind)
    if name not in vars(owner):
        known = name in settings or name in settings_of(OTHER_KIND[kind])
        return f"{name} has an annotation but no value, so it sets nothing; write {name} = …" if known else ""
    value = vars(owner)[name]
    subject = f"{name} = {shown(value)}{'' if owner is user else f' (of {owner.__name__})'}"
    if name in settings:
        return ""  # `attribute_refusals` checks its type
    if name in settings_of(OTHER_KIND[kind]):
        other = OTHER_KIND[kind].__name__
        return f"{subject}: only a {other} has this setting, but {user.__name__} is a {kind.__name__}; leave it out"
    if name in WITHOUT_EFFECT and value == getattr(User, name):
        return ""
    if name in WAITS or name in WITHOUT_EFFECT:
        return f"{subject}: this Locust attribute has no effect here: {WITHOUT_EFFECT.get(name) or PACE[kind]}"
    if name == "role":
        return f"{subject}: a {kind.__name__} is a {kind.role}; leave it out"
    if name == TASKS[kind]:
        return f"{name}: Locust calls the method of {kind.__name__}, not this method; choose another name"
    if taken:
        shown_name = name if _is_code(value) else subject
        return f"{shown_name}: {kind.__name__} uses this name internally and would not work; choose another name"
    return "" if _is_code(value) else f"{subject}: {_unknown(name, kind)}"


def _is_code(value: object) -> bool:
    """Whether a value is a method or a property, not a class."""
    return hasattr(type(value), "__get__") and not isinstance(value, type)


def _unknown(name: str, kind: type) -> str:
    """Return the rule, the most similar setting, and the next step."""
    rule = f"a {kind.__name__} has no setting {name!r}"
    own_name = f"_my_{name}" if f"_{name}" in names_taken_by(kind) else f"_{name}"
    or_own = f"or write {own_name} for your own attribute"
    if hint := nearest(name, [*settings_of(kind), *WITHOUT_EFFECT]):
        return f"{rule}{hint} Correct the name, {or_own}"
    if hint := nearest(name, [*settings_of(OTHER_KIND[kind])]):
        return f"{rule}{hint} That is a setting of {OTHER_KIND[kind].__name__}; leave it out, {or_own}"
    return f"{rule}; leave it out, {or_own}"


def _task_problem(user: type[BrokerUser], kind: type[BrokerUser]) -> str:
    """Return the problem of extra tasks.

    Locust would call them at random instead of the task that sends or receives until the run ends.
    """
    tasks = {getattr(task, "__name__", str(task)) for task in user.tasks}
    if tasks == {TASKS[kind]}:
        return ""
    others = ", ".join(sorted(tasks - {TASKS[kind]})) or "none"
    return (
        f"tasks are {others}: a {kind.__name__} has one task, {TASKS[kind]}, which lasts until the run ends; remove "
        "@task, and call your own methods in on_start"
    )


def _value_problem(user: type[BrokerUser], *, join: bool) -> str:
    """Return the problem of a setting's value, with the rule; '' if there is none. Its type is right."""
    try:
        if issubclass(user, ProducerUser) and user.rate_steps:
            parse_steps(user.rate_steps)
    except UserError as error:
        return f"rate_steps = {error}"
    if issubclass(user, ProducerUser) and user.arrivals not in LOADS:
        return f"arrivals = {user.arrivals!r}: write one of {', '.join(LOADS)}"
    for name, bounds in BOUNDS.items():
        if not hasattr(user, name) or (name == "fixed_count" and join):
            continue
        value = getattr(user, name)
        if (problem := bounds.problem(value)) and not (name == "transaction_size" and value <= 0):
            return f"{name} = {value}: {problem}"  # for a size below 1, user_classes has a better error
    return ""
