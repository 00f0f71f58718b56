package brokerbench;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Rows of the table `receipts` (records.tables.schemas). Texts are given by their numbers in Python's recorder. */
public final class ReceiptRows extends Rows {
    private static final int BEGINNING_BYTES = 40; // of records/loads/identity.py
    private static final int MOST_FOREIGN = 100; // that wait for Python; it shows a few of each destination

    private final List<Foreign> foreign = new ArrayList<>();

    /** A foreign message, whose row has nothing of its body. */
    public record Foreign(int destination, int broker, byte[] beginning, int bodyBytes) {}

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

    synchronized void addForeign(int destination, int broker, Body body) {
        if (foreign.size() < MOST_FOREIGN) {
            int end = body.offset() + Math.min(body.length(), BEGINNING_BYTES);
            byte[] beginning = Arrays.copyOfRange(body.data(), body.offset(), end);
            foreign.add(new Foreign(destination, broker, beginning, body.length()));
        }
    }

    /** The foreign messages since the last call. */
    public synchronized Foreign[] takeForeign() {
        var taken = foreign.toArray(new Foreign[0]);
        foreign.clear();
        return taken;
    }
}
