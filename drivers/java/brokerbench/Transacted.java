package brokerbench;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import javax.jms.JMSException;
import javax.jms.Session;

/**
 * A sender's messages that arrive together or not at all: so many at a time, in one transaction after the other.
 *
 *     send, send, … ── commit ── answered ─────────────────► all acked | all failed
 *                        │
 *                        └─ nobody knows, or taken back ───► all in doubt ─► sent again, in one transaction
 *
 * The commit waits for the broker, on the sender's own thread: what was due meanwhile goes late, and was blocked.
 */
final class Transacted {
    private static final long PAUSE_NS = 100000000L; // a library may say so at once, again and again, before it tells of the loss

    private final LoadClient client;
    private final Sender sender;
    private final Session session;
    private final int size;
    private final List slots = new ArrayList(); // of the transaction that is open
    private boolean broken; // one of its messages was not written
    private long endedNs; // when the last transaction was

    Transacted(LoadClient client, Sender sender, Session session, int size) {
        this.client = client;
        this.sender = sender;
        this.session = session;
        this.size = size;
    }

    /** Whether what was due then had to wait for a commit. */
    boolean heldUp(long dueNs) {
        return endedNs != 0 && dueNs < endedNs;
    }

    /** Send one more; the last one of a transaction is followed by the commit. */
    void add(Slot slot) throws JMSException, InterruptedException {
        slots.add(slot);
        sender.send(slot);
        if (slots.size() >= size) {
            commit();
        }
    }

    /** The connection broke while a message was written: nothing of this transaction will be committed. */
    void broke() {
        broken = true;
    }

    /** End the transaction that is open, however few messages it holds; all outcomes are known then. */
    void commit() throws JMSException, InterruptedException {
        while (!slots.isEmpty() && !ended()) {
            sender.interrupted(System.nanoTime());
            if (!sender.resend || !client.stays()) {
                giveUp();
                break;
            }
            LockSupport.parkNanos(PAUSE_NS);
            sendAgain();
        }
        broken = false;
        endedNs = System.nanoTime();
    }

    /** What is open will not be asked for any more. */
    void giveUp() {
        for (int i = 0; i < slots.size(); i++) {
            ((Slot) slots.get(i)).giveUp();
        }
        slots.clear();
    }

    /** One attempt to commit; false when nobody knows what became of it. */
    private boolean ended() throws JMSException, InterruptedException {
        if (!client.waitConnected(0L)) {
            giveUp();
            client.requireHope();
            return true;
        }
        try {
            if (broken) {
                session.rollback();
                return false;
            }
            sender.awaits(client.address(), System.nanoTime());
            session.commit();
            settle(sender.names.acked, "");
        } catch (JMSException error) {
            if (broken || Words.undecided(error)) {
                return false;
            }
            settle(sender.names.failed, Words.of(error));
        }
        return true;
    }

    private void settle(int outcome, String reason) {
        long atNs = System.nanoTime();
        for (int i = 0; i < slots.size(); i++) {
            ((Slot) slots.get(i)).answered(atNs, outcome, reason);
        }
        slots.clear();
    }

    private void sendAgain() throws JMSException, InterruptedException {
        broken = false;
        client.waitConnected(0L); // however long that takes: what the URI limits is a message's first time
        for (int i = 0; i < slots.size(); i++) {
            sender.sendAgain((Slot) slots.get(i));
            if (broken) {
                break; // what was not written again keeps its earlier attempt open
            }
        }
    }
}
