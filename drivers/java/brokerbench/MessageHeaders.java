package brokerbench;

import javax.jms.JMSException;
import javax.jms.Message;

/**
 * The properties, time to live (ms; 0: never) and priority of a sender's messages.
 *
 * `values`: of each name those that messages take in turn, by their numbers: text, longs, doubles or truth values.
 */
public record MessageHeaders(long timeToLiveMs, int priority, String[] names, Object[][] values) {
    static final MessageHeaders PLAIN =
        new MessageHeaders(Message.DEFAULT_TIME_TO_LIVE, Message.DEFAULT_PRIORITY, new String[0], new Object[0][]);

    /** Give the message with this number its properties. */
    void putInto(Message message, long seq) throws JMSException {
        for (int each = 0; each < names.length; each++) {
            message.setObjectProperty(names[each], values[each][(int) (seq % values[each].length)]);
        }
    }
}
