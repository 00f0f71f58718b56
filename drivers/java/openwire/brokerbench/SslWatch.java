package brokerbench;

import java.net.URI;
import org.apache.activemq.broker.SslContext;
import org.apache.activemq.transport.Transport;
import org.apache.activemq.transport.tcp.SslTransportFactory;

/** The same over TLS. */
public final class SslWatch extends SslTransportFactory {
    public Transport doCompositeConnect(URI location) throws Exception {
        return Wire.watched(super.doCompositeConnect(location), location, SslContext.getCurrentSslContext());
    }
}
