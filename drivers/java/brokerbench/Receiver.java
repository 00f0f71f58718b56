package brokerbench;

import javax.jms.JMSException;
import javax.jms.Message;
import javax.jms.MessageListener;

/**
 * Records every delivery of one consumer, works and replies if it has to, then acknowledges it: what is not recorded
 * must come again. `work`, `replies`: null for none.
 */
record Receiver(
        LoadClient client, ReceiptRows rows, Names names, int consumer, int subscription, int destination, int run,
        Work work, Replies replies)
        implements MessageListener {
    @Override
    public void onMessage(Message message) {
        long receivedNs = System.nanoTime();
        try {
            Body body = Library.body(message);
            Identity of = Identity.read(body, run);
            rows.add(
                consumer, subscription, of.producer(), of.seq(), of.attempt(), destination, client.broker(), receivedNs,
                message.getJMSRedelivered(), names.integrity(of.integrity()), BrokerPath.hops(message));
            if (of.integrity() == Identity.Integrity.FOREIGN) {
                rows.addForeign(destination, client.broker(), body);
            }
            if (work != null) {
                work.pause();
            }
            if (replies != null) {
                replies.answer(message, of, body);
            }
            Library.recorded(message);
        } catch (JMSException error) {
            Library.unrecorded(error); // the connection is going: the broker delivers it again
        } catch (Error error) {
            client.end("nothing more can be received: " + Errors.of(error));
            throw error;
        }
    }
}
