package brokerbench;

import org.apache.activemq.broker.SslContext;

/**
 * Whose connection is being opened? It rides where the failover transport keeps its TLS settings: that is the one thing
 * which it hands on, unchanged, to every transport that it opens, from whichever of its threads.
 */
public final class Watch extends SslContext {
    final Client client;

    Watch(Client client, String pem) throws Exception {
        this.client = client;
        setSSLContext(Tls.context(pem));
    }
}
