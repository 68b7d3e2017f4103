import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import android.app.Application;
import android.content.ComponentName;
import android.content.Intent;
import android.content.ServiceConnection;
import android.os.Looper;
import java.io.File;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.junit.Before;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.Robolectric;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.RuntimeEnvironment;
import org.robolectric.Shadows;
import org.robolectric.annotation.Config;
import org.robolectric.shadows.ShadowProcess;
import qnnrt.QnnrtDevice;
import qnnrt.QnnrtException;
import qnnrt.QnnrtProcess;
import qnnrt.android.IQnnrtWork;
import qnnrt.android.QnnrtService;
import qnnrt.android.QnnrtServiceLink;

/**
 * QnnrtService and QnnrtServiceLink on Android 15's classes. Robolectric has one process only: the
 * service is bound in it, and what ends a process is seen by its number. Real processes end in
 * ChoiceTest.java.
 */
@RunWith(RobolectricTestRunner.class)
@Config(sdk = 35, manifest = Config.NONE)
public class ServiceTest {
    private Application app;
    private ComponentName name;

    /** Run something on another thread, while this one, Android's main one, takes its messages. */
    private static <T> T away(Callable<T> body) throws Exception {
        FutureTask<T> task = new FutureTask<>(body);
        Thread thread = new Thread(task);
        thread.start();
        while (thread.isAlive()) {
            Shadows.shadowOf(Looper.getMainLooper()).idle();
            Thread.sleep(1);
        }
        try {
            return task.get();
        } catch (ExecutionException thrown) {
            throw (Exception) thrown.getCause();
        }
    }

    private static void refused(int code, String text, Callable<?> body) throws Exception {
        try {
            away(body);
            fail("threw nothing");
        } catch (QnnrtException thrown) {
            assertEquals(thrown.getMessage(), code, thrown.code);
            assertTrue(thrown.getMessage(), thrown.getMessage().contains(text));
        }
    }

    private QnnrtProcess process(long execMillis) {
        return new QnnrtProcess(new QnnrtServiceLink(app, "/data/skels"), app.getCacheDir(), 30000,
                execMillis);
    }

    private List<ServiceConnection> bound() {
        return Shadows.shadowOf(app).getBoundServiceConnections();
    }

    @Before public void start() {
        app = RuntimeEnvironment.getApplication();
        name = new ComponentName(app, QnnrtService.class);
        QnnrtService service = Robolectric.buildService(QnnrtService.class).create().get();
        Shadows.shadowOf(app).setComponentNameAndServiceForBindService(name,
                service.onBind(new Intent().putExtra("qnnrt.skels", "/data/skels")));
    }

    @Test public void a_model_runs_in_the_service() throws Exception {
        String layer = System.getProperty("screen.layer");
        String libraries = System.getProperty("screen.libraries");
        try (QnnrtProcess process = process(10000)) {
            QnnrtProcess.Run run = away(() -> {
                QnnrtDevice.Choice<QnnrtProcess.Model> choice = QnnrtDevice.look().choose(
                        Arrays.asList("/none", layer), libraries, process);
                assertEquals("/none", choice.refused.get(0).folder);
                return choice.opened.prepare(null);
            });
            run.data("x").asFloatBuffer().put(new float[] {1, 2, 3, 4});
            away(() -> {
                run.exec();
                return null;
            });
            assertEquals(30.5f, run.data("y").getFloat(0), 0);
            assertEquals(1, bound().size());
            bound().get(0).onServiceDisconnected(name);     /* what Android says of an end */
            assertEquals(0, bound().size());
            refused(QnnrtException.BACKEND, "the process ended during the call", () -> {
                run.exec();
                return null;
            });
            run.data("x").putFloat(0, 2);
            away(() -> {
                run.exec();
                return null;
            });
            assertEquals(31.5f, run.data("y").getFloat(0), 0);
            assertEquals("1 1", process.ends() + " " + bound().size());
        }
        assertEquals(0, bound().size());
    }

    @Test public void a_process_that_hangs_is_killed() throws Exception {
        Shadows.shadowOf(app).setComponentNameAndServiceForBindService(name,
                new IQnnrtWork.Stub() {
                    @Override public int pid() {
                        return 4242;
                    }

                    @Override public byte[] call(byte[] request) {
                        for (int i = 0; i < 500 && !ShadowProcess.wasKilled(4242); ++i) {
                            try {
                                Thread.sleep(10);
                            } catch (InterruptedException thrown) {
                                break;
                            }
                        }
                        throw new IllegalStateException("killed");
                    }
                });
        assertFalse(ShadowProcess.wasKilled(4242));
        try (QnnrtProcess process = new QnnrtProcess(new QnnrtServiceLink(app, null),
                app.getCacheDir(), 300, 300)) {
            refused(QnnrtException.BACKEND, "the process hung: no answer in 300 ms",
                    () -> process.library("/none"));
        }
        assertTrue(ShadowProcess.wasKilled(4242));
        assertEquals(0, bound().size());
    }

    @Test public void what_cannot_be_bound_is_an_error() throws Exception {
        try (QnnrtProcess process = process(1000)) {
            try {
                process.library("/none");
                fail("threw nothing");
            } catch (QnnrtException thrown) {
                assertTrue(thrown.getMessage(), thrown.getMessage().contains("main thread"));
            }
            Shadows.shadowOf(app).declareComponentUnbindable(name);
            refused(QnnrtException.LIBRARY, "the manifest declares no QnnrtService",
                    () -> process.library("/none"));
        }
        assertEquals(0, bound().size());
        assertEquals(0, new File(app.getCacheDir(), "").list((at, file) -> file.endsWith(".mem"))
                .length);
    }
}
