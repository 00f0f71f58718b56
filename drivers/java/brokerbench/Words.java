package brokerbench;

import javax.jms.InvalidClientIDException;
import javax.jms.JMSException;
import javax.jms.TransactionRolledBackException;

/** What does an exception say, in one line and without a stack trace, and is it the broker's word or the network's? */
final class Words {
    private static final String WRAPPER = "Disposed due to prior exception"; // and then that one's words

    private Words() {}

    static String of(Throwable error) {
        StringBuilder words = new StringBuilder();
        String last = "";
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            String said = said(cause);
            if (last.contains(said) || said.isEmpty() || said.startsWith(WRAPPER)) {
                continue;
            }
            words.append(words.length() == 0 ? "" : ": ").append(said);
            last = words.toString();
        }
        return words.toString().replaceAll("\\s+", " ");
    }

    /** Java's own errors may say no more than the name of a class. */
    private static String said(Throwable cause) {
        String kind = cause.getClass().getSimpleName();
        if (cause.getMessage() == null) {
            return kind;
        }
        return (cause instanceof Error ? kind + ": " : "") + cause.getMessage().trim();
    }

    /** Whether the broker answered and said no; otherwise the connection broke, and nobody knows. */
    static boolean refused(Throwable error) {
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            if (cause instanceof InterruptedException || cause instanceof Error || Library.broke(cause)) {
                return false;
            }
        }
        return true;
    }

    /**
     * Whether an end of a transaction, asked for in vain, leaves open how that ended. That it was rolled back is the
     * libraries' own word, and a guess, when its connection went; where a broker says so, it is what caused its answer.
     */
    static boolean undecided(Throwable error) {
        return error instanceof TransactionRolledBackException || !refused(error);
    }

    /** Whether a refusal passes by itself: a client id that the broker still holds. */
    static boolean passes(JMSException error) {
        return error instanceof InvalidClientIDException;
    }
}
