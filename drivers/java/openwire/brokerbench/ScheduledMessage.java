package brokerbench;

import javax.jms.JMSException;
import org.apache.activemq.AsyncCallback;
import org.apache.activemq.command.ActiveMQBytesMessage;
import org.apache.activemq.util.ByteSequence;

/** A message that knows its send, and tells it when the failover transport writes it, on whichever connection. */
final class ScheduledMessage extends ActiveMQBytesMessage implements AsyncCallback {
    private final ScheduledSend send;

    ScheduledMessage(ScheduledSend send) throws JMSException {
        this.send = send;
        setContent(new ByteSequence(send.body()));
        send.putProperties(this);
    }

    /** About to be written; false when it must not be. */
    boolean writing(String address) {
        if (!send.writing(address)) {
            return false;
        }
        if (send.again()) {
            setContent(new ByteSequence(send.body()));
        }
        return true;
    }

    void written() {
        send.written();
    }

    void broken() {
        send.broken();
    }

    @Override
    public void onSuccess() {
        send.acknowledged();
    }

    @Override
    public void onException(JMSException error) {
        send.failed(error);
    }
}
