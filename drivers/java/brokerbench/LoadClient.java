package brokerbench;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.jms.Connection;
import javax.jms.Destination;
import javax.jms.ExceptionListener;
import javax.jms.JMSException;
import javax.jms.MessageConsumer;
import javax.jms.Session;
import javax.jms.Topic;

/**
 * One client of a load: it stays connected by its library's own failover, sends and receives in this JVM, and tells
 * Python of every attempt, connection and loss. Each library has a `Client` that does what is the library's own.
 */
public abstract class LoadClient implements ExceptionListener {
    private static final long CONCLUDE_NS = 5000000000L; // for all that its senders still await, together

    final Names names;
    final SendRows sends;
    private final ReceiptRows receipts;
    private final Hub hub;
    private final long id;
    private final Work work;
    private final List senders = new CopyOnWriteArrayList();
    private volatile Connection connection;
    private String at = ""; // the address of the broker that it is connected to, or was last
    boolean loggedIn; // once the broker has accepted the first connection
    boolean connected; // told so
    boolean closing;
    private boolean over; // there will be no connection again

    LoadClient(Hub hub, long id, Names names, SendRows sends, ReceiptRows receipts) {
        this.hub = hub;
        this.id = id;
        this.names = names;
        this.sends = sends;
        this.receipts = receipts;
        this.work = new Work("brokerbench-client-" + id);
    }

    /** Connect as the URI says; not started. */
    abstract Connection made(String uri, String user, String password, String clientId, String pem) throws Exception;

    /** What `made` is doing shall end, on whatever thread: nobody waits for it any more. */
    void giveUpConnecting() {}

    /** An attempt that was not told yet was the last one. */
    void gaveUp(String reason) {}

    /** Call `joined` if there is a connection that was not told yet; with this object's lock held. */
    abstract void tellConnected(long atNs);

    /** The number of the broker from which the last message came. */
    abstract int broker();

    abstract Sender sender(Session session, Task task) throws JMSException;

    /** Connect as the failover URI says: "opened" or "refused". */
    public void open(final String uri, final String user, final String password, final String clientId, final String pem) {
        work.add(new Runnable() {
            public void run() {
                try {
                    connection = made(uri, user, password, clientId, pem);
                    if (isClosing()) {
                        leave(); // abandoned while it connected
                        return;
                    }
                    connection.setExceptionListener(LoadClient.this);
                    connection.start();
                    opened();
                } catch (Throwable error) {
                    boolean refused = error instanceof JMSException && Words.refused(error);
                    gaveUp(Words.of(error));
                    hub.tell(id, refused ? "refused" : "unreachable", Words.of(error), null, null);
                    leave();
                }
            }
        });
    }

    void opened() {
        synchronized (this) {
            loggedIn = true;
            tellConnected(System.nanoTime());
        }
        hub.tell(id, "opened");
    }

    /**
     * Send to a destination on a schedule: "sender" with the new sender, or "unsendable"; "finished" when it is over.
     * This answer and the next one's come with the request's number.
     */
    public void sender(
            final long request, final boolean topic, final String name, final int number, final int destination,
            final boolean durable, final boolean resend, final int inFlight, final int transaction,
            final byte[] template) {
        work.add(new Runnable() {
            public void run() {
                try {
                    Destination to = Library.destination(topic, name);
                    Task task = new Task(to, number, destination, durable, resend, inFlight, transaction, template);
                    Sender sender = sender(transaction > 0 ? transacted() : session(durable), task);
                    senders.add(sender);
                    Thread thread = new Thread(sender, "brokerbench-sender-" + number);
                    thread.setDaemon(true);
                    thread.start();
                    hub.tell(id, "sender", sender, null, Long.valueOf(request));
                } catch (Throwable error) {
                    hub.tell(id, "unsendable", Words.of(error), null, Long.valueOf(request));
                }
            }
        });
    }

    /** Subscribe: "subscribed" with the time and the broker's address, or "unsubscribed". */
    public void receiver(
            final long request, final boolean topic, final String name, final int prefetch, final String selector,
            final String durableName, final int number, final int subscription, final int destination,
            final int run) {
        work.add(new Runnable() {
            public void run() {
                try {
                    Library.expect(connection, prefetch);
                    MessageConsumer consumer = consumer(Library.destination(topic, name), selector, durableName);
                    long beganNs = System.nanoTime();
                    consumer.setMessageListener(
                        new Receiver(LoadClient.this, receipts, names, number, subscription, destination, run));
                    hub.tell(id, "subscribed", Long.valueOf(beganNs), address(), Long.valueOf(request));
                } catch (Throwable error) {
                    hub.tell(id, "unsubscribed", Words.of(error), null, Long.valueOf(request));
                }
            }
        });
    }

