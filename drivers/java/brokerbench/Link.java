package brokerbench;

import java.io.IOException;
import java.util.Enumeration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.ArrayList;
import java.util.List;
import javax.jms.DeliveryMode;
import javax.jms.ExceptionListener;
import javax.jms.JMSException;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageListener;
import javax.jms.QueueBrowser;
import javax.jms.Session;
import javax.jms.Topic;
import javax.jms.Queue;
import org.apache.activemq.ActiveMQConnection;
import org.apache.activemq.ActiveMQConnectionFactory;
import org.apache.activemq.ActiveMQMessageProducer;
import org.apache.activemq.ActiveMQSession;
import org.apache.activemq.AsyncCallback;
import org.apache.activemq.broker.SslContext;
import org.apache.activemq.command.ActiveMQBytesMessage;
import org.apache.activemq.command.ActiveMQDestination;
import org.apache.activemq.transport.DefaultTransportListener;
import org.apache.activemq.util.ByteSequence;

/**
 * One connection to one broker, opened once, each message of which Python sends, receives and settles itself.
 *
 * It proves paths and looks at queues; what drives a load is in Client.
 */
public final class Link {
    private static final int PRIORITY = 4;

    private final Hub hub;
    private final long id;
    private final Work work;
    private final Map unsettled = new ConcurrentHashMap(); // number of a delivery -> message, subscription
    private volatile ActiveMQConnection connection;
    private volatile boolean open, closing;
    private ActiveMQSession session;
    private ActiveMQMessageProducer producer;
    private long deliveries;

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
                    hub.tell(id, "opened");
                } catch (Exception error) {
                    boolean passes = error instanceof JMSException && Words.passes((JMSException) error);
                    hub.tell(id, Words.refused(error) && !passes ? "refused" : "failed", Words.of(error), null, null);
                    leave();
                }
            }
        });
    }

    private void connect(String uri, String user, String password, String clientId, String pem) throws Exception {
        ActiveMQConnectionFactory factory = new ActiveMQConnectionFactory(uri);
        factory.setUserName(user);
        factory.setPassword(password);
        factory.setWatchTopicAdvisories(false);
        if (!clientId.isEmpty()) {
            factory.setClientID(clientId);
        }
        SslContext tls = new SslContext();
        tls.setSSLContext(Tls.context(pem));
        SslContext.setCurrentSslContext(tls);
        connection = (ActiveMQConnection) factory.createConnection();
        connection.setExceptionListener(new ExceptionListener() {
            public void onException(JMSException error) {
                lost(Words.of(error));
            }
        });
        connection.start();
        session = (ActiveMQSession) connection.createSession(false, ActiveMQSession.INDIVIDUAL_ACKNOWLEDGE);
        producer = (ActiveMQMessageProducer) session.createProducer(null);
        open = true;
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
                    ActiveMQBytesMessage message = (ActiveMQBytesMessage) session.createBytesMessage();
                    message.setContent(new ByteSequence(body));
                    int mode = durable ? DeliveryMode.PERSISTENT : DeliveryMode.NON_PERSISTENT;
                    AsyncCallback answer = durable ? new Answer(token) : null;
                    long sentNs = System.nanoTime();
                    producer.send(destination(topic, name), message, mode, PRIORITY, 0L, answer);
                    hub.tell(id, "written", Long.valueOf(token), Long.valueOf(sentNs), null);
                } catch (Exception error) {
                    Object refused = Boolean.valueOf(Words.refused(error) && open);
                    hub.tell(id, "unwritten", Long.valueOf(token), Words.of(error), refused);
                }
            }
        });
    }

    /** The broker's answer to a durable send. */
    final class Answer implements AsyncCallback {
        private final long token;

        Answer(long token) {
            this.token = token;
        }

        public void onSuccess() {
            hub.tell(id, "settled", Long.valueOf(token), Long.valueOf(System.nanoTime()), "");
        }

        public void onException(JMSException error) {
            if (Words.refused(error)) {
                hub.tell(id, "settled", Long.valueOf(token), Long.valueOf(System.nanoTime()), Words.of(error));
            }
        }
    }

    public void subscribe(
            final long token, final boolean topic, final String name, final int prefetch, final String selector,
            final String durableName) {
        work.add(new Runnable() {
            public void run() {
                try {
                    connection.getPrefetchPolicy().setAll(prefetch);
                    consumer(destination(topic, name), selector, durableName).setMessageListener(new Deliveries(token, prefetch));
                    hub.tell(id, "subscribed", Long.valueOf(token), Long.valueOf(System.nanoTime()), null);
                } catch (Exception error) {
                    Object refused = Boolean.valueOf(Words.refused(error) && open);
                    hub.tell(id, "unsubscribed", Long.valueOf(token), Words.of(error), refused);
                }
            }
        });
    }

    private MessageConsumer consumer(ActiveMQDestination from, String selector, String durableName) throws JMSException {
        ActiveMQSession own = (ActiveMQSession) connection.createSession(false, ActiveMQSession.INDIVIDUAL_ACKNOWLEDGE);
        String wanted = selector.isEmpty() ? null : selector;
        if (durableName.isEmpty()) {
            return own.createConsumer(from, wanted);
        }
        return own.createDurableSubscriber((Topic) from, durableName, wanted, false);
    }

    /**
     * What one subscription brings, no more at a time than its prefetch: the Java client, whose listener is done with a
     * message that nobody has acknowledged, asks the broker for one more.
     */
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

        synchronized void waitForRoom() {
            try {
                while (unsettled >= prefetch && open && !closing) {
                    wait(100L);
                }
            } catch (InterruptedException interrupted) {
                lost("interrupted");
            }
            unsettled++;
        }

        public void onMessage(Message message) {
            waitForRoom();
            if (closing) {
                return; // it stays with the broker
            }
            long receivedNs = System.nanoTime();
            try {
                Object[] about = {Long.valueOf(receivedNs), Boolean.valueOf(message.getJMSRedelivered()),
                    Integer.valueOf(Bodies.hops(message)), Long.valueOf(keep(message, this))};
                hub.tell(id, "delivery", subscription, Bodies.copy(message), about);
            } catch (JMSException unreadable) {
                lost("a message could not be read: " + Words.of(unreadable));
            }
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
                } catch (JMSException gone) {
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
                    ActiveMQSession own = (ActiveMQSession) connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
                    QueueBrowser browser = own.createBrowser((Queue) destination(false, name));
                    for (Enumeration found = browser.getEnumeration(); found.hasMoreElements();) {
                        Message message = (Message) found.nextElement();
                        bodies.add(new Object[] {Bodies.copy(message), Long.valueOf(message.getJMSTimestamp())});
                    }
                    browser.close();
                    hub.tell(id, "browsed", bodies.toArray(), "", null);
                } catch (Exception error) {
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
        final ActiveMQConnection left = connection;
        new Work("brokerbench-abandon-" + id).add(new Runnable() {
            public void run() {
                try {
                    if (left != null) {
                        left.getTransport().stop();
                    }
                } catch (Exception nothingMoreToDo) {
                    hub.tell(id, "closed");
                }
            }
        });
        work.end();
    }

    private void leave() {
        closing = true;
        try {
            if (connection != null) {
                connection.close();
            }
            hub.tell(id, "closed", "", null, null);
        } catch (JMSException error) {
            hub.tell(id, "closed", Words.of(error), null, null);
        }
        work.end();
    }

    private static ActiveMQDestination destination(boolean topic, String name) {
        return ActiveMQDestination.createDestination(
            name, topic ? ActiveMQDestination.TOPIC_TYPE : ActiveMQDestination.QUEUE_TYPE);
    }
}
