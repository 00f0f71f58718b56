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
 * The commit waits for the broker, on the sender's own thread: messages that are due meanwhile are sent late and count
 * as blocked.
 */
final class TransactedBatch {
    private static final long PAUSE_NS = 100_000_000L; // a library may fail again and again before it tells of the loss

    private final LoadClient client;
    private final Sender sender;
    private final Session session;
    private final int size;
    private final List<ScheduledSend> sends = new ArrayList<>(); // of the transaction that is open
    private boolean broken; // one of its messages was not written
    private long endedNs; // when the last transaction was

    TransactedBatch(LoadClient client, Sender sender, Session session, int size) {
        this.client = client;
        this.sender = sender;
        this.session = session;
        this.size = size;
    }

    /** Whether a message with this due time had to wait for a commit. */
    boolean heldUp(long dueNs) {
        return endedNs != 0 && dueNs < endedNs;
    }

    /** Send one more; the last one of a transaction is followed by the commit. */
    void add(ScheduledSend send) throws JMSException, InterruptedException {
        sends.add(send);
        sender.send(send);
        if (sends.size() >= size) {
            commit();
        }
    }

    /** The connection broke while a message was written: this transaction will not be committed. */
    void broke() {
        broken = true;
    }

    /** End the transaction that is open, however few messages it holds; all outcomes are known then. */
    void commit() throws JMSException, InterruptedException {
        while (!sends.isEmpty() && !ended()) {
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
        sender.committed(endedNs);
    }

    /** The open messages will not be waited for any more. */
    void giveUp() {
        sends.forEach(ScheduledSend::giveUp);
        sends.clear();
    }

    /** One attempt to commit; false if its outcome is unknown. */
    private boolean ended() throws JMSException, InterruptedException {
        if (!client.waitConnected(0)) {
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
            if (broken || Errors.undecided(error)) {
                return false;
            }
            settle(sender.names.failed, Errors.of(error));
        }
        return true;
    }

    private void settle(int outcome, String reason) {
        long atNs = System.nanoTime();
        sends.forEach(send -> send.answered(atNs, outcome, reason));
        sends.clear();
    }

    private void sendAgain() throws JMSException, InterruptedException {
        broken = false;
        client.waitConnected(0); // however long that takes: the URI limits only a message's first attempt
        for (ScheduledSend send : sends) {
            sender.sendAgain(send);
            if (broken) {
                break; // what was not written again keeps its earlier attempt open
            }
        }
    }
}
