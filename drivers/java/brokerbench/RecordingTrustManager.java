package brokerbench;

import java.net.Socket;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * Trusts the brokers that Java's own manager trusts, and keeps the reason if it does not trust one. After a failed
 * handshake a library reports only that there is no connection.
 */
final class RecordingTrustManager extends X509ExtendedTrustManager {
    private static final Map<String, Doubt> DOUBTS = new ConcurrentHashMap<>(); // by address

    private final X509ExtendedTrustManager own;

    private record Doubt(long sinceNs, String why) {}

    @FunctionalInterface
    private interface Check {
        void run() throws CertificateException;
    }

    RecordingTrustManager(X509ExtendedTrustManager own) {
        this.own = own;
    }

    /** Why the broker of that address was last not trusted; '' where it was, or that was before. */
    static String doubt(String address, long sinceNs) {
        Doubt doubt = DOUBTS.get(address);
        return doubt == null || doubt.sinceNs < sinceNs ? "" : doubt.why;
    }

    private static void check(String host, int port, Check check) throws CertificateException {
        String address = host + ":" + port;
        try {
            check.run();
            DOUBTS.remove(address);
        } catch (CertificateException error) {
            DOUBTS.put(address, new Doubt(System.nanoTime(), Errors.of(error)));
            throw error;
        }
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine) throws CertificateException {
        check(engine.getPeerHost(), engine.getPeerPort(), () -> own.checkServerTrusted(chain, type, engine));
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket) throws CertificateException {
        var session = ((SSLSocket) socket).getHandshakeSession();
        check(session.getPeerHost(), session.getPeerPort(), () -> own.checkServerTrusted(chain, type, socket));
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type) throws CertificateException {
        own.checkServerTrusted(chain, type);
    }

    // Called only in servers; there are none here.

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type) throws CertificateException {
        own.checkClientTrusted(chain, type);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket) throws CertificateException {
        own.checkClientTrusted(chain, type, socket);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine) throws CertificateException {
        own.checkClientTrusted(chain, type, engine);
    }

    @Override
    public X509Certificate[] getAcceptedIssuers() {
        return own.getAcceptedIssuers();
    }
}
