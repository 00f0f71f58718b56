package brokerbench;

import javax.jms.Destination;

/**
 * The task of a sender, except for the times.
 *
 * `to`: null for replies: each has its own. `replyTo`: where the replies to its messages go; null: none is a request.
 */
record Task(Destination to, Destination replyTo, int number, int destination, ProducerSettings settings) {}
