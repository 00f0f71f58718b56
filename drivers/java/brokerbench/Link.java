package brokerbench;

import java.util.ArrayList;
import java.util.Enumeration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import javax.jms.Connection;
import javax.jms.Destination;
import javax.jms.ExceptionListener;
import javax.jms.JMSException;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageListener;
import javax.jms.MessageProducer;
import javax.jms.Queue;
import javax.jms.QueueBrowser;
import javax.jms.Session;
import javax.jms.Topic;

/**
 * One connection to one broker, opened once, each message of which Python sends, receives and settles itself.
 *
 * It proves paths and looks at queues; what drives a load is in LoadClient.
 */
public final class Link {
    private static final long ANSWERS_NS = 3000000000L;
    private static final int LOGINS = 3;

    private final Hub hub;
    private final long id;
    private final Work work;
    private final Map unsettled = new ConcurrentHashMap(); // number of a delivery -> message, subscription
    private volatile Connection connection;
    private volatile boolean open, closing;
    private Session session;
    private MessageProducer producer;
    public volatile Transactions transactions; // in which messages may be sent, once it is open
    private long deliveries;
    private final AtomicInteger unanswered = new AtomicInteger(); // durable sends

    public Link(Hub hub, long id) {
        this.hub = hub;
        this.id = id;
        this.work = new Work("brokerbench-link-" + id);
    }

    public void open(final String uri, final String user, final String password, final String clientId, final String pem) {
        work.add(new Runnable() {
            public void run() {
                try {
                    connect(uri, user, password, clientId, pem);
                    if (closing) {
                        leave(); // abandoned while it connected
                        return;
                    }
                    hub.tell(id, "opened");
                } catch (Throwable error) {
                    boolean passes = error instanceof JMSException && Words.passes((JMSException) error);
                    hub.tell(id, Words.refused(error) && !passes ? "refused" : "failed", Words.of(error), null, null);
                    leave();
                }
            }
        });
    }

    private void connect(String uri, String user, String password, String clientId, String pem) throws Exception {
        for (int left = LOGINS; !logsIn(uri, user, password, clientId, pem, left == 1); left--) {
            Library.cut(connection);
        }
        session = connection.createSession(false, Library.ONE_BY_ONE);
        producer = session.createProducer(null);
        transactions = new Transactions(hub, id, work, connection);
        open = true;
    }

    /**
     * Not, when the broker hangs up instead of an answer and this was not the last try. A Classic broker that refuses
     * a login may do so: when it has not wholly started the connection, it stops it at once and says nothing.
     */
    private boolean logsIn(String uri, String user, String password, String clientId, String pem, boolean last)
            throws Exception {
        connection = Library.open(uri, user, password, clientId, pem);
        if (closing) {
            throw new JMSException("abandoned"); // whoever did that knew only of the connection before
        }
        connection.setExceptionListener(new ExceptionListener() {
            public void onException(JMSException error) {
                lost(Words.of(error));
            }
        });
        try {
            connection.start();
            return true;
        } catch (JMSException error) {
            if (last || closing || Words.refused(error)) {
                throw error;
            }
            return false;
        }
    }

    /** Lost when nobody asked for it; told once. */
    private void lost(String reason) {
        synchronized (this) {
            if (!open || closing) {
                return;
            }
            open = false;
        }
        hub.tell(id, "lost", reason, null, null);
    }

    /** Write one message: "written" with the time just before, or "unwritten"; a durable one is "settled" later. */
    public void send(final long token, final boolean topic, final String name, final byte[] body, final boolean durable) {
        work.add(new Runnable() {
            public void run() {
                try {
                    Answer answer = durable ? new Settlement(hub, id, token, unanswered) : null;
                    long sentNs =
                        Library.send(session, producer, Library.destination(topic, name), body, durable, answer);
                    hub.tell(id, "written", Long.valueOf(token), Long.valueOf(sentNs), null);
                } catch (Throwable error) {
                    Object refused = Boolean.valueOf(Words.refused(error) && open);
                    hub.tell(id, "unwritten", Long.valueOf(token), Words.of(error), refused);
                }
            }
        });
    }

    public void subscribe(
            final long token, final boolean topic, final String name, final int prefetch, final String selector,
            final String durableName) {
        work.add(new Runnable() {
            public void run() {
                try {
                    Library.expect(connection, prefetch);
                    Destination from = Library.destination(topic, name);
                    consumer(from, selector, durableName).setMessageListener(new Deliveries(token, prefetch));
                    hub.tell(id, "subscribed", Long.valueOf(token), Long.valueOf(System.nanoTime()), null);
                } catch (Throwable error) {
                    Object refused = Boolean.valueOf(Words.refused(error) && open);
                    hub.tell(id, "unsubscribed", Long.valueOf(token), Words.of(error), refused);
                }
            }
        });
    }

