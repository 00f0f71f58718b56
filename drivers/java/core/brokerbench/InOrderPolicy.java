package brokerbench;

import java.util.ArrayList;
import java.util.List;
import org.apache.activemq.artemis.api.core.client.loadbalance.ConnectionLoadBalancingPolicy;

/**
 * Tries the brokers of a list as a failover URI has it: in the order of the list; the one that was tried last goes last.
 *
 * The library creates this by its class name, on the thread that opens the connection. There it finds the client in a
 * thread-local variable.
 */
public class InOrderPolicy implements ConnectionLoadBalancingPolicy {
    private static final ThreadLocal<Client> OPENING = new ThreadLocal<>();

    private final Client client = OPENING.get();
    private final List<Integer> pass = new ArrayList<>(); // brokers still to be tried in it
    private int last = -1;

    public InOrderPolicy() {
        client.chooses(this);
    }

    /** The next one that is made belongs to this client. */
    static void of(Client client) {
        OPENING.set(client);
    }

    protected void shuffle(List<Integer> pass) {}

    @Override
    public int select(int max) {
        int chosen = next(max);
        client.attempting(client.listed()[chosen]);
        return chosen;
    }

    private synchronized int next(int max) {
        if (pass.isEmpty()) {
            for (int i = 0; i < max; i++) {
                pass.add(i);
            }
            shuffle(pass);
            if (pass.remove((Integer) last)) {
                pass.add(last);
            }
        }
        last = pass.remove(0);
        return last;
    }

    /** There was a connection: the next choice begins a new pass. */
    synchronized void restart() {
        pass.clear();
    }
}
