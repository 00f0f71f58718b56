package brokerbench;

import java.io.IOException;
import java.net.URI;
import org.apache.activemq.broker.SslContext;
import org.apache.activemq.command.ConnectionControl;
import org.apache.activemq.command.MessageDispatch;
import org.apache.activemq.transport.Transport;
import org.apache.activemq.transport.TransportFilter;

/**
 * One connection to one broker, below the failover transport: what is attempted, written and lost passes here.
 *
 * The failover transport replays what is unanswered on the next connection by itself; here each of its writes is seen.
 */
final class WatchedTransport extends TransportFilter {
    final String address;
    private final Client client;
    private volatile String trouble = "";
    private volatile boolean told; // by the broker, to go where it likes its clients to be
    private volatile long leftNs;

    private WatchedTransport(Transport next, URI location, Client client) {
        super(next);
        this.address = location.getHost() + ":" + location.getPort();
        this.client = client;
    }

    static Transport watched(Transport transport, URI location, SslContext context) {
        return context instanceof WatchedContext of ? new WatchedTransport(transport, location, of.client) : transport;
    }

    /** Whether its broker told its client to spread over the brokers that it named, or to go to another one. */
    boolean told() {
        return told;
    }

    /** When the failover transport left it. */
    long leftNs() {
        return leftNs;
    }

    @Override
    public void stop() throws Exception {
        leftNs = System.nanoTime();
        super.stop();
    }

    /** Why it broke; '' while it did not. */
    String trouble() {
        return trouble;
    }

    @Override
    public void start() throws Exception {
        long beganNs = System.nanoTime();
        try {
            super.start();
        } catch (Exception error) {
            client.attempted(this, beganNs, Errors.of(error));
            throw error;
        }
        client.attempted(this, beganNs, "");
    }

    @Override
    public void oneway(Object command) throws IOException {
        if (!(command instanceof ScheduledMessage message)) {
            super.oneway(command);
            return;
        }
        if (!message.writing(address)) {
            return;
        }
        try {
            super.oneway(message);
        } catch (IOException error) {
            message.broken();
            throw error;
        }
        message.written();
    }

    @Override
    public void onCommand(Object command) {
        if (command instanceof MessageDispatch) {
            client.hears(this);
        } else if (command instanceof ConnectionControl control) {
            told = told || control.isRebalanceConnection() || isThere(control.getReconnectTo());
        }
        super.onCommand(command);
    }

    private static boolean isThere(String text) {
        return text != null && !text.isBlank();
    }

    @Override
    public void onException(IOException error) {
        trouble = Errors.of(error);
        super.onException(error);
    }
}
