"""Checks that the times in which consumers are away are taken from their stays."""

from drivers.users.locust_users import ConsumerUser, Stay
from scenarios.harness.faults.away import ConsumersAway, absences


class Always(ConsumerUser):
    group = "consumers"


class Comes(ConsumerUser):
    group = "consumers"
    stays = (Stay(until_s=10), Stay(from_s=25, until_s=40, place=1), Stay(from_s=40, until_s=50))


class Goes(ConsumerUser):
    group = "others"
    stays = (Stay(until_s=10),)


def test_consumers_are_away_between_two_stays_and_after_one_that_ends() -> None:
    assert absences([Always]) == ()
    assert absences([Comes]) == (ConsumersAway("consumers", 10, 15), ConsumersAway("consumers", 50))
    assert absences([Goes]) == (ConsumersAway("others", 10),)


def test_users_of_a_group_that_are_away_together_are_told_once() -> None:
    assert absences([Comes, Always, Comes]) == absences([Comes])
