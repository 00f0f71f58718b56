package brokerbench;

import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicLong;

/** Rows of the table `sends` (records.tables.schemas). Texts are given by their numbers in Python's recorder. */
public final class SendRows extends Rows {
    public static final int ROW_BYTES = 4 + 8 + 4 + 4 + 4 + 8 + 8 + 8 + 8 + 4 + 4 + 1;

    private final AtomicLong begun = new AtomicLong(), settled = new AtomicLong();

    public SendRows(Hub hub, int capacity) {
        super(hub, ROW_BYTES, capacity);
    }

    public synchronized void add(
            int producer, long seq, int attempt, int destination, int broker,
            long dueNs, long readyNs, long sentNs, long settledNs, int outcome, int bodyBytes, boolean blocked) {
        ByteBuffer row = next();
        row.putInt(producer).putLong(seq).putInt(attempt).putInt(destination).putInt(broker);
        row.putLong(dueNs).putLong(readyNs).putLong(sentNs).putLong(settledNs);
        row.putInt(outcome).putInt(bodyBytes).put((byte) (blocked ? 1 : 0));
    }

    /** How many messages of all senders were begun, written or not. */
    public long begun() {
        return begun.get();
    }

    /** How many messages of all senders have a final outcome; the rows of these are there. */
    public long settled() {
        return settled.get();
    }

    void countBegun() {
        begun.incrementAndGet();
    }

    void countSettled() {
        settled.incrementAndGet();
    }
}
