package brokerbench;

import java.util.HashMap;
import java.util.Map;

/** The numbers that Python's recorder gave to the texts in rows. Complete before any client uses it. */
public final class Names {
    public int acked, failed, inDoubt, unconfirmed; // outcomes
    public int intact, corrupted, unreadable, foreign; // integrity
    public int nobody; // '', for a message that no broker was ever given
    private final Map<String, Integer> brokers = new HashMap<>();

    public void addBroker(String address, int number) {
        brokers.put(address, number);
    }

    int broker(String address) {
        Integer number = brokers.get(address);
        return number == null ? nobody : number;
    }

    int integrity(Identity.Integrity of) {
        return switch (of) {
            case INTACT -> intact;
            case CORRUPTED -> corrupted;
            case UNREADABLE -> unreadable;
            case FOREIGN -> foreign;
        };
    }
}