    private MessageConsumer consumer(Destination from, String selector, String durableName) throws JMSException {
        Session own = connection.createSession(false, Library.ONE_BY_ONE);
        String wanted = selector.isEmpty() ? null : selector;
        if (durableName.isEmpty()) {
            return own.createConsumer(from, wanted);
        }
        return own.createDurableSubscriber((Topic) from, durableName, wanted, false);
    }

    /** What one subscription brings: the listener takes no further message while as many as its prefetch are unsettled. */
    final class Deliveries implements MessageListener {
        private final Long subscription;
        private final int prefetch;
        private int unsettled;

        Deliveries(long subscription, int prefetch) {
            this.subscription = Long.valueOf(subscription);
            this.prefetch = prefetch;
        }

        synchronized void settled() {
            unsettled--;
            notifyAll();
        }

        synchronized void taken() {
            unsettled++;
        }

        synchronized void waitForRoom() {
            try {
                while (unsettled >= prefetch && open && !closing) {
                    wait(100L);
                }
            } catch (InterruptedException interrupted) {
                lost("interrupted");
            }
        }

        public void onMessage(Message message) {
            if (closing) {
                return; // it stays with the broker
            }
            long receivedNs = System.nanoTime();
            try {
                taken();
                Object[] about = {Long.valueOf(receivedNs), Boolean.valueOf(message.getJMSRedelivered()),
                    Integer.valueOf(Bodies.hops(message)), Long.valueOf(keep(message, this))};
                hub.tell(id, "delivery", subscription, Library.body(message).copy(), about);
            } catch (Throwable unreadable) {
                lost("a message could not be read: " + Words.of(unreadable));
            }
            waitForRoom();
        }
    }

    synchronized long keep(Message message, Deliveries of) {
        unsettled.put(Long.valueOf(++deliveries), new Object[] {message, of});
        return deliveries;
    }

    public void settle(final long delivery) {
        work.add(new Runnable() {
            public void run() {
                Object[] kept = (Object[]) unsettled.remove(Long.valueOf(delivery));
                try {
                    if (kept != null) {
                        ((Message) kept[0]).acknowledge();
                        ((Deliveries) kept[1]).settled();
                    }
                } catch (Throwable gone) {
                    lost(Words.of(gone)); // the broker delivers it again
                }
            }
        });
    }

    /** Every message on a queue, as two lists: the bodies, and when they were sent by the sender's wall clock in ms. */
    public void browse(final String name) {
        work.add(new Runnable() {
            public void run() {
                List bodies = new ArrayList();
                try {
                    Session own = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
                    QueueBrowser browser = own.createBrowser((Queue) Library.destination(false, name));
                    for (Enumeration found = browser.getEnumeration(); found.hasMoreElements();) {
                        Message message = (Message) found.nextElement();
                        bodies.add(
                            new Object[] {Library.body(message).copy(), Long.valueOf(message.getJMSTimestamp())});
                    }
                    browser.close();
                    hub.tell(id, "browsed", bodies.toArray(), "", null);
                } catch (Throwable error) {
                    hub.tell(id, "browsed", bodies.toArray(), Words.of(error), null);
                }
            }
        });
    }

    /** Leave politely, after what was asked for before; "closed" when that is done. */
    public void close() {
        closing = true;
        work.add(new Runnable() {
            public void run() {
                leave();
            }
        });
    }

    /** Leave without a word: for a broker that does not answer. */
    public void abandon() {
        closing = true;
        final Connection left = connection;
        final Work leaving = new Work("brokerbench-abandon-" + id);
        leaving.add(new Runnable() {
            public void run() {
                try {
                    if (left != null) {
                        Library.cut(left);
                    }
                } catch (Throwable nothingMoreToDo) {
                    hub.tell(id, "closed");
                }
                leaving.end();
            }
        });
        work.end();
    }

    /** Some brokers answer a goodbye before what was sent ahead of it. Bounded: a send that was refused has no answer. */
    private void hearAnswers() {
        long endNs = System.nanoTime() + ANSWERS_NS;
        while (open && unanswered.get() > 0 && System.nanoTime() < endNs) {
            LockSupport.parkNanos(1000000L);
        }
    }

    private void leave() {
        closing = true;
        hearAnswers();
        try {
            if (connection != null) {
                Library.leave(connection);
            }
            hub.tell(id, "closed", "", null, null);
        } catch (Throwable error) {
            hub.tell(id, "closed", Words.of(error), null, null);
        }
        work.end();
    }
}
