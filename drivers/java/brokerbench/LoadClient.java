package brokerbench;

import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
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
public abstract class LoadClient extends ClientState implements ExceptionListener {
    private static final long CONCLUDE_NS = 5_000_000_000L; // for all that its senders still await, together

    final Names names;
    final SendRows sends;
    private final ReceiptRows receipts;
    private final Worker worker;
    private final List<Sender> senders = new CopyOnWriteArrayList<>();
    private final Map<String, Destination> temporaries = new ConcurrentHashMap<>(); // its own, by our names for them
    private final AtomicInteger inDoubt = new AtomicInteger(); // messages that it left
    private volatile Connection connection;

    LoadClient(Hub hub, long id, Names names, SendRows sends, ReceiptRows receipts) {
        super(hub, id);
        this.names = names;
        this.sends = sends;
        this.receipts = receipts;
        this.worker = new Worker("brokerbench-client-" + id);
    }

    /** Connect as the URI says; not started. */
    abstract Connection made(Login login) throws Exception;

    /** End the calls of `made` on all threads: their results are no longer needed. */
    void giveUpConnecting() {}

    /** An attempt that was not told yet was the last one. */
    void gaveUp(String reason, boolean refused) {}

    /** Call `joined` if there is a connection that was not told yet; with this object's lock held. */
    abstract void tellConnected(long atNs);

    /** The number of the broker from which the last message came. */
    abstract int broker();

    abstract Sender sender(Session session, Task task) throws JMSException;

