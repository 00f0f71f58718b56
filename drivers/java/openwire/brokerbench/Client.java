package brokerbench;

import java.io.IOException;
import javax.jms.Connection;
import javax.jms.JMSException;
import javax.jms.Session;
import org.apache.activemq.ActiveMQConnection;
import org.apache.activemq.ActiveMQConnectionFactory;
import org.apache.activemq.ActiveMQSession;
import org.apache.activemq.broker.SslContext;
import org.apache.activemq.transport.Transport;
import org.apache.activemq.transport.TransportListener;
import org.apache.activemq.transport.failover.FailoverTransport;

/** A client of a load by OpenWire: ActiveMQ Classic's client, with its failover transport. */
public final class Client extends LoadClient implements TransportListener {
    static {
        WatchedTcpFactory.install();
    }

    private volatile ActiveMQConnection connection;
    private WatchedTransport wire; // the one that the failover transport uses, or used last
    private volatile WatchedTransport heard; // the one by which the last message came
    private volatile int broker;
    private volatile WatchedTransport started; // the last one that reached a broker
    private WatchedTransport early; // one that the failover transport used before the client was logged in
    private long earlyNs;

    public Client(Hub hub, long id, Names names, SendRows sends, ReceiptRows receipts) {
        super(hub, id, names, sends, receipts);
        this.broker = names.nobody;
    }

    @Override
    Connection made(Login login) throws Exception {
        var factory = new ActiveMQConnectionFactory(login.uri());
        factory.setUserName(login.user());
        factory.setPassword(login.password());
        factory.setCopyMessageOnSend(false); // a message is sent once, and knows itself by what it is
        factory.setTransportListener(this);
        if (!login.clientId().isEmpty()) {
            factory.setClientID(login.clientId());
        }
        SslContext.setCurrentSslContext(new WatchedContext(this, login.pem()));
        try {
            connection = (ActiveMQConnection) factory.createConnection();
        } finally {
            SslContext.setCurrentSslContext(null);
        }
        return connection;
    }

    @Override
    Sender sender(Session session, Task task) throws JMSException {
        return new OpenWireSender(this, task, (ActiveMQSession) session);
    }

    @Override
    int broker() {
        return broker;
    }

    /** A message arrives on that connection. */
    void hears(WatchedTransport by) {
        if (heard != by) {
            heard = by;
            broker = names.broker(by.address);
        }
    }

    void attempted(WatchedTransport made, long beganNs, String trouble) {
        if (trouble.isEmpty()) {
            started = made;
        }
        attempted(made.address, beganNs, trouble, false);
    }

    // The failover transport's events.

    @Override
    public void transportResumed() {
        synchronized (this) {
            if (loggedIn && !closing) {
                tellConnected(System.nanoTime());
            } else if (!closing) {
                resumedEarly(connection == null ? started : current(), System.nanoTime());
            }
        }
    }

    /** Before the client knows that it is logged in: a broker that told it to move had accepted it. */
    private void resumedEarly(WatchedTransport by, long atNs) {
        if (!connected && early != null && early != by && early.told()) {
            wire = early;
            joined(early.address, earlyNs, "");
        }
        if (connected) {
            tellConnected(atNs);
        }
        early = by;
        earlyNs = atNs;
    }

    @Override
    public void transportInterupted() {
        synchronized (this) {
            if (connected && !closing) {
                lost(wire.trouble().isEmpty() ? "left for another broker" : wire.trouble());
            }
        }
    }

    @Override
    public void onCommand(Object command) {}

    @Override
    public void onException(IOException error) {}

    /** The failover transport gave up, or the broker ended the connection for good. */
    @Override
    public void onException(JMSException error) {
        if (!Errors.refused(error)) {
            end(Errors.of(error));
        }
    }

    @Override
    void tellConnected(long atNs) {
        WatchedTransport current = current();
        if (current == null || connected && current == wire) {
            return;
        }
        String why = connected ? leftFor() : "";
        wire = current;
        joined(wire.address, atNs, why);
    }

    /** The failover transport left a working connection, and reports no event for it: why. */
    private String leftFor() {
        String why = wire.told() ? "broker" : "priority";
        left(wire.leftNs(), why);
        return why;
    }

    /** Which of the connections the failover transport uses: it may hold others in reserve. */
    WatchedTransport current() {
        FailoverTransport failover = connection.getTransport().narrow(FailoverTransport.class);
        Transport used = failover == null ? null : failover.getConnectedTransport();
        return used instanceof WatchedTransport watched ? watched : null;
    }
}
