package brokerbench;

import java.io.IOException;
import javax.jms.Connection;
import javax.jms.DeliveryMode;
import javax.jms.Destination;
import javax.jms.JMSException;
import javax.jms.Message;
import javax.jms.MessageProducer;
import javax.jms.Session;
import org.apache.activemq.ActiveMQConnection;
import org.apache.activemq.ActiveMQConnectionFactory;
import org.apache.activemq.ActiveMQMessageProducer;
import org.apache.activemq.ActiveMQSession;
import org.apache.activemq.AsyncCallback;
import org.apache.activemq.broker.SslContext;
import org.apache.activemq.command.ActiveMQBytesMessage;
import org.apache.activemq.command.ActiveMQDestination;
import org.apache.activemq.transport.Transport;
import org.apache.activemq.util.ByteSequence;

/** What the brokers' client libraries do each in its own way, behind names that all have: ActiveMQ Classic's, OpenWire. */
final class Library {
    static final int ONE_BY_ONE = ActiveMQSession.INDIVIDUAL_ACKNOWLEDGE;
    static final int OF_A_LOAD = ActiveMQSession.INDIVIDUAL_ACKNOWLEDGE;
    private static final int PRIORITY = 4;

    private Library() {}

    /** One connection to one broker, not started, which asks for no message before another is acknowledged. */
    static Connection open(String uri, String user, String password, String clientId, String pem) throws Exception {
        ActiveMQConnectionFactory factory = new ActiveMQConnectionFactory(uri) {
            protected Transport createTransport() throws JMSException {
                return new StrictPrefetch(super.createTransport());
            }
        };
        factory.setUserName(user);
        factory.setPassword(password);
        factory.setWatchTopicAdvisories(false);
        if (!clientId.isEmpty()) {
            factory.setClientID(clientId);
        }
        SslContext tls = new SslContext();
        tls.setSSLContext(Tls.context(pem));
        SslContext.setCurrentSslContext(tls);
        return factory.createConnection();
    }

    /** The connection is gone at once, without a goodbye. */
    static void cut(Connection connection) throws Exception {
        ((ActiveMQConnection) connection).getTransport().stop();
    }

    static void leave(Connection connection) throws JMSException {
        connection.close();
    }

    /** How many messages the consumers that are made next may hold. */
    static void expect(Connection connection, int prefetch) {
        ((ActiveMQConnection) connection).getPrefetchPolicy().setAll(prefetch);
    }

    static Destination destination(boolean topic, String name) {
        return ActiveMQDestination.createDestination(
            name, topic ? ActiveMQDestination.TOPIC_TYPE : ActiveMQDestination.QUEUE_TYPE);
    }

    /** Write one message; the answer, if there is one, hears what the broker says. Returns when it began to be written. */
    static long send(
            Session session, MessageProducer producer, Destination to, byte[] body, boolean durable, Answer answer)
            throws JMSException {
        ActiveMQBytesMessage message = (ActiveMQBytesMessage) session.createBytesMessage();
        message.setContent(new ByteSequence(body));
        int mode = durable ? DeliveryMode.PERSISTENT : DeliveryMode.NON_PERSISTENT;
        AsyncCallback callback = answer != null ? new Told(answer) : null;
        long sentNs = System.nanoTime();
        ((ActiveMQMessageProducer) producer).send(to, message, mode, PRIORITY, 0L, callback);
        return sentNs;
    }

    /** The library's answer, for whoever waits for it. */
    static final class Told implements AsyncCallback {
        private final Answer answer;

        Told(Answer answer) {
            this.answer = answer;
        }

        public void onSuccess() {
            answer.acknowledged();
        }

        public void onException(JMSException error) {
            answer.failed(error);
        }
    }

    /** The body as it lies in the message, without a copy where it can be had. */
    static Body body(Message message) throws JMSException {
        if (message instanceof ActiveMQBytesMessage && !((ActiveMQBytesMessage) message).isCompressed()) {
            ByteSequence content = ((ActiveMQBytesMessage) message).getContent();
            return content == null ? new Body(new byte[0]) : new Body(content.data, content.offset, content.length);
        }
        return Bodies.of(message);
    }

    /** A message of a load is on record: it need not come again. */
    static void recorded(Message message) throws JMSException {
        message.acknowledge();
    }

    /** It is not: nobody acknowledges it. */
    static void unrecorded(JMSException error) {}

    /** Whether this says that the connection broke, and nothing of what the broker would have said. */
    static boolean broke(Throwable cause) {
        return cause instanceof IOException;
    }
}
