package brokerbench;

import javax.jms.JMSException;
import org.apache.activemq.AsyncCallback;
import org.apache.activemq.command.ActiveMQBytesMessage;
import org.apache.activemq.util.ByteSequence;

/** A message that knows its slot: whichever connection writes it, as the failover transport replays it, tells the slot. */
final class Measured extends ActiveMQBytesMessage implements AsyncCallback {
    private final Slot slot;

    Measured(Slot slot) {
        this.slot = slot;
        setContent(new ByteSequence(slot.body()));
    }

    /** About to be written; false when it must not be. */
    boolean writing(String address) {
        if (!slot.writing(address)) {
            return false;
        }
        if (slot.again()) {
            setContent(new ByteSequence(slot.body()));
        }
        return true;
    }

    void written() {
        slot.written();
    }

    void broken() {
        slot.broken();
    }

    public void onSuccess() {
        slot.acknowledged();
    }

    public void onException(JMSException error) {
        slot.failed(error);
    }
}
