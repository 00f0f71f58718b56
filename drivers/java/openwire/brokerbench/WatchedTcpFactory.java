package brokerbench;

import java.net.URI;
import org.apache.activemq.broker.SslContext;
import org.apache.activemq.transport.Transport;
import org.apache.activemq.transport.TransportFactory;
import org.apache.activemq.transport.tcp.TcpTransportFactory;

/** The Java client's own TCP, in which each connection of a watched client tells what becomes of it. */
public final class WatchedTcpFactory extends TcpTransportFactory {
    /** From now on every connection of this process is made by these two. */
    public static void install() {
        TransportFactory.registerTransportFactory("tcp", new WatchedTcpFactory());
        TransportFactory.registerTransportFactory("ssl", new WatchedSslFactory());
    }

    @Override
    public Transport doCompositeConnect(URI location) throws Exception {
        return WatchedTransport.watched(super.doCompositeConnect(location), location, SslContext.getCurrentSslContext());
    }
}
