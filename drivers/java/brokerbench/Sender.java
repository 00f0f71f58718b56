package brokerbench;

import java.util.ArrayDeque;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import javax.jms.Destination;
import javax.jms.JMSException;
import javax.jms.Session;

/**
 * Sends the messages of one client to one destination, each when it is due, on a thread of its own; or the replies of
 * one consumer, each to its own destination, on the consumer's thread.
 */
public abstract class Sender implements Runnable {
    private static final long BLOCKED_AFTER_NS = 1_000_000_000L; // drivers/client/backpressure.py

    final SendRows rows;
    final Names names;
    final int number;
    final int destination;
    final boolean durable;
    final boolean each; // whether the broker answers each message by itself
    final boolean answered; // whether it answers at all
    final boolean resend;
    final byte[] template;
    final MessageHeaders headers;
    final Destination replyTo; // of each message; null: none is a request
    private final LoadClient client;
    private final int inFlight;
    private final TransactedBatch transacted; // null: each message by itself
    private final Queue<long[]> due = new ArrayDeque<>(); // in order
    private final Readiness readiness = new Readiness();
    /** Messages that wait for their final outcome. */
    private final Set<ScheduledSend> open = Collections.newSetFromMap(new IdentityHashMap<>());
    private long[] times = new long[0];
    private int next;
    private long seq;
    private long begunNs; // of the one message that is sent alone: when that began; 0 otherwise
    private long readyNs; // and since when it could have begun
    private boolean held; // it was made to wait before that
    private long roomNs; // when the in-flight window last had room again. Guarded by `open`
    private boolean complete; // no further due times will come
    private volatile boolean closed; // nothing is due: each message is sent once the last one has its outcome
    private long startNs; // of a closed load, and how many messages it sends; below 0: until it ends
    private long count;
    private volatile long endNs = Long.MAX_VALUE; // of a closed load
    private long awaitedNs; // since when an answer is awaited; 0: none is. Guarded by `open`, as its address is
    private String awaitedFrom;
    private boolean refused; // a broker refused one of its messages, and this was reported. Guarded by `open`
    private volatile boolean stopping;
    private volatile Thread thread; // its own
    private volatile long begun;
    private volatile boolean wasBlocked; // the last message, or the next one, had to wait for the brokers
    private volatile long writingSinceNs; // 0: it does not write

    Sender(LoadClient client, Task task, Session session) {
        this.client = client;
        this.rows = client.sends;
        this.names = client.names;
        this.number = task.number();
        this.destination = task.destination();
        this.replyTo = task.replyTo();
        ProducerSettings settings = task.settings();
        int size = settings.transactionSize();
        this.durable = settings.durable();
        this.transacted = size > 0 ? new TransactedBatch(client, this, session, size) : null;
        this.each = durable && transacted == null;
        this.answered = durable || transacted != null;
        this.resend = settings.resendInDoubt();
        this.inFlight = settings.inFlight();
        this.template = settings.template();
        this.headers = settings.messages();
    }

    /** Write it, and register it for its answer. */
    abstract void send(ScheduledSend send) throws JMSException;

    /** The same of one that was sent before. */
    void sendAgain(ScheduledSend scheduled) throws JMSException {
        send(scheduled);
    }

    /** The connection broke before this message's answer. */
    abstract void unanswered(ScheduledSend send);

    /**
     * The number of the broker that answered. `written`: the number of the broker that the library was asked to write
     * to.
     */
    int answering(int written) {
        return written;
    }

    /** The connection broke while a message of a transaction was written. */
    void broke() {
        transacted.broke();
    }

    /**
     * There will be one message, with this number. It began, and was counted, when its connection attempt began. The
     * sender ends once the outcome is known.
     */
    public synchronized void alone(long seq, long begunNs, long readyNs, boolean held) {
        this.seq = seq;
        this.readyNs = readyNs;
        this.begunNs = begunNs;
        this.held = held;
    }