    MessageConsumer consumer(Destination from, String selector, String durableName) throws JMSException {
        String wanted = selector.isEmpty() ? null : selector;
        if (durableName.isEmpty()) {
            return session(false).createConsumer(from, wanted);
        }
        return session(false).createDurableSubscriber((Topic) from, durableName, wanted, false);
    }

    /** A session; durable: for what waits for the broker's answers. */
    Session session(boolean durable) throws JMSException {
        return connection.createSession(false, Library.OF_A_LOAD);
    }

    /** A session whose messages go to consumers with its next commit. */
    Session transacted() throws JMSException {
        return connection.createSession(true, Session.SESSION_TRANSACTED);
    }

    /** On this client's own thread, which may wait. */
    void later(Runnable task) {
        work.add(task);
    }

    /** Leave: hear the answers that are under way, a bounded time; "closed" when that is done. */
    public void close() {
        work.add(new Runnable() {
            public void run() {
                conclude(System.nanoTime() + CONCLUDE_NS);
                leave();
            }
        });
    }

    /** Leave without a word, at once: no broker answers. */
    public void abandon() {
        closing();
        final Connection left = connection;
        final Work leaving = new Work("brokerbench-abandon-" + id);
        leaving.add(new Runnable() {
            public void run() {
                conclude(System.nanoTime());
                hub.tell(id, "abandoned");
                try {
                    if (left != null) {
                        Library.cut(left);
                    } else {
                        giveUpConnecting();
                    }
                } catch (Throwable nothingMoreToDo) {
                    hub.tell(id, "closed", Words.of(nothingMoreToDo), null, null);
                }
                leaving.end();
            }
        });
    }

    private void conclude(long endNs) {
        for (int i = 0; i < senders.size(); i++) {
            ((Sender) senders.get(i)).conclude(endNs);
        }
    }

    synchronized void closing() {
        closing = true;
        for (int i = 0; i < senders.size(); i++) {
            ((Sender) senders.get(i)).stop(); // one may wait for due times that nobody will give it any more
        }
        notifyAll();
    }

    void leave() {
        closing();
        String trouble = "";
        try {
            if (connection != null && !connected) {
                Library.cut(connection); // nobody would hear the goodbye
            }
            if (connection != null) {
                Library.leave(connection);
            }
        } catch (Throwable error) {
            trouble = Words.of(error);
        }
        tell("closed", System.nanoTime(), trouble, "");
        work.end();
    }

    /** Until there is a connection, at most so long (0: as long as it takes); false when there is none then. */
    synchronized boolean waitConnected(long atMostMs) throws InterruptedException {
        long endNs = System.nanoTime() + atMostMs * 1000000L;
        long leftMs = atMostMs;
        while (!connected && !closing && !over && (atMostMs == 0 || leftMs > 0)) {
            wait(atMostMs == 0 ? 0 : leftMs);
            leftMs = (endNs - System.nanoTime()) / 1000000L;
        }
        return connected;
    }

    synchronized boolean isClosing() {
        return closing;
    }

    /** Ends a sender whose client has given up, rather than to record each further message as failed. */
    synchronized void requireHope() throws JMSException {
        if (over && !closing) {
            throw new JMSException("there will be no connection again");
        }
    }

    /** Whether there may be a connection again. */
    synchronized boolean stays() {
        return !closing && !over;
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

    // What the library tells.

    /** Not of a client that leaves: the broker hangs up after the goodbye, and a library may take that for a loss. */
    void attempted(String address, long beganNs, String trouble) {
        if (!isClosing()) {
            tell("attempt", beganNs, trouble, address);
        }
    }

    /** A broker took nothing from a sender for so long. */
    void blocked(String address, long beganNs, long endedNs, String reason) {
        tell("blocked", beganNs, reason, address);
        tell("unblocked", endedNs, reason, address);
    }

    /** There is a connection. To be called, as the next two, while holding this object's lock. */
    void joined(String address, long atNs, String why) {
        connected = true;
        at = address;
        tell("connected", atNs, why, address);
        notifyAll();
    }

    /** There is none any more. */
    void lost(String reason) {
        connected = false;
        interruptSenders(System.nanoTime());
        tell("lost", System.nanoTime(), reason, at);
    }

    /** It was left for another one. */
    void left(long atNs, String why) {
        interruptSenders(atNs);
        tell("left", atNs, why, at);
    }

    private void interruptSenders(long atNs) {
        for (int i = 0; i < senders.size(); i++) {
            ((Sender) senders.get(i)).interrupted(atNs);
        }
    }

    /** The library gave up. */
    void end(String reason) {
        synchronized (this) {
            if (closing || !loggedIn) {
                return;
            }
            over = true;
            notifyAll();
        }
        hub.tell(id, "over", reason, null, null);
    }

    private void tell(String event, long atNs, String reason, String address) {
        hub.tell(id, event, Long.valueOf(atNs), reason, address);
    }

    synchronized String address() {
        return at;
    }
}
