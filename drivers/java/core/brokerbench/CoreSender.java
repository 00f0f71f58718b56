package brokerbench;

import java.io.IOException;
import java.util.concurrent.locks.LockSupport;
import javax.jms.BytesMessage;
import javax.jms.DeliveryMode;
import javax.jms.JMSException;
import javax.jms.MessageProducer;
import org.apache.activemq.artemis.jms.client.ActiveMQSession;

/** Sends by Artemis' own client; what is unanswered when a connection goes is sent again here. */
final class CoreSender extends Sender {
    private static final long AGAIN_AFTER_NS = 100000000L; // the library tells of a loss on a thread of its own

    private final Client client;
    private final Task task;
    private final ActiveMQSession session;
    private final Object writing = new Object();
    private final Object handing = new Object(); // guards who is in the library's hands, never held for long
    private Thread handedBy;
    private MessageProducer producer; // null until the broker lets its place be sent to

    CoreSender(Client client, Task task, ActiveMQSession session) throws JMSException {
        super(client, task, session);
        this.client = client;
        this.task = task;
        this.session = session;
        try {
            makeProducer();
        } catch (JMSException error) {
            if (!Words.refused(error)) {
                throw error;
            } // else each message hears it, as it may be let in later
        }
    }

    private void makeProducer() throws JMSException {
        if (producer == null) {
            producer = session.createProducer(task.to);
            producer.setDisableMessageID(true);
        }
    }

    void send(Slot slot) throws JMSException {
        while (connected(client.patienceMs())) {
            if (attempt(slot)) {
                return;
            }
            LockSupport.parkNanos(AGAIN_AFTER_NS);
        }
        slot.giveUp();
        client.requireHope();
        if (client.stays()) {
            throw new JMSException("it was disconnected for " + client.patienceMs() + " ms, as long as its URI lets a send "
                + "wait: raise timeout (of Core's own options: callFailoverTimeout), or remove it to wait longer");
        }
    }

    void sendAgain(Slot slot) throws JMSException {
        if (connected(0L)) {
            attempt(slot);
        } else {
            slot.giveUp();
        }
    }

    /** Whether there is a connection, or will be in time; 0: in however long a time. */
    boolean connected(long atMostMs) {
        try {
            return client.waitConnected(atMostMs);
        } catch (InterruptedException interrupted) {
            return false;
        }
    }

    /** False when it is to be tried again: it has no answer to wait for, and its write broke. */
    boolean attempt(Slot slot) throws JMSException {
        try {
            if (slot.writing(client.address())) {
                write(slot);
            }
        } catch (JMSException error) {
            if (Words.refused(error)) {
                slot.failed(error);
            } else if (!client.stays()) {
                throw error;
            } else if (answered) {
                unanswered(slot);
            } else {
                slot.broken();
                return false;
            }
        }
        return true;
    }

    /**
     * One at a time: what is sent again comes from another thread. A lock of its own, as the broker may hold a send back
     * for as long as it likes, and whoever hands down due times must not wait for that.
     */
    private void write(Slot slot) throws JMSException {
        synchronized (writing) {
            makeProducer();
            BytesMessage message = session.createBytesMessage();
            message.writeBytes(slot.body());
            handOver(message, slot);
            if (!each) {
                slot.written();
            }
        }
    }

    private void handOver(BytesMessage message, Slot slot) throws JMSException {
        synchronized (handing) {
            handedBy = Thread.currentThread();
        }
        try {
            requireConnection();
            int mode = durable ? DeliveryMode.PERSISTENT : DeliveryMode.NON_PERSISTENT;
            if (each) {
                producer.send(message, mode, PRIORITY, 0L, new Library.Told(slot));
            } else {
                producer.send(message, mode, PRIORITY, 0L);
            }
            slot.writtenTo(client.broker());
        } finally {
            synchronized (handing) {
                handedBy = null;
                Thread.interrupted(); // or the next wait would end at once
            }
        }
    }

    /** The library holds a write back while it moves to another connection, and lets it go by that one. */
    int answering(int written) {
        return client.broker();
    }

    /** It may have gone after `send` looked, and before `interrupted` knew whom to interrupt. */
    private void requireConnection() throws JMSException {
        synchronized (client) {
            if (client.patienceMs() > 0 && !client.connected) {
                throw Library.said(new IOException("the connection was lost"));
            }
        }
    }

    /**
     * Where the URI limits how long a send waits for a connection: the library waits for credit without end, also for that
     * of a connection that is gone.
     */
    void interrupted(long atNs) {
        super.interrupted(atNs);
        synchronized (handing) {
            if (client.patienceMs() > 0 && handedBy != null) {
                handedBy.interrupt();
            }
        }
    }

    void unanswered(final Slot slot) {
        if (!each) {
            broke();
            return;
        }
        client.later(new Runnable() {
            public void run() {
                try {
                    sendAgain(slot);
                } catch (JMSException error) {
                    if (client.stays()) {
                        slot.failed(error);
                    } else {
                        slot.giveUp(); // again would be for ever
                    }
                }
            }
        });
    }
}
