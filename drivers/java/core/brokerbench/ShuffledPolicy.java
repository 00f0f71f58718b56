package brokerbench;

import java.util.Collections;
import java.util.List;

/** Tries the brokers of a list in an order that is shuffled for every pass. */
public final class ShuffledPolicy extends InOrderPolicy {
    @Override
    protected void shuffle(List<Integer> pass) {
        Collections.shuffle(pass);
    }
}
