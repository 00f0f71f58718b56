package brokerbench;

import java.nio.charset.StandardCharsets;
import javax.jms.BytesMessage;
import javax.jms.JMSException;
import javax.jms.Message;
import javax.jms.TextMessage;

/** What came in a message: its bytes, and the brokers that it crossed. */
final class Bodies {
    static final String BROKER_PATH = "bbBrokerPath"; // as the renderers name it; a test holds the two together

    private Bodies() {}

    /** The body as any JMS client hands it out. */
    static Body of(Message message) throws JMSException {
        if (message instanceof BytesMessage) {
            BytesMessage bytes = (BytesMessage) message;
            byte[] body = new byte[(int) bytes.getBodyLength()];
            bytes.readBytes(body);
            return new Body(body);
        }
        String text = message instanceof TextMessage ? ((TextMessage) message).getText() : null;
        return new Body(text == null ? new byte[0] : text.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * Brokers crossed, from the names that each broker appended when it dispatched; NO_NUMBER without a path.
     *
     * A broker appends its name again with every redelivery, so repeats next to each other are one stay.
     */
    static int hops(Message message) throws JMSException {
        String path = message.getStringProperty(BROKER_PATH);
        return path == null || path.isEmpty() ? Rows.NO_NUMBER : hops(path);
    }

    static int hops(String path) {
        if (path.indexOf(',') < 0) {
            return 0;
        }
        String[] names = path.split(",");
        int hops = 0;
        for (int i = 1; i < names.length; i++) {
            hops += names[i].trim().equals(names[i - 1].trim()) ? 0 : 1;
        }
        return hops;
    }
}
