package brokerbench;

import java.io.IOException;
import java.util.concurrent.locks.LockSupport;
import javax.jms.BytesMessage;
import javax.jms.DeliveryMode;
import javax.jms.Destination;
import javax.jms.JMSException;
import javax.jms.MessageProducer;
import org.apache.activemq.artemis.jms.client.ActiveMQSession;

/** Sends with Artemis's own client. This class resends messages that had no answer when the connection dropped. */
final class CoreSender extends Sender {
    private static final long AGAIN_AFTER_NS = 100_000_000L; // the library tells of a loss on a thread of its own

    private final Client client;
    private final Task task;
    private final ActiveMQSession session;
    private final Object writing = new Object();
    private final Object handing = new Object(); // guards which thread is inside the library; never held for long
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
            if (!Errors.refused(error)) {
                throw error;
            } // otherwise each message gets the refusal, because the user may be let in later
        }
    }

    private void makeProducer() throws JMSException {
        if (producer == null) {
            producer = session.createProducer(task.to());
            producer.setDisableMessageID(true);
        }
    }

    @Override
    void send(ScheduledSend send) throws JMSException {
        while (connected(client.patienceMs())) {
            if (attempt(send)) {
                return;
            }
            LockSupport.parkNanos(AGAIN_AFTER_NS);
        }
        send.giveUp();
        client.requireHope();
        if (client.stays()) {
            throw new JMSException("it was disconnected for " + client.patienceMs() + " ms, as long as its URI lets a send "
                + "wait: raise timeout (of Core's own options: callFailoverTimeout), or remove it to wait longer");
        }
    }

    @Override
    void sendAgain(ScheduledSend send) throws JMSException {
        if (connected(0)) {
            attempt(send);
        } else {
            send.giveUp();
        }
    }

    /** Whether there is a connection, or will be in time; 0: in however long a time. */
    private boolean connected(long atMostMs) {
        try {
            return client.waitConnected(atMostMs);
        } catch (InterruptedException interrupted) {
            return false;
        }
    }

    /** False when it is to be tried again: it has no answer to wait for, and its write broke. */
    private boolean attempt(ScheduledSend send) throws JMSException {
        try {
            if (send.writing(client.address())) {
                write(send);
            }
        } catch (JMSException error) {
            if (Errors.refused(error)) {
                send.failed(error);
            } else if (!client.stays()) {
                throw error;
            } else if (answered) {
                unanswered(send);
            } else {
                send.broken();
                return false;
            }
        }
        return true;
    }

    /**
     * One at a time: resends come from another thread. This needs a lock of its own: the broker may hold a send back
     * without limit, and the thread that hands over due times must not wait for that.
     */
    private void write(ScheduledSend send) throws JMSException {
        synchronized (writing) {
            makeProducer();
            BytesMessage message = session.createBytesMessage();
            message.writeBytes(send.body());
            send.putProperties(message);
            handOver(message, send);
            if (!each) {
                send.written();
            }
        }
    }

    private void handOver(BytesMessage message, ScheduledSend send) throws JMSException {
        synchronized (handing) {
            handedBy = Thread.currentThread();
        }
        try {
            requireConnection();
            int mode = durable ? DeliveryMode.PERSISTENT : DeliveryMode.NON_PERSISTENT;
            Destination own = send.repliesTo();
            if (own != null) {
                producer.send(own, message, mode, headers.priority(), headers.timeToLiveMs(), new Library.Told(send));
            } else if (each) {
                producer.send(message, mode, headers.priority(), headers.timeToLiveMs(), new Library.Told(send));
            } else {
                producer.send(message, mode, headers.priority(), headers.timeToLiveMs());
            }
            send.writtenTo(client.broker());
        } finally {
            synchronized (handing) {
                handedBy = null;
                Thread.interrupted(); // or the next wait would end at once
            }
        }
    }

    /** The library holds a write back while it moves to another connection, and lets it go by that one. */
    @Override
    int answering(int written) {
        return client.broker();
    }

    /** The connection may have dropped after `send` looked, and before `interrupted` knew which thread to interrupt. */
    private void requireConnection() throws JMSException {
        synchronized (client) {
            if (client.patienceMs() > 0 && !client.connected) {
                throw Errors.asJms(new IOException("the connection was lost"));
            }
        }
    }

    /**
     * Where the URI limits how long a send waits for a connection: the library waits for credit without limit, even on
     * a connection that is gone.
     */
    @Override
    void interrupted(long atNs) {
        super.interrupted(atNs);
        synchronized (handing) {
            if (client.patienceMs() > 0 && handedBy != null) {
                handedBy.interrupt();
            }
        }
    }

    @Override
    void unanswered(ScheduledSend send) {
        if (!each) {
            broke();
            return;
        }
        client.later(() -> {
            try {
                sendAgain(send);
            } catch (JMSException error) {
                if (client.stays()) {
                    send.failed(error);
                } else {
                    send.giveUp(); // again would be for ever
                }
            }
        });
    }
}