    /** When the next messages are due. `last`: there will be no more. */
    public synchronized void add(long[] times, boolean last) {
        due.add(times);
        complete = complete || last;
        notifyAll();
    }

    /**
     * There will be no due times: from `startNs` on, each message is sent as soon as the last one has its final
     * outcome. `count`: how many messages; below 0: until `endAt`.
     */
    public synchronized void closed(long startNs, long count) {
        this.startNs = startNs;
        this.count = count;
        closed = true;
        notifyAll();
    }

    /** No message of a closed load begins at this time or later. */
    public void endAt(long endNs) {
        this.endNs = endNs;
    }

    /** No further message is begun. */
    public synchronized void stop() {
        stopping = true;
        notifyAll();
        LockSupport.unpark(thread);
    }

    /** How many messages were begun, written or not. */
    public long begun() {
        return begun;
    }

    /**
     * Whether it waits for the brokers, or did before its last message: for room in flight, a write or a commit. Also
     * whether it still catches up after such a wait.
     */
    public boolean heldBack() {
        long sinceNs = writingSinceNs;
        long nowNs = System.nanoTime();
        boolean catchingUp = !closed && readiness.catchesUp(nowNs); // in a closed load nothing became due
        return wasBlocked || sinceNs != 0 && nowNs - sinceNs > Readiness.LONG_WRITE_NS || catchingUp;
    }

    @Override
    public void run() {
        thread = Thread.currentThread();
        String trouble = "";
        try {
            for (long dueNs = nextDue(); dueNs != Rows.NO_TIME; dueNs = nextDue()) {
                waitUntil(dueNs);
                boolean blocked = waitForRoom() || held || transacted != null && transacted.heldUp(dueNs);
                wasBlocked = blocked;
                if (stopping) {
                    break;
                }
                next++;
                begun++;
                if (begunNs == 0) {
                    rows.countBegun();
                }
                writingSinceNs = System.nanoTime();
                begin(dueNs, new ScheduledSend(this, seq++, dueNs, readyNs, begunNs, blocked, null));
                writingSinceNs = 0;
            }
            if (transacted != null) {
                transacted.commit(); // the last transaction, even if it is not full
            }
            if (begunNs != 0) {
                waitForAnswer();
            }
        } catch (Throwable error) {
            trouble = Errors.of(error);
            if (transacted != null) {
                transacted.giveUp();
            }
        }
        client.finished(number, trouble);
    }

