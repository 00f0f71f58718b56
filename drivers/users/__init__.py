"""The user classes that a locustfile subclasses: `ProducerUser` and `ConsumerUser`."""

from drivers.users.locust_users import ConsumerUser, ProducerUser, Stay

__all__ = ["ConsumerUser", "ProducerUser", "Stay"]
