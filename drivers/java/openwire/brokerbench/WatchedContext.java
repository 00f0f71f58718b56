package brokerbench;

import org.apache.activemq.broker.SslContext;

/**
 * The client that is opening a connection. It travels with the TLS settings: the failover transport hands those on
 * unchanged to every transport that it opens, from whichever of its threads.
 */
public final class WatchedContext extends SslContext {
    final Client client;

    WatchedContext(Client client, String pem) throws Exception {
        this.client = client;
        setSSLContext(Tls.context(pem));
    }
}
