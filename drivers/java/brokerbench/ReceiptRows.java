package brokerbench;

import java.nio.ByteBuffer;

/** Rows of the table `receipts` (records.schemas). Texts are given by their numbers in Python's recorder. */
public final class ReceiptRows extends Rows {
    public static final int ROW_BYTES = 4 + 4 + 4 + 8 + 4 + 4 + 4 + 8 + 1 + 4 + 4;

    public ReceiptRows(Hub hub, int capacity) {
        super(hub, ROW_BYTES, capacity);
    }

    public synchronized void add(
            int consumer, int subscription, int producer, long seq, int attempt, int destination, int broker,
            long receivedNs, boolean redelivered, int integrity, int hops) {
        ByteBuffer row = next();
        row.putInt(consumer).putInt(subscription).putInt(producer).putLong(seq).putInt(attempt);
        row.putInt(destination).putInt(broker).putLong(receivedNs).put((byte) (redelivered ? 1 : 0));
        row.putInt(integrity).putInt(hops);
    }
}
