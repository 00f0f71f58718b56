package brokerbench;

import java.net.URI;
import org.apache.activemq.broker.SslContext;
import org.apache.activemq.transport.Transport;
import org.apache.activemq.transport.tcp.SslTransportFactory;

/** The Java client's own TLS, watched as WatchedTcpFactory watches TCP. */
public final class WatchedSslFactory extends SslTransportFactory {
    @Override
    public Transport doCompositeConnect(URI location) throws Exception {
        return WatchedTransport.watched(super.doCompositeConnect(location), location, SslContext.getCurrentSslContext());
    }
}
