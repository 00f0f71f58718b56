package brokerbench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The deliveries to all receivers, and the foreign ones. drivers/jvm/packed_rows.py writes PackedReceipts. */
public final class ReceiptRows extends PackedReceipts {
    private static final int BEGINNING_BYTES = 40; // of records/loads/identity.py
    private static final int MOST_FOREIGN = 100; // that wait for Python; it shows a few of each destination

    private final List<Foreign> foreign = new ArrayList<>();

    /** A foreign message, whose row has nothing of its body. */
    public record Foreign(int destination, int broker, byte[] beginning, int bodyBytes) {}

    public ReceiptRows(Hub hub, int capacity) {
        super(hub, capacity);
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
