"""The Locust users of a scenario: producers keep a fixed schedule, consumers receive what arrives."""

from drivers.users.locust_users import ConsumerUser, ProducerUser, Stay

__all__ = ["ConsumerUser", "ProducerUser", "Stay"]