    /** Connect as the failover URI says: "opened" or "refused". */
    public void open(String uri, String user, String password, String clientId, String pem) {
        worker.add(() -> {
            try {
                connection = made(new Login(uri, user, password, clientId, pem));
                if (isClosing()) {
                    leave(); // abandoned while it connected
                    return;
                }
                connection.setExceptionListener(this);
                connection.start();
                opened();
            } catch (Throwable error) {
                boolean refused = error instanceof JMSException && Errors.refused(error);
                gaveUp(Errors.of(error), refused);
                hub.tell(id, refused ? "refused" : "unreachable", Errors.of(error));
                leave();
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
     * This answer and the next one's come with the request's number. `replyTo`: our name for the temporary queue to which
     * replies are to come; '': the messages are no requests.
     */
    public void sender(
            long request, boolean topic, String name, int number, int destination, ProducerSettings settings,
            String replyTo) {
        worker.add(new BrokerRequest(this, "unsendable", request, () -> {
            var to = Library.destination(topic, name);
            Destination replies = replyTo.isEmpty() ? null : temporaries.get(replyTo);
            Sender sender = senderOf(new Task(to, replies, number, destination, settings));
            senders.add(sender);
            if (isClosing()) {
                sender.stop(); // it was not there yet when the others were
            }
            var thread = new Thread(sender, "brokerbench-sender-" + number);
            thread.setDaemon(true);
            thread.start();
            hub.tell(id, "sender", sender, null, request);
        }));
    }

    private Sender senderOf(Task task) throws JMSException {
        ProducerSettings settings = task.settings();
        Session session = settings.transactionSize() > 0 ? transacted() : session(settings.durable());
        try {
            return sender(session, task);
        } catch (JMSException error) {
            close(session); // it is asked for again, or not at all
            throw error;
        }
    }

    /**
     * Subscribe: "subscribed" with the time and the broker's address, or "unsubscribed". `temporary`: from a new temporary
     * queue of this connection. `replies`: the destination by which replies to its requests are recorded; NO_NUMBER: it
     * does not reply.
     */
    public void receiver(
            long request, boolean topic, String name, boolean temporary, int prefetch, String selector,
            String durableName, int number, int subscription, int destination, int replies, int run, double lowMs,
            double highMs, boolean exponential, long seed) {
        worker.add(new BrokerRequest(this, "unsubscribed", request, () -> {
            Library.expect(connection, prefetch);
            Replies answers = replies == Rows.NO_NUMBER ? null : new Replies(replier(number, replies));
            MessageConsumer consumer = temporary
                ? temporary(name)
                : consumer(Library.destination(topic, name), selector, durableName);
            long beganNs = System.nanoTime();
            consumer.setMessageListener(
                new Receiver(
                    this, receipts, names, number, subscription, destination, run,
                    highMs > 0 ? new Work(lowMs, highMs, exponential, new Random(seed)) : null, answers));
            hub.tell(id, "subscribed", beganNs, address(), request);
        }));
    }

    private Sender replier(int number, int destination) throws JMSException {
        Sender sender = senderOf(new Task(null, null, number, destination, ProducerSettings.OF_REPLIES));
        senders.add(sender);
        return sender;
    }

    /** A consumer of a new temporary queue, in a session of its own. */
    private MessageConsumer temporary(String name) throws JMSException {
        Session own = session(false);
        try {
            Destination made = own.createTemporaryQueue();
            temporaries.put(name, made);
            return own.createConsumer(made);
        } catch (JMSException error) {
            close(own);
            throw error;
        }
    }

    /** A consumer in a session of its own; '' for no selector, and for a subscription that is not durable. */
    private MessageConsumer consumer(Destination from, String selector, String durableName) throws JMSException {
        Session own = session(false);
        String wanted = selector.isEmpty() ? null : selector;
        try {
            return durableName.isEmpty()
                ? own.createConsumer(from, wanted)
                : own.createDurableSubscriber((Topic) from, durableName, wanted, false);
        } catch (JMSException error) {
            close(own);
            throw error;
        }
    }

    /** Close a session that is no longer needed. The connection may live on for long. */
    private static void close(Session session) {
        try {
            session.close();
        } catch (JMSException gone) {
            return; // with its connection
        }
    }

    /** A session; durable: for sends that wait for the broker's answers. */
    Session session(boolean durable) throws JMSException {
        return connection.createSession(false, Library.OF_A_LOAD);
    }

    /** A session with transactions: its messages go to consumers with its next commit. */
    Session transacted() throws JMSException {
        return connection.createSession(true, Session.SESSION_TRANSACTED);
    }

    /** Runs on this client's own thread, which may wait. */
    void later(Runnable task) {
        worker.add(task);
    }

    /**
     * Close: wait a limited time for the answers under way, then report "closed". No new requests begin. Requests and
     * resends under way have no time limit of their own: they end with the connection.
     */
    public void close() {
        leaving();
        Worker by = worker.busy() ? new Worker("brokerbench-leave-" + id) : worker;
        by.add(() -> {
            conclude(System.nanoTime() + CONCLUDE_NS);
            leave();
            by.end();
        });
    }

    /** Close at once without telling the broker: no broker answers. */
    public void abandon() {
        closing();
        Connection left = connection;
        var leaving = new Worker("brokerbench-abandon-" + id);
        leaving.add(() -> {
            conclude(System.nanoTime());
            hub.tell(id, "abandoned", doubt());
            try {
                if (left != null) {
                    Library.cut(left);
                } else {
                    giveUpConnecting();
                }
            } catch (Throwable nothingMoreToDo) {
                tell("closed", System.nanoTime(), Errors.of(nothingMoreToDo), "");
            }
            leaving.end();
        });
    }

    private void conclude(long endNs) {
        senders.forEach(sender -> inDoubt.addAndGet(sender.conclude(endNs)));
    }

    /** The messages left in doubt, in the words of drivers/failover/reconnector.py; "" if none. */
    private String doubt() {
        int messages = inDoubt.get();
        return messages == 0 ? "" : messages == 1 ? "1 message is in doubt" : messages + " messages are in doubt";
    }

    synchronized void closing() {
        closing = true;
        senders.forEach(Sender::stop); // a sender may wait for due times that will not come
        notifyAll();
    }

    void leave() {
        closing();
        String trouble = "";
        try {
            if (connection != null && !connected) {
                Library.cut(connection); // no broker would receive the close
            }
            if (connection != null) {
                Library.leave(connection);
            }
        } catch (Throwable error) {
            trouble = Errors.of(error);
        }
        String doubt = doubt();
        tell("closed", System.nanoTime(), trouble + (trouble.isEmpty() || doubt.isEmpty() ? "" : "; ") + doubt, "");
        worker.end();
    }

    void finished(int number, String trouble) {
        hub.tell(id, "finished", trouble, number);
    }

    void refused(int number, String reason) {
        hub.tell(id, "message refused", reason, number);
    }

    @Override
    void interruptSenders(long atNs) {
        senders.forEach(sender -> sender.interrupted(atNs));
    }
}
