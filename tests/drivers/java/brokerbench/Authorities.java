package brokerbench;

/** What Tls keeps of a text of PEM, asked twice. */
public final class Authorities {
    private Authorities() {}

    public static boolean readOnce(String pem) throws Exception {
        return Tls.manager(pem) == Tls.manager(pem);
    }

    public static boolean oneContext(String pem) throws Exception {
        return Tls.context(pem) == Tls.context(pem);
    }
}
