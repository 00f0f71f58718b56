package brokerbench;

import org.apache.activemq.artemis.core.protocol.core.impl.ActiveMQClientProtocolManager;
import org.apache.activemq.artemis.core.protocol.core.impl.ActiveMQClientProtocolManagerFactory;
import org.apache.activemq.artemis.spi.core.remoting.ClientProtocolManager;

/** Notifies a client of its library's back-off delays. Each one follows a failed attempt, which nothing else reports. */
final class WatchedProtocol extends ActiveMQClientProtocolManager {
    private final Client client;

    private WatchedProtocol(Client client) {
        this.client = client;
    }

    @Override
    public boolean waitOnLatch(long milliseconds) throws InterruptedException {
        client.waiting();
        boolean stopped = super.waitOnLatch(milliseconds);
        if (!stopped) {
            client.waited();
        }
        return stopped;
    }

    /** Creates the protocol managers of one client. */
    static final class Factory extends ActiveMQClientProtocolManagerFactory {
        private final Client client;

        Factory(Client client) {
            this.client = client;
        }

        @Override
        public ClientProtocolManager newProtocolManager() {
            return new WatchedProtocol(client);
        }
    }
}
