package brokerbench;

import javax.jms.Destination;

/**
 * The task of a sender, except for the times: the messages, the destination and the producer.
 *
 * `to`: null for replies: each has its own. `replyTo`: where the replies to its messages go; null: none is a request.
 * `transaction`: messages that arrive together; 0: each by itself.
 */
record Task(
        Destination to, Destination replyTo, int number, int destination, boolean durable, boolean resend, int inFlight,
        int transaction, byte[] template, MessageHeaders headers) {}
