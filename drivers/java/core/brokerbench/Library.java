package brokerbench;

import java.io.IOException;
import javax.jms.BytesMessage;
import javax.jms.CompletionListener;
import javax.jms.Connection;
import javax.jms.DeliveryMode;
import javax.jms.Destination;
import javax.jms.IllegalStateException;
import javax.jms.JMSException;
import javax.jms.Message;
import javax.jms.MessageProducer;
import javax.jms.Session;
import org.apache.activemq.artemis.api.core.ActiveMQException;
import org.apache.activemq.artemis.api.core.ActiveMQExceptionType;
import org.apache.activemq.artemis.api.core.client.ClientSessionFactory;
import org.apache.activemq.artemis.api.jms.ActiveMQJMSConstants;
import org.apache.activemq.artemis.core.client.impl.ClientSessionFactoryInternal;
import org.apache.activemq.artemis.jms.client.ActiveMQConnection;
import org.apache.activemq.artemis.jms.client.ActiveMQConnectionFactory;
import org.apache.activemq.artemis.jms.client.ActiveMQDestination;
import org.apache.activemq.artemis.spi.core.protocol.RemotingConnection;

/** What the brokers' client libraries do each in its own way, behind names that all have: Artemis' own, Core. */
final class Library {
    static final int ONE_BY_ONE = ActiveMQJMSConstants.INDIVIDUAL_ACKNOWLEDGE;
    static final int OF_A_LOAD = Session.AUTO_ACKNOWLEDGE; // when the listener is done; one by one costs a commit each
    static final int ANSWERED_BYTES = 1048576; // sent ahead of the answers; without, each durable send waits for its own
    private static final long GONE_MS = 10000L; // of a link: so long the broker keeps what a lost one held
    private static final int PRIORITY = 4;

    private Library() {}

    /** One connection to one broker, not started, which asks for no message before another is acknowledged. */
    static Connection open(String uri, String user, String password, String clientId, String pem) throws Exception {
        Tls.use(pem);
        ActiveMQConnectionFactory factory = new ActiveMQConnectionFactory(uri);
        factory.setReconnectAttempts(0);
        factory.setConfirmationWindowSize(ANSWERED_BYTES);
        factory.setConsumerWindowSize(0);
        factory.setConnectionTTL(GONE_MS);
        factory.setClientFailureCheckPeriod(GONE_MS / 2);
        return connected(factory, user, password, clientId);
    }

    static Connection connected(ActiveMQConnectionFactory factory, String user, String password, String clientId)
            throws JMSException {
        try {
            Connection connection = factory.createConnection(user, password);
            if (!clientId.isEmpty()) {
                named(connection, clientId);
            }
            return connection;
        } catch (JMSException error) {
            factory.close();
            throw error;
        }
    }

    private static void named(Connection connection, String clientId) throws JMSException {
        try {
            connection.setClientID(clientId);
        } catch (JMSException error) {
            connection.close();
            throw error;
        }
    }

    /** The connection is gone at once, without a goodbye. */
    static void cut(Connection connection) throws Exception {
        ClientSessionFactory factory = ((ActiveMQConnection) connection).getSessionFactory();
        RemotingConnection wire = ((ClientSessionFactoryInternal) factory).getConnection();
        if (wire != null) {
            wire.getTransportConnection().forceClose();
        }
        factory.getServerLocator().close();
    }

    /** Polite, and the threads that waited for the broker's word end too. */
    static void leave(Connection connection) throws JMSException {
        ClientSessionFactory factory = ((ActiveMQConnection) connection).getSessionFactory();
        connection.close();
        factory.getServerLocator().close();
    }

    /** How many messages the consumers that are made next may hold: Core counts bytes, so the listener waits instead. */
    static void expect(Connection connection, int prefetch) {}

    static Destination destination(boolean topic, String name) {
        return topic ? ActiveMQDestination.createTopic(name) : ActiveMQDestination.createQueue(name);
    }

    /** Write one message; the answer, if there is one, hears what the broker says. Returns when it began to be written. */
    static long send(
            Session session, MessageProducer producer, Destination to, byte[] body, boolean durable, Answer answer)
            throws JMSException {
        BytesMessage message = session.createBytesMessage();
        message.writeBytes(body);
        long sentNs = System.nanoTime();
        int mode = durable ? DeliveryMode.PERSISTENT : DeliveryMode.NON_PERSISTENT;
        if (answer == null) {
            producer.send(to, message, mode, PRIORITY, 0L);
        } else {
            producer.send(to, message, mode, PRIORITY, 0L, new Told(answer));
        }
        return sentNs;
    }

    /** The library's answer, for whoever waits for it. */
    static final class Told implements CompletionListener {
        private final Answer answer;

        Told(Answer answer) {
            this.answer = answer;
        }

        public void onCompletion(Message sent) {
            answer.acknowledged();
        }

        public void onException(Message unsent, Exception error) {
            answer.failed(said(error));
        }
    }

    static JMSException said(Exception error) {
        if (error instanceof JMSException) {
            return (JMSException) error;
        }
        JMSException wrapped = new JMSException(error.getMessage());
        wrapped.initCause(error);
        return wrapped;
    }

    static Body body(Message message) throws JMSException {
        return Bodies.of(message);
    }

    /** A message of a load is on record: the client acknowledges it when the listener returns. */
    static void recorded(Message message) {}

    /** It is not: a listener that returns from it would have it acknowledged. */
    static void unrecorded(JMSException error) {
        throw new RuntimeException(error);
    }

    /**
     * Whether this says that the connection broke, and nothing of what the broker would have said. That the outcome of a
     * transaction is unknown is the library's own word after a failover.
     */
    static boolean broke(Throwable cause) {
        if (!(cause instanceof ActiveMQException)) {
            return cause instanceof IOException || cause instanceof IllegalStateException; // closed, as it was lost
        }
        ActiveMQExceptionType type = ((ActiveMQException) cause).getType();
        return type == ActiveMQExceptionType.NOT_CONNECTED || type == ActiveMQExceptionType.CONNECTION_TIMEDOUT
            || type == ActiveMQExceptionType.DISCONNECTED || type == ActiveMQExceptionType.REMOTE_DISCONNECT
            || type == ActiveMQExceptionType.UNBLOCKED || type == ActiveMQExceptionType.OBJECT_CLOSED
            || type == ActiveMQExceptionType.TRANSACTION_OUTCOME_UNKNOWN;
    }
}
