package brokerbench;

import java.util.Collections;
import java.util.List;

/** The same, shuffled for every pass. */
public final class ShuffledTurns extends Turns {
    protected void shuffle(List pass) {
        Collections.shuffle(pass);
    }
}
