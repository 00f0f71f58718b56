package brokerbench;

import javax.jms.JMSException;
import javax.jms.TransactionRolledBackException;

/** Tells exceptions in one line without a stack trace, and the broker's refusals from the network's failures. */
final class Errors {
    private static final String WRAPPER = "Disposed due to prior exception"; // and then that one's words

    private Errors() {}

    static String of(Throwable error) {
        var words = new StringBuilder();
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            String said = said(cause);
            if (!said.isEmpty() && words.indexOf(said) < 0 && !said.startsWith(WRAPPER)) {
                words.append(words.isEmpty() ? "" : ": ").append(said);
            }
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
     * Whether a transaction that could not be ended leaves open how it ended. When the connection drops, that it was
     * rolled back is the library's own guess. When a broker rolls it back, the broker's reason is the cause.
     */
    static boolean undecided(Throwable error) {
        return error instanceof TransactionRolledBackException || !refused(error);
    }

    /** An exception of a library's own as JMS has it. */
    static JMSException asJms(Exception error) {
        if (error instanceof JMSException already) {
            return already;
        }
        var wrapped = new JMSException(error.getMessage());
        wrapped.initCause(error);
        return wrapped;
    }
}
