package brokerbench;

import java.util.HashMap;
import java.util.Map;
import javax.jms.Connection;
import javax.jms.JMSException;
import javax.jms.MessageProducer;
import javax.jms.Session;

/**
 * The transactions of one link, each in a session of its own, by the numbers that Python gave them.
 *
 * All is done by the link's own thread, and answered by events.
 */
public final class Transactions {
    private final Hub hub;
    private final long id;
    private final Work work;
    private final Connection connection;
    private final Map open = new HashMap(); // number -> session, producer; the link's thread's alone

    Transactions(Hub hub, long id, Work work, Connection connection) {
        this.hub = hub;
        this.id = id;
        this.work = work;
        this.connection = connection;
    }

    /** "begun", or "unbegun" with why and whether it was refused. */
    public void begin(final long number) {
        work.add(new Runnable() {
            public void run() {
                try {
                    Session session = connection.createSession(true, Session.SESSION_TRANSACTED);
                    open.put(Long.valueOf(number), new Object[] {session, session.createProducer(null)});
                    hub.tell(id, "begun", Long.valueOf(number), null, null);
                } catch (Throwable error) {
                    tellTrouble("unbegun", number, error);
                }
            }
        });
    }

    /** Write one message: "written" with the time just before, or "unwritten"; one refused later is "refused in" it. */
    public void put(
            final long request, final long number, final long message, final boolean topic, final String name,
            final byte[] body, final boolean durable) {
        work.add(new Runnable() {
            public void run() {
                try {
                    Object[] kept = (Object[]) open.get(Long.valueOf(number));
                    long sentNs = Library.send(
                        (Session) kept[0], (MessageProducer) kept[1], Library.destination(topic, name), body, durable,
                        new Refusal(number, message));
                    hub.tell(id, "written", Long.valueOf(request), Long.valueOf(sentNs), null);
                } catch (Throwable error) {
                    tellTrouble("unwritten", request, error);
                }
            }
        });
    }

    /** Commit, or roll back: "concluded" with when, and why not if the broker says no; "inconclusive" if nobody knows. */
    public void end(final long number, final boolean commit) {
        work.add(new Runnable() {
            public void run() {
                Session session = (Session) ((Object[]) open.remove(Long.valueOf(number)))[0];
                try {
                    conclude(session, commit);
                    hub.tell(id, "concluded", Long.valueOf(number), Long.valueOf(System.nanoTime()), "");
                } catch (Throwable error) {
                    if (Words.undecided(error)) {
                        hub.tell(id, "inconclusive", Long.valueOf(number), Words.of(error), null);
                    } else {
                        hub.tell(id, "concluded", Long.valueOf(number), Long.valueOf(System.nanoTime()), Words.of(error));
                    }
                }
                close(session);
            }
        });
    }

    /** However it ended: the connection may go on for long. */
    static void close(Session session) {
        try {
            session.close();
        } catch (JMSException gone) {
            return; // with its connection
        }
    }

    private static void conclude(Session session, boolean commit) throws JMSException {
        if (commit) {
            session.commit();
        } else {
            session.rollback();
        }
    }

    private void tellTrouble(String what, long number, Throwable error) {
        hub.tell(id, what, Long.valueOf(number), Words.of(error), Boolean.valueOf(Words.refused(error)));
    }

    /** The broker's answer to one message, which only tells refusals: the commit tells the rest. */
    final class Refusal implements Answer {
        private final long number, message;

        Refusal(long number, long message) {
            this.number = number;
            this.message = message;
        }

        public void acknowledged() {}

        public void failed(JMSException error) {
            if (Words.refused(error)) {
                Object[] about = {Long.valueOf(System.nanoTime()), Words.of(error)};
                hub.tell(id, "refused in", Long.valueOf(number), Long.valueOf(message), about);
            }
        }
    }
}
