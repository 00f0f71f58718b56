package brokerbench;

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.Iterator;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;

/** Whose certificates are believed: those in a text of PEM, or with an empty one those that Java trusts. */
final class Tls {
    private Tls() {}

    /** Every connection of this process that asks for Java's own trust believes these from now on; '': no others. */
    static void use(String pem) throws Exception {
        if (!pem.isEmpty()) {
            SSLContext.setDefault(context(pem));
        }
    }

    static SSLContext context(String pem) throws Exception {
        if (pem.isEmpty()) {
            return SSLContext.getDefault();
        }
        KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
        trusted.load(null, null);
        byte[] text = pem.getBytes(StandardCharsets.US_ASCII);
        CertificateFactory factory = CertificateFactory.getInstance("X.509");
        int number = 0;
        for (Iterator i = factory.generateCertificates(new ByteArrayInputStream(text)).iterator(); i.hasNext();) {
            trusted.setCertificateEntry("authority-" + number++, (Certificate) i.next());
        }
        TrustManagerFactory managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        managers.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        X509ExtendedTrustManager own = (X509ExtendedTrustManager) managers.getTrustManagers()[0]; // Java's only kind
        context.init(null, new TrustManager[] {new Believing(own)}, null);
        return context;
    }
}
