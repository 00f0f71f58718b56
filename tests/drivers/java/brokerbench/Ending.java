package brokerbench;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import javax.jms.Connection;
import javax.jms.JMSException;
import javax.jms.Session;

/** A connection, and its sessions, whose commits end in an error; it counts the sessions that are closed again. */
public final class Ending implements InvocationHandler {
    private final JMSException error;
    public volatile int closed;

    public Ending(JMSException error) {
        this.error = error;
    }

    public Transactions transactions(Hub hub, Work work) {
        return new Transactions(hub, 1L, work, (Connection) proxy(Connection.class));
    }

    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
        if (method.getName().equals("createSession")) {
            return proxy(Session.class);
        }
        if (method.getName().equals("commit")) {
            throw error;
        }
        if (method.getName().equals("close")) {
            closed++;
        }
        return null;
    }

    private Object proxy(Class of) {
        return Proxy.newProxyInstance(of.getClassLoader(), new Class[] {of}, this);
    }
}
