package brokerbench;

import javax.jms.Connection;
import javax.jms.JMSException;
import javax.jms.Session;
import org.apache.activemq.artemis.api.core.ActiveMQException;
import org.apache.activemq.artemis.api.core.TransportConfiguration;
import org.apache.activemq.artemis.api.core.client.ClientSessionFactory;
import org.apache.activemq.artemis.api.core.client.FailoverEventListener;
import org.apache.activemq.artemis.api.core.client.FailoverEventType;
import org.apache.activemq.artemis.api.core.client.SessionFailureListener;
import org.apache.activemq.artemis.core.client.impl.ServerLocatorImpl;
import org.apache.activemq.artemis.jms.client.ActiveMQConnection;
import org.apache.activemq.artemis.jms.client.ActiveMQConnectionFactory;
import org.apache.activemq.artemis.jms.client.ActiveMQSession;

/** A client of a load over Core, with Artemis's own client. It reconnects, or moves to the next broker, on its own. */
public final class Client extends LoadClient implements FailoverEventListener, SessionFailureListener {
    private static final int ONE_WAY = -1;
    private static final String UNREACHED = "could not be reached"; // all that the library tells of a single attempt

    private volatile ServerLocatorImpl locator;
    private volatile long patienceMs;
    private boolean windowed; // the URI says how far ahead of the answers is sent
    private volatile ClientSessionFactory factory;
    private volatile TransportConfiguration heard; // where the broker is that `broker` numbers
    private volatile int broker;
    private volatile String trouble = "";
    private volatile InOrderPolicy policy; // null where the URI names another policy
    private boolean retrying; // its only broker, since it lost the connection
    private String asked = ""; // the address of the attempt under way
    private long askedNs;

    public Client(Hub hub, long id, Names names, SendRows sends, ReceiptRows receipts) {
        super(hub, id, names, sends, receipts);
        this.broker = names.nobody;
    }

    @Override
    Connection made(Login login) throws Exception {
        Tls.use(login.pem());
        var made = new ActiveMQConnectionFactory(login.uri());
        locator = (ServerLocatorImpl) made.getServerLocator();
        if (isClosing()) {
            throw new JMSException("it was abandoned before it connected");
        }
        patienceMs = login.uri().contains("callFailoverTimeout=") ? Math.max(0, locator.getCallFailoverTimeout()) : 0;
        windowed = locator.getConfirmationWindowSize() != ONE_WAY;
        if (!windowed) {
            // Before anything is connected: else every send would be told acknowledged that was merely written.
            made.setConfirmationWindowSize(Library.ANSWERED_BYTES);
        }
        made.setBlockOnDurableSend(false); // in a transaction it would: the commit tells of all
        InOrderPolicy.of(this);
        locator.setProtocolManagerFactory(new WatchedProtocol.Factory(this));
        ActiveMQConnection connection = Library.connected(made, login);
        factory = connection.getSessionFactory();
        factory.addFailoverListener(this);
        connection.getInitialSession().addFailureListener(this);
        return connection;
    }

    /** How long a message that was not sent yet waits for a connection, as the URI says; 0: as long as it takes. */
    long patienceMs() {
        return patienceMs;
    }

    /** Closed while it connects, a locator begins no further attempt. */
    @Override
    void giveUpConnecting() {
        if (locator != null) {
            locator.close();
        }
    }

    /** A session's window is read when it is made: answers cost, so only the sessions of durable sends have one. */
    @Override
    Session session(boolean durable) throws JMSException {
        if (!windowed) {
            locator.getLocatorConfig().confirmationWindowSize = durable ? Library.ANSWERED_BYTES : ONE_WAY;
        }
        return super.session(durable);
    }

    /** None of its messages has an answer of its own: no window, unless the URI says so. */
    @Override
    Session transacted() throws JMSException {
        if (!windowed) {
            locator.getLocatorConfig().confirmationWindowSize = ONE_WAY;
        }
        return super.transacted();
    }

    @Override
    Sender sender(Session session, Task task) throws JMSException {
        return new CoreSender(this, task, (ActiveMQSession) session);
    }

    @Override
    void tellConnected(long atNs) {
        if (connected) {
            return;
        }
        TransportConfiguration reached = factory.getConnectorConfiguration();
        if (!address(reached).equals(asked)) {
            attempting(reached); // it chose by itself
        }
        if (policy != null) {
            policy.restart();
        }
        attempted(asked, askedNs, "", false);
        String at = asked;
        asked = "";
        retrying = false;
        joined(at, atNs, "");
    }

    @Override
    int broker() {
        TransportConfiguration now = factory.getConnectorConfiguration();
        if (now != heard) {
            broker = names.broker(address(now));
            heard = now;
        }
        return broker;
    }

    /** The library tries this broker next; what it tried before was in vain. */
    synchronized void attempting(TransportConfiguration next) {
        gaveUp(UNREACHED, false);
        asked = address(next);
        askedNs = System.nanoTime();
    }

    @Override
    synchronized void gaveUp(String reason, boolean refused) {
        if (!asked.isEmpty()) {
            attempted(asked, askedNs, reason, refused);
            asked = "";
        }
    }

    /** With a list of one broker, the library asks no policy for the next one. Its delay follows a failed attempt. */
    synchronized void waiting() {
        if (retrying) {
            gaveUp(UNREACHED, false);
        }
    }

    /** It tries the same broker again. */
    synchronized void waited() {
        if (retrying) {
            attempting(factory.getConnectorConfiguration());
        }
    }

    void chooses(InOrderPolicy policy) {
        this.policy = policy;
    }

    TransportConfiguration[] listed() {
        return locator.getStaticTransportConfigurations();
    }

    private static String address(TransportConfiguration of) {
        var where = of.getParams();
        return where.get("host") + ":" + where.get("port");
    }

    // The library's events. They come from the library's own threads, which must not wait.

    @Override
    public void failoverEvent(FailoverEventType event) {
        if (event == FailoverEventType.FAILOVER_FAILED) {
            gaveUp(UNREACHED, false);
            end("no broker could be reached again after: " + trouble);
        } else if (event == FailoverEventType.FAILOVER_COMPLETED) {
            synchronized (this) {
                if (loggedIn && !closing) {
                    tellConnected(System.nanoTime());
                }
            }
        }
    }

    /** Told right after FAILURE_DETECTED, which has no reason. */
    @Override
    public void beforeReconnect(ActiveMQException reason) {
        trouble = Errors.of(reason);
        synchronized (this) {
            if (connected && !closing) {
                lost(trouble);
                retrying = policy != null && locator.getReconnectAttempts() != 0; // drivers/jvm/java_protocol.py
                waited();
            }
        }
    }

    @Override
    public void connectionFailed(ActiveMQException reason, boolean movedOn) {}

    @Override
    public void connectionFailed(ActiveMQException reason, boolean movedOn, String node) {}

    /** Told by the above. */
    @Override
    public void onException(JMSException error) {}
}
