package brokerbench;

import javax.jms.ExceptionListener;
import javax.jms.JMSException;
import javax.jms.MessageConsumer;
import javax.jms.Topic;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.activemq.ActiveMQConnection;
import org.apache.activemq.ActiveMQConnectionFactory;
import org.apache.activemq.ActiveMQSession;
import org.apache.activemq.broker.SslContext;
import org.apache.activemq.command.ActiveMQDestination;
import org.apache.activemq.transport.Transport;
import org.apache.activemq.transport.TransportListener;
import org.apache.activemq.transport.failover.FailoverTransport;

/**
 * One client of a load: it stays connected by the Java client's own failover transport, sends and receives in this JVM,
 * and tells Python of every attempt, connection and loss.
 */
public final class Client implements TransportListener, ExceptionListener {
    private static final long CONCLUDE_MS = 5000L;

    static {
        TcpWatch.install();
    }

    private final Hub hub;
    private final long id;
    private final Names names;
    private final SendRows sends;
    private final ReceiptRows receipts;
    private final Work work;
    private final List senders = new CopyOnWriteArrayList();
    private volatile ActiveMQConnection connection;
    private Wire wire; // the one that the failover transport uses, or used last
    private volatile Wire heard; // the one by which the last message came
    private volatile int broker;
    private boolean loggedIn; // once the broker has accepted the first connection
    private boolean connected; // told so
    private volatile Wire started; // the last one that reached a broker
    private Wire early; // one that the failover transport used before the client was logged in
    private long earlyNs;
    private boolean closing;

    public Client(Hub hub, long id, Names names, SendRows sends, ReceiptRows receipts) {
        this.hub = hub;
        this.id = id;
        this.names = names;
        this.sends = sends;
        this.receipts = receipts;
        this.broker = names.nobody;
        this.work = new Work("brokerbench-client-" + id);
    }

    /** Connect as the failover URI says: "opened" or "refused". */
    public void open(final String uri, final String user, final String password, final String clientId, final String pem) {
        work.add(new Runnable() {
            public void run() {
                try {
                    connect(uri, user, password, clientId, pem);
                    opened();
                } catch (Exception error) {
                    boolean refused = error instanceof JMSException && Words.refused(error);
                    hub.tell(id, refused ? "refused" : "unreachable", Words.of(error), null, null);
                    leave();
                }
            }
        });
    }

    void connect(String uri, String user, String password, String clientId, String pem) throws Exception {
        ActiveMQConnectionFactory factory = new ActiveMQConnectionFactory(uri);
        factory.setUserName(user);
        factory.setPassword(password);
        factory.setCopyMessageOnSend(false); // a message is sent once, and knows itself by what it is
        factory.setTransportListener(this);
        factory.setExceptionListener(this);
        if (!clientId.isEmpty()) {
            factory.setClientID(clientId);
        }
        SslContext.setCurrentSslContext(new Watch(this, pem));
        try {
            connection = (ActiveMQConnection) factory.createConnection();
        } finally {
            SslContext.setCurrentSslContext(null);
        }
        connection.start();
    }

    void opened() {
        synchronized (this) {
            loggedIn = true;
            tellConnected(System.nanoTime());
        }
        hub.tell(id, "opened");
    }

    /** Send to a destination on a schedule: "sender" with the new sender, or "unsendable"; "finished" when it is over. */
    public void sender(
            final boolean topic, final String name, final int number, final int destination, final boolean durable,
            final boolean resend, final int inFlight, final byte[] template) {
        final Client self = this;
        work.add(new Runnable() {
            public void run() {
                try {
                    ActiveMQSession session = session();
                    Sender sender = new Sender(
                        self, session, destination(topic, name), sends, names, number, destination, durable, resend,
                        inFlight, template);
                    senders.add(sender);
                    Thread thread = new Thread(sender, "brokerbench-sender-" + number);
                    thread.setDaemon(true);
                    thread.start();
                    hub.tell(id, "sender", sender, null, null);
                } catch (Exception error) {
                    hub.tell(id, "unsendable", Words.of(error), null, null);
                }
            }
        });
    }

    /** Subscribe: "subscribed" with the time and the broker's address, or "unsubscribed". */
    public void receiver(
            final boolean topic, final String name, final int prefetch, final String selector, final String durableName,
            final int number, final int subscription, final int destination, final int run) {
        final Client self = this;
        work.add(new Runnable() {
            public void run() {
                try {
                    connection.getPrefetchPolicy().setAll(prefetch);
                    MessageConsumer consumer = consumer(destination(topic, name), selector, durableName);
                    long beganNs = System.nanoTime();
                    consumer.setMessageListener(
                        new Receiver(self, receipts, names, number, subscription, destination, run));
                    hub.tell(id, "subscribed", Long.valueOf(beganNs), address(), null);
                } catch (Exception error) {
                    hub.tell(id, "unsubscribed", Words.of(error), null, null);
                }
            }
        });
    }

    MessageConsumer consumer(ActiveMQDestination from, String selector, String durableName) throws JMSException {
        String wanted = selector.isEmpty() ? null : selector;
        if (durableName.isEmpty()) {
            return session().createConsumer(from, wanted);
        }
        return session().createDurableSubscriber((Topic) from, durableName, wanted, false);
    }

