package brokerbench;

import java.io.IOException;
import org.apache.activemq.command.MessageAck;
import org.apache.activemq.transport.FutureResponse;
import org.apache.activemq.transport.ResponseCallback;
import org.apache.activemq.transport.Transport;
import org.apache.activemq.transport.TransportFilter;

/**
 * A connection on which a consumer never holds more messages than its prefetch.
 *
 * When a listener returns from a message that is not acknowledged yet, the Java client tells the broker that it was
 * delivered, and the broker sends one more. That word is held back here. It may even follow the acknowledgement, which
 * another thread may write first: a broker then does not know the message any more and ends the connection.
 */
final class StrictPrefetch extends TransportFilter {
    StrictPrefetch(Transport next) {
        super(next);
    }

    public void oneway(Object command) throws IOException {
        if (!(command instanceof MessageAck) || !((MessageAck) command).isDeliveredAck()) {
            super.oneway(command);
        }
    }

    /** The Java client's own filter forgets whom to call back. */
    public FutureResponse asyncRequest(Object command, ResponseCallback callback) throws IOException {
        return next.asyncRequest(command, callback);
    }
}
