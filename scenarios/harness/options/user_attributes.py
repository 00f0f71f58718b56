"""Rejects attributes of user classes that are no settings: a run would ignore them, and its author would not notice.

Legal are the settings of `ProducerUser` and `ConsumerUser`, methods, properties, and names that begin with ``_``.
Locust's own attributes are legal where they have an effect here.
"""

from collections.abc import Iterable, Iterator, Mapping

from locust import User

from drivers.users.broker_user import BrokerUser
from drivers.users.declared_settings import OUR_MODULES, kind_of, settings_of
from drivers.users.locust_users import ConsumerUser, ProducerUser
from records.declared_types import misfit, shown
from topologies.model.spelling import nearest

KINDS: tuple[type[BrokerUser], ...] = (ProducerUser, ConsumerUser)
OTHER_KIND: Mapping[type, type] = {ProducerUser: ConsumerUser, ConsumerUser: ProducerUser}
PACE = {
    ProducerUser: "a producer sends on a fixed schedule; write sends_per_second",
    ConsumerUser: "a consumer takes messages as they come; write work_ms for the time that it takes for each",
}
WAITS = ("wait_time", "min_wait", "max_wait", "wait_function")
WITHOUT_EFFECT = {
    "host": "clients connect by the failover URI of their group; choose a --topology, or brokers by --brokers-file",
    "weight": "the number of users of a class is fixed; write fixed_count",
}
"""Attributes of Locust's users that a run would ignore, with the next step."""
TASKS = {ProducerUser: "produce", ConsumerUser: "consume"}
"""The one task of each kind, which lasts until the run ends."""
FROM_LOCUST = ("abstract", "tasks", "fixed_count")
"""Locust sets the first two in every class. `_task_problem` is about tasks."""


def attribute_refusals(users: Iterable[type[BrokerUser]]) -> Iterator[str]:
    """Yield one sentence for each attribute of a user class that a run would ignore, or that has the wrong type."""
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


def _kind_problem(user: type) -> str:
    kinds = [kind.__name__ for kind in KINDS if issubclass(user, kind)]
    if len(kinds) == 1:
        return ""
    names = " or ".join(kind.__name__ for kind in KINDS)
    return f"is {' and '.join(kinds) or 'a BrokerUser only'}; derive the class from either {names}"


def _own_classes(user: type) -> list[type]:
    """Return the class, its bases and its mixins, as far as they are neither ours nor Locust's nor Python's."""
    others = ("locust.", OUR_MODULES, "builtins", "typing", "abc")
    return [base for base in user.__mro__ if not f"{base.__module__}.".startswith(others)]


def _only_annotated(owner: type) -> list[str]:
    """Return names with an annotation and no value: ``sends_per_second: 99`` sets nothing."""
    return [name for name in vars(owner).get("__annotations__", {}) if name not in vars(owner)]


def _problem(user: type, kind: type[BrokerUser], owner: type, name: str) -> str:
    """Return what is wrong with one attribute, the rule and the next step; '' if it is legal."""
    if name.startswith("_") or name in FROM_LOCUST:
        return ""
    settings = settings_of(kind)
    if name not in vars(owner):
        known = name in settings or name in settings_of(OTHER_KIND[kind])
        return f"{name} has an annotation and no value, so it sets nothing; write {name} = …" if known else ""
    value = vars(owner)[name]
    subject = f"{name} = {shown(value)}{'' if owner is user else f' (of {owner.__name__})'}"
    if name in settings:
        return ""  # `attribute_refusals` checks its type
    if name in settings_of(OTHER_KIND[kind]):
        other = OTHER_KIND[kind].__name__
        return f"{subject}: only a {other} has this setting, and {user.__name__} is a {kind.__name__}; leave it out"
    if name in WITHOUT_EFFECT and value == getattr(User, name):
        return ""
    if name in WAITS or name in WITHOUT_EFFECT:
        return f"{subject}: Locust's own attribute has no effect here: {WITHOUT_EFFECT.get(name) or PACE[kind]}"
    if name == "role":
        return f"{subject}: a {kind.__name__} is a {kind.role}; leave it out"
    if name == TASKS[kind]:
        return f"{name}: Locust calls the method of {kind.__name__}, not this one; write a method of another name"
    if isinstance(value, type) or not hasattr(type(value), "__get__"):
        return f"{subject}: {_unknown(name, kind)}, or write _{name} for an attribute of your own"
    return ""


def _unknown(name: str, kind: type) -> str:
    """Return the rule, the nearest setting, and what to do."""
    rule = f"a {kind.__name__} has no setting {name!r}"
    if hint := nearest(name, [*settings_of(kind), *WITHOUT_EFFECT]):
        return f"{rule}{hint} Correct the name"
    if hint := nearest(name, [*settings_of(OTHER_KIND[kind])]):
        return f"{rule}{hint} That is one of a {OTHER_KIND[kind].__name__}; leave it out"
    return f"{rule}; leave it out"


def _task_problem(user: type[BrokerUser], kind: type[BrokerUser]) -> str:
    """Locust would call another task at random instead of the one that sends or receives until the run ends."""
    tasks = {getattr(task, "__name__", str(task)) for task in user.tasks}
    if tasks == {TASKS[kind]}:
        return ""
    others = ", ".join(sorted(tasks - {TASKS[kind]})) or "none"
    return (
        f"tasks are {others}: a {kind.__name__} has one task, {TASKS[kind]}, which lasts until the run ends; remove "
        "@task, and call methods of your own in on_start"
    )
