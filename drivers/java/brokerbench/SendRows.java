package brokerbench;

import java.util.concurrent.atomic.AtomicLong;

/** The attempts of all senders, and how many messages these are. drivers/jvm/packed_rows.py writes PackedSends. */
public final class SendRows extends PackedSends {
    private final AtomicLong begun = new AtomicLong(), settled = new AtomicLong();

    public SendRows(Hub hub, int capacity) {
        super(hub, capacity);
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
