package brokerbench;

import javax.jms.JMSException;
import javax.jms.Message;
import javax.jms.MessageListener;
import org.apache.activemq.util.ByteSequence;

/** Records every delivery of one consumer, then acknowledges it: what is not recorded must come again. */
final class Receiver implements MessageListener {
    private final Client client;
    private final ReceiptRows rows;
    private final Names names;
    private final int consumer, subscription, destination, run;

    Receiver(Client client, ReceiptRows rows, Names names, int consumer, int subscription, int destination, int run) {
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
            ByteSequence body = Bodies.of(message);
            Identity of = Identity.read(body, run);
            rows.add(
                consumer, subscription, of.producer, of.seq, of.attempt, destination, client.broker(), receivedNs,
                message.getJMSRedelivered(), names.integrity(of.integrity), Bodies.hops(message));
            message.acknowledge();
        } catch (JMSException error) {
            client.unsettled(error); // the connection is going: the broker delivers it again
        }
    }
}
