package brokerbench;

import java.net.Socket;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLSession;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * Whom was not believed, and why? It believes whom Java's own manager believes, and keeps the reason where that one does
 * not: a library whose handshake failed says no more than that there is no connection.
 */
final class Believing extends X509ExtendedTrustManager {
    private static final Map DOUBTS = new ConcurrentHashMap(); // address -> when, why

    private final X509ExtendedTrustManager own;

    Believing(X509ExtendedTrustManager own) {
        this.own = own;
    }

    /** Why the broker of that address was last not believed; '' where it was, or that was before. */
    static String doubt(String address, long sinceNs) {
        Object[] doubt = (Object[]) DOUBTS.get(address);
        return doubt == null || ((Long) doubt[0]).longValue() < sinceNs ? "" : (String) doubt[1];
    }

    public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine) throws CertificateException {
        String address = engine.getPeerHost() + ":" + engine.getPeerPort();
        try {
            own.checkServerTrusted(chain, type, engine);
            DOUBTS.remove(address);
        } catch (CertificateException error) {
            keep(address, error);
            throw error;
        }
    }

    public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket) throws CertificateException {
        SSLSession session = ((SSLSocket) socket).getHandshakeSession();
        String address = session.getPeerHost() + ":" + session.getPeerPort();
        try {
            own.checkServerTrusted(chain, type, socket);
            DOUBTS.remove(address);
        } catch (CertificateException error) {
            keep(address, error);
            throw error;
        }
    }

    private static void keep(String address, CertificateException error) {
        DOUBTS.put(address, new Object[] {Long.valueOf(System.nanoTime()), Words.of(error)});
    }

    public void checkServerTrusted(X509Certificate[] chain, String type) throws CertificateException {
        own.checkServerTrusted(chain, type);
    }

    // Of servers alone, which nothing here is.

    public void checkClientTrusted(X509Certificate[] chain, String type) throws CertificateException {
        own.checkClientTrusted(chain, type);
    }

    public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket) throws CertificateException {
        own.checkClientTrusted(chain, type, socket);
    }

    public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine) throws CertificateException {
        own.checkClientTrusted(chain, type, engine);
    }

    public X509Certificate[] getAcceptedIssuers() {
        return own.getAcceptedIssuers();
    }
}
