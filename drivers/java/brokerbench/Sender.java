package brokerbench;

import java.util.ArrayDeque;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import javax.jms.JMSException;
import javax.jms.Session;

/** Sends the messages of one client to one destination, each when it is due, on a thread of its own. */
public abstract class Sender implements Runnable {
    static final int PRIORITY = 4;
    private static final long BLOCKED_AFTER_NS = 1000000000L; // drivers/patience.py

    final SendRows rows;
    final Names names;
    final int number;
    final int destination;
    final boolean durable;
    final boolean each; // whether the broker answers each message by itself
    final boolean answered; // whether it answers at all
    final boolean resend;
    final byte[] template;
    private final LoadClient client;
    private final int inFlight;
    private final Transacted transacted; // null: each message by itself
    private final ArrayDeque due = new ArrayDeque(); // arrays of due times, in order
    /** Messages whose final outcome is not known, but will be. */
    private final Set open = Collections.newSetFromMap(new IdentityHashMap());
    private long[] times = new long[0];
    private int next;
    private long seq;
    private long begunNs; // of the one message that is sent alone: when that began; 0 otherwise
    private boolean held; // it was made to wait before that
    private boolean complete; // no further due times will come
    private long awaitedNs; // since when an answer is awaited; 0: none is. Guarded by `open`, as its address is
    private String awaitedFrom;
    private boolean refused; // a broker refused a message of it, which was told. Guarded by `open`
    private volatile boolean stopping;
    private volatile Thread thread; // its own
    private volatile long begun;

    Sender(LoadClient client, Task task, Session session) {
        this.client = client;
        this.rows = client.sends;
        this.names = client.names;
        this.number = task.number;
        this.destination = task.destination;
        this.durable = task.durable;
        this.transacted = task.transaction > 0 ? new Transacted(client, this, session, task.transaction) : null;
        this.each = durable && transacted == null;
        this.answered = durable || transacted != null;
        this.resend = task.resend;
        this.inFlight = task.inFlight;
        this.template = task.template;
    }

    /** Write it, and see to it that it hears what becomes of it. */
    abstract void send(Slot slot) throws JMSException;

    /** The same of one that was sent before. */
    void sendAgain(Slot slot) throws JMSException {
        send(slot);
    }

    /** The connection went before the answer to this one. */
    abstract void unanswered(Slot slot);

    /** The number of the broker whose answer has come; `written`: of the one to which the library was asked to write. */
    int answering(int written) {
        return written;
    }

    /** The connection broke while a message of a transaction was written. */
    void broke() {
        transacted.broke();
    }

    /**
     * There will be one message, of this number. It was begun, and counted so, when its connection was; the sender ends
     * once its outcome is known.
     */
    public synchronized void alone(long seq, long begunNs, boolean held) {
        this.seq = seq;
        this.begunNs = begunNs;
        this.held = held;
    }

    /** When the next messages are due. `last`: there will be no more. */
    public synchronized void add(long[] times, boolean last) {
        due.add(times);
        complete = complete || last;
        notifyAll();
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

    public void run() {
        thread = Thread.currentThread();
        String trouble = "";
        try {
            for (long dueNs = nextDue(); dueNs != Rows.NO_TIME; dueNs = nextDue()) {
                waitUntil(dueNs);
                boolean blocked = waitForRoom() || held || transacted != null && transacted.heldUp(dueNs);
                if (stopping) {
                    break;
                }
                next++;
                begun++;
                if (begunNs == 0) {
                    rows.countBegun();
                }
                begin(dueNs, blocked);
            }
            if (transacted != null) {
                transacted.commit(); // what there is of the last one
            }
            if (begunNs != 0) {
                waitForAnswer();
            }
        } catch (Throwable error) {
            trouble = Words.of(error);
            if (transacted != null) {
                transacted.giveUp();
            }
        }
        client.finished(number, trouble);
    }

    private void begin(long dueNs, boolean blocked) throws JMSException, InterruptedException {
        Slot slot = new Slot(this, seq++, dueNs, begunNs, blocked);
        if (answered) {
            synchronized (open) {
                open.add(slot);
            }
        }
        boolean done = false;
        try {
            if (transacted == null) {
                send(slot);
            } else {
                transacted.add(slot);
            }
            done = true;
        } finally {
            if (!done) {
                slot.giveUp();
            }
        }
    }

    /** The next due time, or NO_TIME when there is none any more. */
    private long nextDue() throws InterruptedException {
        if (next == times.length) {
            times = nextTimes();
            next = 0;
        }
        return times.length == 0 || stopping ? Rows.NO_TIME : times[next];
    }

    private long[] nextTimes() throws InterruptedException {
        synchronized (this) {
            while (due.isEmpty() && !complete && !stopping) {
                wait();
            }
            return due.isEmpty() || stopping ? new long[0] : (long[]) due.remove();
        }
    }

    /** Until then in one go, which a stop ends: steps would cost a thousand senders a core. */
    private void waitUntil(long dueNs) {
        for (long early = dueNs - System.nanoTime(); early > 0 && !stopping; early = dueNs - System.nanoTime()) {
            LockSupport.parkNanos(early);
        }
    }

    /** True when the in-flight cap made it wait. */
    private boolean waitForRoom() throws InterruptedException {
        boolean blocked = false;
        synchronized (open) {
            while (answered && open.size() >= inFlight && !stopping) {
                blocked = true;
                open.wait(50L);
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
    void closed(Slot slot) {
        rows.countSettled();
        synchronized (open) {
            open.remove(slot);
            heard(System.nanoTime());
            open.notifyAll();
        }
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

    /** Something was written that nobody answers. */
    void wrote(String address, long beganNs) {
        waited(address, beganNs, System.nanoTime(), "the write waited");
    }

    private void waited(String address, long beganNs, long endedNs, String what) {
        if (beganNs != 0 && endedNs - beganNs >= BLOCKED_AFTER_NS) {
            client.blocked(address, beganNs, endedNs, "producer " + number + ": " + what);
        }
    }

    /** A broker that refuses one message may refuse each: the first one's words are enough. */
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

    /** Wait until all is answered; what is not by then is in doubt: how many messages. */
    int conclude(long endNs) {
        Object[] left;
        synchronized (open) {
            for (long leftNs = endNs - System.nanoTime(); !open.isEmpty() && leftNs > 0; leftNs = endNs - System.nanoTime()) {
                try {
                    open.wait(leftNs / 1000000L + 1);
                } catch (InterruptedException interrupted) {
                    break;
                }
            }
            left = open.toArray();
        }
        int inDoubt = 0;
        for (int i = 0; i < left.length; i++) {
            inDoubt += ((Slot) left[i]).giveUp() ? 1 : 0;
        }
        return inDoubt;
    }
}
