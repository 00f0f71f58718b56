package brokerbench;

import java.nio.charset.StandardCharsets;
import javax.jms.BytesMessage;
import javax.jms.JMSException;
import javax.jms.Message;
import javax.jms.TextMessage;

/** The bytes of a message, where they lie. */
record Body(byte[] data, int offset, int length) {
    Body(byte[] data) {
        this(data, 0, data.length);
    }

    /** The body as any JMS client hands it out. */
    static Body of(Message message) throws JMSException {
        if (message instanceof BytesMessage bytes) {
            byte[] body = new byte[(int) bytes.getBodyLength()];
            bytes.readBytes(body);
            return new Body(body);
        }
        String text = message instanceof TextMessage written ? written.getText() : null;
        return new Body(text == null ? new byte[0] : text.getBytes(StandardCharsets.UTF_8));
    }
}
