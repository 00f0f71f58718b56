package brokerbench;

import org.apache.activemq.artemis.core.client.impl.ServerLocatorImpl;
import org.apache.activemq.artemis.jms.client.ActiveMQConnectionFactory;

/** Does the library know the options in the URI of one broker? It would leave them out without a word. */
public final class ServerOptions {
    private ServerOptions() {}

    /** What is to be said against them; '' where its connector takes them. Nothing is connected. */
    public static String misread(String server) {
        ActiveMQConnectionFactory made = new ActiveMQConnectionFactory("(" + server + ")");
        try {
            ServerLocatorImpl locator = (ServerLocatorImpl) made.getServerLocator();
            Object unknown = locator.getStaticTransportConfigurations()[0].getExtraParams().keySet();
            String names = unknown.toString();
            return names.equals("[]") ? "" : "its connector knows no " + names.substring(1, names.length() - 1);
        } finally {
            made.close();
        }
    }
}
