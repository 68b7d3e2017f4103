package qnnrt.android;

import android.content.ComponentName;
import android.content.Context;
import android.content.Intent;
import android.content.ServiceConnection;
import android.os.IBinder;
import android.os.Looper;
import android.os.Process;
import android.os.RemoteException;
import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import qnnrt.QnnrtProcess;

/**
 * How {@link QnnrtProcess} reaches {@link QnnrtService}: it binds the service, which starts its
 * process, and binds it anew after the process ended.
 *
 * Ownership: it keeps the application's context only. A connection ends with QnnrtProcess.close().
 *
 * Threads: any but the main one, on which the system reports the connection.
 *
 * Errors: an IOException, which QnnrtProcess turns into a QnnrtException.
 */
public final class QnnrtServiceLink implements QnnrtProcess.Link {
    private static final int START_SECONDS = 30;

    private final Context context;
    private final String skels;

    /**
     * Nothing is bound yet. Any thread; throws nothing.
     *
     * @param context of the app or a part of it; its application's is kept
     * @param skels for ADSP_LIBRARY_PATH in the service's process: the folder of the skels, or
     *     several separated by ';'; null: it is not set
     */
    public QnnrtServiceLink(Context context, String skels) {
        this.context = context.getApplicationContext();
        this.skels = skels;
    }

    /**
     * Bind the service, and wait until it answers, at most 30 seconds. Any thread but the main one.
     *
     * @return the way to it, which QnnrtProcess ends
     * @throws IOException the service is not declared, refused, or its process ended; nothing stays
     *     bound
     */
    @Override
    public QnnrtProcess.Wire connect() throws IOException {
        if (Looper.myLooper() == Looper.getMainLooper()) {
            throw new IOException("the main thread would wait for itself");
        }
        Intent intent = new Intent(context, QnnrtService.class);
        if (skels != null) {
            intent.putExtra(QnnrtService.SKELS, skels);
        }
        Connection connection = new Connection();
        try {
            if (!context.bindService(intent, connection, Context.BIND_AUTO_CREATE)) {
                throw new IOException("the manifest declares no QnnrtService");
            }
            connection.start();
            return connection;
        } catch (IOException | RuntimeException thrown) {
            context.unbindService(connection);
            throw thrown;
        }
    }

    private final class Connection implements QnnrtProcess.Wire, ServiceConnection {
        private final CountDownLatch answered = new CountDownLatch(1);
        private volatile IQnnrtWork work;
        private volatile boolean ended;
        private volatile int pid;

        void start() throws IOException {
            try {
                if (!answered.await(START_SECONDS, TimeUnit.SECONDS)) {
                    throw new IOException("no connection in " + START_SECONDS + " s");
                }
                IQnnrtWork found = work;
                if (found == null) {
                    throw new IOException("the service refused the connection, or its process "
                            + "ended when it started");
                }
                pid = found.pid();
            } catch (InterruptedException thrown) {
                Thread.currentThread().interrupt();
                throw new IOException("the thread was interrupted");
            } catch (RemoteException thrown) {
                throw new IOException("the process ended when it started", thrown);
            }
        }

        @Override
        public void onServiceConnected(ComponentName name, IBinder binder) {
            if (!ended && answered.getCount() > 0) {        /* not the system's own restart */
                work = IQnnrtWork.Stub.asInterface(binder);
            }
            answered.countDown();
        }

        @Override
        public void onServiceDisconnected(ComponentName name) {
            end();
        }

        @Override
        public void onBindingDied(ComponentName name) {
            end();
        }

        @Override
        public void onNullBinding(ComponentName name) {
            answered.countDown();
        }

        @Override
        public byte[] call(byte[] request) throws IOException {
            IQnnrtWork now = work;
            if (now == null || ended) {
                throw new IOException("the service is not connected");
            }
            try {
                return now.call(request);
            } catch (RemoteException | RuntimeException thrown) {
                throw new IOException(thrown.toString(), thrown);
            }
        }

        /** End the process: another one of this app, so no permission is needed. */
        @Override
        public void end() {
            synchronized (this) {
                if (ended) {
                    return;
                }
                ended = true;
            }
            context.unbindService(this);
            if (pid != 0 && pid != Process.myPid()) {
                Process.killProcess(pid);
            }
            answered.countDown();
        }
    }
}
