package brokerbench;

import java.util.ArrayDeque;
import java.util.Queue;

/** Runs one client's blocking calls, one after the other on a thread of its own. Callers do not wait. */
public final class Worker implements Runnable {
    private final Queue<Runnable> waiting = new ArrayDeque<>();
    private Runnable begun; // the task under way
    private boolean ended;

    public Worker(String name) {
        Thread thread = new Thread(this, name);
        thread.setDaemon(true);
        thread.setContextClassLoader(Worker.class.getClassLoader()); // client libraries find classes by it, ours too
        thread.start();
    }

    public synchronized void add(Runnable task) {
        waiting.add(task);
        notifyAll();
    }

    /** No task is begun any more. */
    public synchronized void end() {
        ended = true;
        waiting.clear();
        notifyAll();
    }

    /** Whether it may take as long as the network likes until a further task has its turn. */
    synchronized boolean busy() {
        return begun != null || !waiting.isEmpty();
    }

    @Override
    public void run() {
        for (Runnable task = next(); task != null; task = next()) {
            try {
                task.run();
            } catch (Throwable error) { // a task tells what it can itself; the next ones are not to wait for ever
                Thread here = Thread.currentThread();
                here.getUncaughtExceptionHandler().uncaughtException(here, error);
            }
        }
    }

    private synchronized Runnable next() {
        begun = null;
        while (waiting.isEmpty() && !ended) {
            try {
                wait();
            } catch (InterruptedException interrupted) {
                return null;
            }
        }
        begun = ended ? null : waiting.remove();
        return begun;
    }
}
