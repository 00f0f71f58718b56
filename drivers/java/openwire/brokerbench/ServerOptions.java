package brokerbench;

import java.net.URI;
import org.apache.activemq.transport.TransportFactory;

/** Checks the options in the URI of one broker: one that is misread the failover transport would try for ever. */
public final class ServerOptions {
    private ServerOptions() {}

    /** The problem of the options; '' if the transport accepts them. Nothing is connected. */
    public static String misread(String server) {
        try {
            TransportFactory.compositeConnect(new URI(server)).stop();
            return "";
        } catch (Exception error) {
            return Errors.of(error);
        }
    }
}
