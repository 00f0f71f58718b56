package brokerbench;

import javax.jms.Destination;
import javax.jms.JMSException;
import javax.jms.Message;

/**
 * One message of a schedule: it records each attempt to send once, when the attempt's outcome is known.
 *
 *     writing (attempt 1) ── answered ─────────────────────────► acked | failed
 *          │
 *          └─ writing again (attempt 2, on another connection): attempt 1 is in doubt; the body says attempt 2
 *
 * A non-durable message has no answer: once written it is unconfirmed; if the write broke, it is in doubt. In a
 * transaction each message has the commit's answer. A reply has no schedule: it begins when its request has come.
 */
final class ScheduledSend implements Answer {
    private final Sender sender;
    private final long seq;
    private final long dueNs;
    private final long begunNs; // when its own connection attempt began; 0: the time of the first write counts
    private final boolean blocked;
    private final Reply reply; // null: it is none
    private long readyNs; // since when it could have been sent; given if it has its own connection
    private int attempt;
    private long sentNs;
    private int broker;
    private String address;
    private boolean open; // an attempt is written or being written, and its row is still to come
    private boolean over; // nothing further will be recorded
    private boolean settled; // counted as such

    ScheduledSend(Sender sender, long seq, long dueNs, long readyNs, long begunNs, boolean blocked, Reply reply) {
        this.sender = sender;
        this.seq = seq;
        this.dueNs = dueNs;
        this.readyNs = readyNs;
        this.begunNs = begunNs;
        this.blocked = blocked;
        this.reply = reply;
    }

    /** Where it goes if it is a reply; null: where its sender sends all. */
    Destination repliesTo() {
        return reply == null ? null : reply.to();
    }

    private byte[] template() {
        return reply == null ? sender.template : reply.template();
    }

    /** About to be written to that broker; false when it must not be: given up, or not to be sent again. */
    synchronized boolean writing(String address) {
        if (over) {
            return false;
        }
        if (open) {
            row(Rows.NO_TIME, sender.names.inDoubt);
        }
        if (attempt > 0 && !sender.resend) {
            finish();
            return false;
        }
        attempt++;
        this.address = address;
        broker = sender.names.broker(address);
        open = true;
        sentNs = System.nanoTime();
        noteReady();
        if (sender.each) {
            sender.awaits(address, sentNs);
        }
        return true;
    }

    /** If it has its own connection, connecting is a part of the sending. */
    private void noteReady() {
        if (begunNs == 0) {
            readyNs = sender.readyNs(dueNs, sentNs);
        }
    }

    /** When it was last written, or handed to the library. */
    synchronized long sentNs() {
        return sentNs;
    }

    /** Whether it was written before: its body then says so. */
    synchronized boolean again() {
        return attempt > 1;
    }

    /** The body of the attempt under way, or of the first one. */
    synchronized byte[] body() {
        return Identity.stamped(template(), seq, Math.max(1, attempt));
    }

    /** Give its message its properties; a request says where its reply goes, and both when the request was due. */
    void putProperties(Message message) throws JMSException {
        sender.headers.putInto(message, seq);
        if (reply != null) {
            message.setJMSCorrelationID(reply.correlationId());
        } else if (sender.replyTo != null) {
            message.setJMSReplyTo(sender.replyTo);
            message.setJMSCorrelationID(Long.toString(dueNs));
        }
    }

    synchronized void written() {
        if (open && !sender.each) {
            sender.wrote(address, sentNs);
        }
        if (open && !sender.answered) {
            row(Rows.NO_TIME, sender.names.unconfirmed);
            settle();
        }
    }

    /** The write broke. A message that needs an answer stays open, because it is sent again. */
    synchronized void broken() {
        if (open && !sender.answered) {
            sender.wrote(address, sentNs);
            row(Rows.NO_TIME, sender.names.inDoubt);
        }
    }

    @Override
    public void acknowledged() {
        answered(System.nanoTime(), sender.names.acked, "");
    }

    @Override
    public void failed(JMSException error) {
        if (Errors.refused(error)) {
            answered(System.nanoTime(), sender.names.failed, Errors.of(error));
        } else {
            sender.unanswered(this);
        }
    }

    /** It was written to that broker, by a connection that came while the write waited. */
    synchronized void writtenTo(int broker) {
        if (open) {
            this.broker = broker;
        }
    }

    void answered(long atNs, int outcome, String reason) {
        synchronized (this) {
            if (over) {
                return;
            }
            broker = sender.answering(broker);
            row(atNs, outcome);
            finish();
        }
        if (!reason.isEmpty()) {
            sender.refused(reason);
        }
    }

    /**
     * No answer will come. If the message was ever written it is in doubt, and this returns true; otherwise it failed.
     */
    synchronized boolean giveUp() {
        if (over) {
            return false;
        }
        boolean written = attempt > 0;
        if (open) {
            row(Rows.NO_TIME, sender.names.inDoubt);
        } else if (attempt == 0) {
            attempt = 1;
            sentNs = System.nanoTime();
            noteReady();
            broker = sender.names.nobody;
            row(sentNs, sender.names.failed);
        }
        finish();
        return written;
    }

    private void finish() {
        over = true;
        settle();
    }

    /** Its outcome is final, as far as is known: one sent one way may still be replayed, if so configured. */
    private void settle() {
        if (!settled) {
            settled = true;
            sender.closed(this);
        }
    }

    private void row(long settledNs, int outcome) {
        open = false;
        long fromNs = attempt == 1 && begunNs != 0 ? begunNs : sentNs;
        sender.rows.add(
            sender.number, seq, attempt, sender.destination, broker, dueNs, readyNs, fromNs, settledNs, outcome,
            template().length, blocked);
    }
}
