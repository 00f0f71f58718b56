package brokerbench;

import java.util.ArrayList;
import java.util.List;
import org.apache.activemq.artemis.api.core.client.loadbalance.ConnectionLoadBalancingPolicy;

/**
 * Which broker of a list is tried next? As a failover URI has it: in the order of the list, or shuffled for every pass;
 * the one that was tried last goes last.
 *
 * The library makes this by its name, on the thread that opens the connection, where the client has left itself.
 */
public class Turns implements ConnectionLoadBalancingPolicy {
    private static final ThreadLocal OPENING = new ThreadLocal();

    private final Client client = (Client) OPENING.get();
    private final List pass = new ArrayList();
    private int last = -1;

    public Turns() {
        client.chooses(this);
    }

    /** The next one that is made belongs to this client. */
    static void of(Client client) {
        OPENING.set(client);
    }

    protected void shuffle(List pass) {}

    public int select(int max) {
        int chosen = next(max);
        client.attempting(client.listed()[chosen]);
        return chosen;
    }

    synchronized int next(int max) {
        if (pass.isEmpty()) {
            for (int i = 0; i < max; i++) {
                pass.add(Integer.valueOf(i));
            }
            shuffle(pass);
            if (pass.remove((Object) Integer.valueOf(last))) {
                pass.add(Integer.valueOf(last));
            }
        }
        last = ((Integer) pass.remove(0)).intValue();
        return last;
    }

    /** There was a connection: the next choice begins a new pass. */
    synchronized void restart() {
        pass.clear();
    }
}
