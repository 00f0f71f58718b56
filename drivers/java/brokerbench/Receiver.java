package brokerbench;

import javax.jms.JMSException;
import javax.jms.Message;
import javax.jms.MessageListener;

/** Records every delivery of one consumer, then acknowledges it: what is not recorded must come again. */
final class Receiver implements MessageListener {
    private final LoadClient client;
    private final ReceiptRows rows;
    private final Names names;
    private final int consumer, subscription, destination, run;

    Receiver(LoadClient client, ReceiptRows rows, Names names, int consumer, int subscription, int destination, int run) {
        this.client = client;
        this.rows = rows;
        this.names = names;
        this.consumer = consumer;
        this.subscription = subscription;
        this.destination = destination;
        this.run = run;
    }

    public void onMessage(Message message) {
        long receivedNs = System.nanoTime();
        try {
            Body body = Library.body(message);
            Identity of = Identity.read(body, run);
            rows.add(
                consumer, subscription, of.producer, of.seq, of.attempt, destination, client.broker(), receivedNs,
                message.getJMSRedelivered(), names.integrity(of.integrity), Bodies.hops(message));
            Library.recorded(message);
        } catch (JMSException error) {
            Library.unrecorded(error); // the connection is going: the broker delivers it again
        } catch (Error error) {
            client.end("nothing more can be received: " + Words.of(error));
            throw error;
        }
    }
}
