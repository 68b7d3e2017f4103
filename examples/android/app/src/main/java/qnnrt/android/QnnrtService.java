package qnnrt.android;

import android.app.Service;
import android.content.Intent;
import android.os.IBinder;
import android.os.Process;
import android.system.ErrnoException;
import android.system.Os;
import qnnrt.QnnrtWork;

/**
 * The service whose process runs models for {@link qnnrt.QnnrtProcess}. Optional: an app that wants
 * it declares it in its manifest, in a process of its own that no other app reaches:
 *
 * <pre>
 *   &lt;service android:name="qnnrt.android.QnnrtService" android:process=":qnnrt"
 *       android:exported="false" /&gt;
 * </pre>
 *
 * Ownership: the service owns all models that were opened in it; they end with the process.
 *
 * Threads: the system's; QnnrtWork answers one request at a time.
 *
 * Errors: those of a request are answers, which QnnrtProcess throws.
 */
public final class QnnrtService extends Service {
    static final String SKELS = "qnnrt.skels";

    private final QnnrtWork work = new QnnrtWork();
    private final IQnnrtWork.Stub binder = new IQnnrtWork.Stub() {
        @Override
        public int pid() {
            return Process.myPid();
        }

        @Override
        public byte[] call(byte[] request) {
            return work.call(request);
        }
    };

    /** Made by the system. */
    public QnnrtService() { }

    /**
     * Tell the DSP where the skels are, before a library is loaded. On the main thread.
     *
     * @param intent of QnnrtServiceLink
     * @return the way to QnnrtWork; null: refused
     */
    @Override
    public IBinder onBind(Intent intent) {
        String skels = intent.getStringExtra(SKELS);
        if (skels != null) {
            try {
                Os.setenv("ADSP_LIBRARY_PATH", skels, true);
            } catch (ErrnoException thrown) {
                return null;                  /* the app's connect() fails, and says so */
            }
        }
        return binder;
    }

    /** Close all models. On the main thread. */
    @Override
    public void onDestroy() {
        work.close();
        super.onDestroy();
    }
}
