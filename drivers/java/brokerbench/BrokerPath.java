package brokerbench;

import javax.jms.JMSException;
import javax.jms.Message;

/** The brokers that a message crossed: each appends its name when it dispatches the message. */
final class BrokerPath {
    static final String BROKER_PATH = "bbBrokerPath"; // as the renderers name it; a test holds the two together

    private BrokerPath() {}

    /** Links crossed; NO_NUMBER without a path. */
    static int hops(Message message) throws JMSException {
        String path = message.getStringProperty(BROKER_PATH);
        return path == null || path.isEmpty() ? Rows.NO_NUMBER : hops(path);
    }

    /** A broker appends its name again with every redelivery, so repeats next to each other are one stay. */
    private static int hops(String path) {
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