    ActiveMQSession session() throws JMSException {
        return (ActiveMQSession) connection.createSession(false, ActiveMQSession.INDIVIDUAL_ACKNOWLEDGE);
    }

    /** Leave: hear the answers that are under way, a bounded time; "closed" when that is done. */
    public void close() {
        work.add(new Runnable() {
            public void run() {
                for (int i = 0; i < senders.size(); i++) {
                    ((Sender) senders.get(i)).conclude(CONCLUDE_MS);
                }
                leave();
            }
        });
    }

    /** Leave without a word, at once: no broker answers. */
    public void abandon() {
        synchronized (this) {
            closing = true;
        }
        final ActiveMQConnection left = connection;
        new Work("brokerbench-abandon-" + id).add(new Runnable() {
            public void run() {
                for (int i = 0; i < senders.size(); i++) {
                    ((Sender) senders.get(i)).conclude(0L);
                }
                hub.tell(id, "abandoned");
                try {
                    if (left != null) {
                        left.getTransport().stop();
                    }
                } catch (Exception nothingMoreToDo) {
                    hub.tell(id, "closed", Words.of(nothingMoreToDo), null, null);
                }
            }
        });
    }

    void leave() {
        synchronized (this) {
            closing = true;
        }
        String trouble = "";
        try {
            if (connection != null && !connected) {
                connection.getTransport().stop(); // nobody would hear the goodbye
            }
            if (connection != null) {
                connection.close();
            }
        } catch (Exception error) {
            trouble = Words.of(error);
        }
        tell("closed", System.nanoTime(), trouble, "");
        work.end();
    }

    /** The number of the broker from which the last message came. */
    int broker() {
        return broker;
    }

    void hears(Wire by) {
        if (heard != by) {
            heard = by;
            broker = names.broker(by.address);
        }
    }

    void finished(int number, String trouble) {
        hub.tell(id, "finished", trouble, Integer.valueOf(number), null);
    }

    void refused(String reason) {
        hub.tell(id, "message refused", reason, null, null);
    }

    void unsettled(JMSException error) {
        hub.tell(id, "unsettled", Words.of(error), null, null);
    }

    // What the connections below tell.

    void attempted(Wire made, long beganNs, String trouble) {
        if (trouble.isEmpty()) {
            started = made;
        }
        tell("attempt", beganNs, trouble, made.address);
    }

    /** A broker took nothing from a sender for so long. */
    void blocked(String address, long beganNs, long endedNs, String reason) {
        tell("blocked", beganNs, reason, address);
        tell("unblocked", endedNs, reason, address);
    }

    // What the failover transport tells.

    public void transportResumed() {
        synchronized (this) {
            if (loggedIn && !closing) {
                tellConnected(System.nanoTime());
            } else if (!closing) {
                resumedEarly(connection == null ? started : current(), System.nanoTime());
            }
        }
    }

    /** Before the client knows that it is logged in: a broker that told it to move had accepted it. */
    private void resumedEarly(Wire by, long atNs) {
        if (!connected && early != null && early != by && early.told()) {
            connected = true;
            wire = early;
            tell("connected", earlyNs, "", early.address);
        }
        if (connected) {
            tellConnected(atNs);
        }
        early = by;
        earlyNs = atNs;
    }

    public void transportInterupted() {
        synchronized (this) {
            if (connected && !closing) {
                connected = false;
                interruptSenders(System.nanoTime());
                String reason = wire.trouble().isEmpty() ? "left for another broker" : wire.trouble();
                tell("lost", System.nanoTime(), reason, wire.address);
            }
        }
    }

    public void onCommand(Object command) {}

    public void onException(IOException error) {}

    /** The failover transport gave up, or the broker ended the connection for good. */
    public void onException(JMSException error) {
        synchronized (this) {
            if (closing || !loggedIn) {
                return;
            }
        }
        if (!Words.refused(error)) {
            hub.tell(id, "over", Words.of(error), null, null);
        }
    }

    void tellConnected(long atNs) {
        Wire current = current();
        if (current == null || connected && current == wire) {
            return;
        }
        String why = connected ? leftFor() : "";
        connected = true;
        wire = current;
        tell("connected", atNs, why, wire.address);
    }

    /** The failover transport left a working connection, which it does not tell: why. */
    private String leftFor() {
        String why = wire.told() ? "broker" : "priority";
        interruptSenders(wire.leftNs());
        tell("left", wire.leftNs(), why, wire.address);
        return why;
    }

    private void interruptSenders(long atNs) {
        for (int i = 0; i < senders.size(); i++) {
            ((Sender) senders.get(i)).interrupted(atNs);
        }
    }

    /** Which of the connections the failover transport uses: it may hold others in reserve. */
    Wire current() {
        FailoverTransport failover = (FailoverTransport) connection.getTransport().narrow(FailoverTransport.class);
        Transport used = failover == null ? null : failover.getConnectedTransport();
        return used instanceof Wire ? (Wire) used : null;
    }

    private void tell(String event, long atNs, String reason, String address) {
        hub.tell(id, event, Long.valueOf(atNs), reason, address);
    }

    synchronized String address() {
        return wire == null ? "" : wire.address;
    }

    static ActiveMQDestination destination(boolean topic, String name) {
        return ActiveMQDestination.createDestination(
            name, topic ? ActiveMQDestination.TOPIC_TYPE : ActiveMQDestination.QUEUE_TYPE);
    }
}
