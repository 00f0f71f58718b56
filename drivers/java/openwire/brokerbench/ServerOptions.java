package brokerbench;

import java.net.URI;
import org.apache.activemq.transport.TransportFactory;

/** Does the library know the options in the URI of one broker? Its failover transport would try such a URI for ever. */
public final class ServerOptions {
    private ServerOptions() {}

    /** What it says against them; '' where it takes them. Nothing is connected. */
    public static String misread(String server) {
        try {
            TransportFactory.compositeConnect(new URI(server)).stop();
            return "";
        } catch (Exception error) {
            return Words.of(error);
        }
    }
}
