package brokerbench;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
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
public abstract class LoadClient extends Standing implements ExceptionListener {
    private static final long CONCLUDE_NS = 5000000000L; // for all that its senders still await, together

    final Names names;
    final SendRows sends;
    private final ReceiptRows receipts;
    private final Work work;
    private final List senders = new CopyOnWriteArrayList();
    private final AtomicInteger inDoubt = new AtomicInteger(); // messages that it left
    private volatile Connection connection;

    LoadClient(Hub hub, long id, Names names, SendRows sends, ReceiptRows receipts) {
        super(hub, id);
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
        work.add(new Asked(this, "unsendable", request) {
            void ask() throws JMSException {
                Destination to = Library.destination(topic, name);
                Task task = new Task(to, number, destination, durable, resend, inFlight, transaction, template);
                Session session = transaction > 0 ? transacted() : session(durable);
                Sender sender;
                try {
                    sender = sender(session, task);
                } catch (JMSException error) {
                    Transactions.close(session); // it is asked for again, or not at all
                    throw error;
                }
                senders.add(sender);
                if (isClosing()) {
                    sender.stop(); // it was not there yet when the others were
                }
                Thread thread = new Thread(sender, "brokerbench-sender-" + number);
                thread.setDaemon(true);
                thread.start();
                hub.tell(id, "sender", sender, null, Long.valueOf(request));
            }
        });
    }

    /** Subscribe: "subscribed" with the time and the broker's address, or "unsubscribed". */
    public void receiver(
            final long request, final boolean topic, final String name, final int prefetch, final String selector,
            final String durableName, final int number, final int subscription, final int destination,
            final int run) {
        work.add(new Asked(this, "unsubscribed", request) {
            void ask() throws JMSException {
                Library.expect(connection, prefetch);
                MessageConsumer consumer = consumer(Library.destination(topic, name), selector, durableName);
                long beganNs = System.nanoTime();
                consumer.setMessageListener(
                    new Receiver(LoadClient.this, receipts, names, number, subscription, destination, run));
                hub.tell(id, "subscribed", Long.valueOf(beganNs), address(), Long.valueOf(request));
            }
        });
    }

    MessageConsumer consumer(Destination from, String selector, String durableName) throws JMSException {
        String wanted = selector.isEmpty() ? null : selector;
        Session own = session(false);
        try {
            if (durableName.isEmpty()) {
                return own.createConsumer(from, wanted);
            }
            return own.createDurableSubscriber((Topic) from, durableName, wanted, false);
        } catch (JMSException error) {
            Transactions.close(own);
            throw error;
        }
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

    /**
     * Leave: hear the answers that are under way, a bounded time; "closed" when that is done. Nothing is asked any more,
     * and what is being asked, or sent again, has no time of its own: with the connection it comes to its end.
     */
    public void close() {
        leaving();
        final Work by = work.busy() ? new Work("brokerbench-leave-" + id) : work;
        by.add(new Runnable() {
            public void run() {
                conclude(System.nanoTime() + CONCLUDE_NS);
                leave();
                by.end();
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
                hub.tell(id, "abandoned", doubt(), null, null);
                try {
                    if (left != null) {
                        Library.cut(left);
                    } else {
                        giveUpConnecting();
                    }
                } catch (Throwable nothingMoreToDo) {
                    tell("closed", System.nanoTime(), Words.of(nothingMoreToDo), "");
                }
                leaving.end();
            }
        });
    }

    private void conclude(long endNs) {
        for (int i = 0; i < senders.size(); i++) {
            inDoubt.addAndGet(((Sender) senders.get(i)).conclude(endNs));
        }
    }

    /** What it leaves behind, as drivers/parting.py says it; "" if nothing. */
    private String doubt() {
        int messages = inDoubt.get();
        return messages == 0 ? "" : messages == 1 ? "1 message is in doubt" : messages + " messages are in doubt";
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
        String doubt = doubt();
        tell("closed", System.nanoTime(), trouble + (trouble.isEmpty() || doubt.isEmpty() ? "" : "; ") + doubt, "");
        work.end();
    }

    void finished(int number, String trouble) {
        hub.tell(id, "finished", trouble, Integer.valueOf(number), null);
    }

    void refused(int number, String reason) {
        hub.tell(id, "message refused", reason, Integer.valueOf(number), null);
    }

    void interruptSenders(long atNs) {
        for (int i = 0; i < senders.size(); i++) {
            ((Sender) senders.get(i)).interrupted(atNs);
        }
    }
}