    /** Send a reply now. It is recorded too if it cannot be sent; why is told, as a refusal. */
    void reply(long dueNs, Reply reply) {
        begun++;
        rows.countBegun();
        long nowNs = System.nanoTime();
        try {
            begin(dueNs, new ScheduledSend(this, seq++, dueNs, nowNs, nowNs, false, reply));
        } catch (JMSException error) {
            refused(Errors.of(error));
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void begin(long dueNs, ScheduledSend scheduled) throws JMSException, InterruptedException {
        if (answered) {
            synchronized (open) {
                open.add(scheduled);
            }
        }
        boolean done = false;
        try {
            if (transacted == null) {
                send(scheduled);
            } else {
                transacted.add(scheduled);
            }
            done = true;
            readiness.onWritten(dueNs, scheduled.sentNs(), System.nanoTime());
        } finally {
            if (!done) {
                scheduled.giveUp();
            }
        }
    }

    /** The next due time, or NO_TIME if no more will come. */
    private long nextDue() throws InterruptedException {
        if (next == times.length && !closed) {
            times = nextTimes();
            next = 0;
        }
        if (closed) {
            return nextClosed();
        }
        return times.length == 0 || stopping ? Rows.NO_TIME : times[next];
    }

    private long[] nextTimes() throws InterruptedException {
        synchronized (this) {
            while (due.isEmpty() && !complete && !stopping && !closed) {
                wait();
            }
            return due.isEmpty() || stopping ? new long[0] : due.remove();
        }
    }

    /** When the next message of a closed load may be sent, or NO_TIME if no more will come. */
    private long nextClosed() throws InterruptedException {
        waitForRoom();
        long fromNs;
        synchronized (open) {
            fromNs = Math.max(startNs, roomNs);
        }
        return stopping || begun == count || fromNs >= endNs ? Rows.NO_TIME : fromNs;
    }

    /** Wait until then at once; a stop ends the wait: steps would cost a thousand senders a core. */
    private void waitUntil(long dueNs) {
        long early = dueNs - System.nanoTime();
        if (early <= 0) {
            return;
        }
        for (; early > 0 && !stopping; early = dueNs - System.nanoTime()) {
            LockSupport.parkNanos(early);
        }
        readiness.onWake(dueNs, dueNs - early);
    }

    /** True when the in-flight cap made it wait. */
    private boolean waitForRoom() throws InterruptedException {
        boolean blocked = false;
        synchronized (open) {
            while (answered && open.size() >= inFlight && !stopping) {
                blocked = true;
                wasBlocked = true;
                open.wait(50L);
            }
            if (blocked) {
                readiness.released(roomNs);
            }
        }
        return blocked;
    }

    private void waitForAnswer() throws InterruptedException {
        synchronized (open) {
            while (!open.isEmpty()) {
                open.wait(50L);
            }
        }
    }

    /** A message has its final outcome. */
    void closed(ScheduledSend send) {
        rows.countSettled();
        synchronized (open) {
            long nowNs = System.nanoTime();
            if (open.remove(send) && open.size() == inFlight - 1) {
                roomNs = nowNs;
            }
            heard(nowNs);
            open.notifyAll();
        }
    }

    /** A commit was answered. The next message had to wait for that. */
    void committed(long atNs) {
        readiness.released(atNs);
    }

    /** Since when a message that goes now could have been sent. */
    long readyNs(long dueNs, long sentNs) {
        readiness.released(Math.min(client.connectedNs(), sentNs));
        return readiness.readyNs(dueNs);
    }

    /** Something is being written that the broker is to answer. */
    void awaits(String address, long atNs) {
        synchronized (open) {
            if (awaitedNs == 0) {
                awaitedNs = atNs;
                awaitedFrom = address;
            }
        }
    }

    /** No answer will come by the connection that was. */
    void interrupted(long atNs) {
        synchronized (open) {
            waited(awaitedFrom, awaitedNs, atNs, "no answer");
            awaitedNs = 0;
        }
    }

    private void heard(long atNs) {
        if (awaitedNs != 0) {
            waited(awaitedFrom, awaitedNs, atNs, "no answer");
            awaitedNs = open.isEmpty() ? 0 : atNs;
        }
    }

    /** A message was written that expects no answer. */
    void wrote(String address, long beganNs) {
        waited(address, beganNs, System.nanoTime(), "the write waited");
    }

    private void waited(String address, long beganNs, long endedNs, String what) {
        if (beganNs != 0 && endedNs - beganNs >= BLOCKED_AFTER_NS) {
            client.blocked(address, beganNs, endedNs, "producer " + number + ": " + what);
        }
    }

    /** A broker that refuses one message may refuse all, so only the first refusal is reported. */
    void refused(String reason) {
        boolean first;
        synchronized (open) {
            first = !refused;
            refused = true;
        }
        if (first) {
            client.refused(number, reason);
        }
    }

    /** Wait for all answers. Messages without an answer by then are in doubt; returns their number. */
    int conclude(long endNs) {
        List<ScheduledSend> left;
        synchronized (open) {
            for (long leftNs = endNs - System.nanoTime(); !open.isEmpty() && leftNs > 0; leftNs = endNs - System.nanoTime()) {
                try {
                    open.wait(leftNs / 1_000_000L + 1);
                } catch (InterruptedException interrupted) {
                    break;
                }
            }
            left = List.copyOf(open);
        }
        int inDoubt = 0;
        for (ScheduledSend send : left) {
            inDoubt += send.giveUp() ? 1 : 0;
        }
        return inDoubt;
    }
}
