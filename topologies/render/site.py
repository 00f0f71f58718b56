"""Names the system properties and secrets that a runtime passes to brokers, by which rendered files find them."""

# The system properties (-Dname=value); values are paths, never secrets.
DATA_PROPERTY = "activemq.data"
"""Folder of this broker's own for its store, index and temporary files."""
STORE_PROPERTY = "brokerbench.store"
"""Passed to a standby only: the data folder of the broker that it stands by for, whose store and lock it shares."""
SECRETS_PROPERTY = "brokerbench.secrets"
"""Properties file (mode 600, outside the run folder) with `SECRET_KEYS`, and for TLS the passwords of the stores."""

KEYSTORE_PROPERTY = "brokerbench.keystore"
"""PKCS12 file with the certificate and key that a broker shows; passed where a broker needs TLS."""
TRUSTSTORE_PROPERTY = "brokerbench.truststore"
"""PKCS12 file with the authorities whose brokers a bridge believes; passed where a broker needs TLS."""

# The keys of the secrets file. Passwords: no '${', no backslash (a properties file would read it as an escape).
CLIENT_USERNAME = "brokerbench.client.username"
CLIENT_PASSWORD = "brokerbench.client.password"
BRIDGE_USERNAME = "brokerbench.bridge.username"
BRIDGE_PASSWORD = "brokerbench.bridge.password"
BRIDGE_USER = "brokerbench-bridge"
"""As whom brokers of our own log in to each other: so clients are told from them."""
SECRET_KEYS = (CLIENT_USERNAME, CLIENT_PASSWORD, BRIDGE_USERNAME, BRIDGE_PASSWORD)
KEYSTORE_PASSWORD = "brokerbench.keystore.password"
TRUSTSTORE_PASSWORD = "brokerbench.truststore.password"
