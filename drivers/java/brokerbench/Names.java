package brokerbench;

import java.util.HashMap;
import java.util.Map;

/** The numbers that Python's recorder gave to the texts in rows. Complete before any client uses it. */
public final class Names {
    public int acked, failed, inDoubt, unconfirmed; // outcomes
    public int intact, corrupted, unreadable, foreign; // integrity
    public int nobody; // '', for a message that no broker was ever given
    private final Map brokers = new HashMap();

    public void addBroker(String address, int number) {
        brokers.put(address, Integer.valueOf(number));
    }

    int broker(String address) {
        Integer number = (Integer) brokers.get(address);
        return number == null ? nobody : number.intValue();
    }

    int integrity(String text) {
        if (text.equals("intact")) {
            return intact;
        }
        return text.equals("corrupted") ? corrupted : text.equals("foreign") ? foreign : unreadable;
    }
}
