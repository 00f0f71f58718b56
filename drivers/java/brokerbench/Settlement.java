package brokerbench;

import java.util.concurrent.atomic.AtomicInteger;
import javax.jms.JMSException;

/** What does the broker answer to a durable send of a Link? "settled", with the time, and why not where it was refused. */
final class Settlement implements Answer {
    private final Hub hub;
    private final long id;
    private final Long token;
    private final AtomicInteger unanswered;

    Settlement(Hub hub, long id, long token, AtomicInteger unanswered) {
        this.hub = hub;
        this.id = id;
        this.token = Long.valueOf(token);
        this.unanswered = unanswered;
        unanswered.incrementAndGet();
    }

    public void acknowledged() {
        tell("");
        unanswered.decrementAndGet();
    }

    public void failed(JMSException error) {
        if (Words.refused(error)) {
            tell(Words.of(error));
        }
        unanswered.decrementAndGet();
    }

    private void tell(String why) {
        hub.tell(id, "settled", token, Long.valueOf(System.nanoTime()), why);
    }
}
